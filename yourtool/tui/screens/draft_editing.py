"""Prompt editing in the user's editor."""

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from msgspec.structs import replace
from textual.worker import Worker

from yourtool.effects import Confirmation
from yourtool.errors import UsageError
from yourtool.foundation.text import printable
from yourtool.process.terminal_modes import Settings
from yourtool.tui.input.drafts import fold_unless_displayable
from yourtool.tui.input.external_editor import EditedText, TextFile, edit_text, find_editor
from yourtool.tui.questions.approval_text import get_editable
from yourtool.tui.screens.chat import ChatScreen


class DraftEditing:
    """Opens the draft, or the file of an approval request, in the editor.

    The interface ignores keys while it runs.
    """

    def __init__(self, chat: ChatScreen) -> None:
        self.is_running = False
        self._chat = chat
        self._worker: Worker[None] | None = None

    def start(self, settings: Settings | None) -> None:
        """Open the editor, which gets the terminal with the given settings."""
        self.is_running = True
        self._worker = self._chat.run_worker(self._run(settings), group="editor")

    def stop(self) -> None:
        """End the editor, because the program quits."""
        if self._worker is not None:
            self._worker.cancel()

    async def _run(self, settings: Settings | None) -> None:
        try:
            panel = self._chat.approval_prompt
            question, panel.in_editor = panel.in_editor, None
            if question is None:
                await _edit_draft(self._chat, settings)
            else:
                await _edit_change(self._chat, question, settings)
        finally:
            self.is_running = False


async def _edit_change(chat: ChatScreen, question: Confirmation, settings: Settings | None) -> None:
    """Answer with the edited content; the question stays if it is unchanged."""
    if (editable := get_editable(question)) is None:
        return
    file = TextFile(editable.text, f"change{editable.suffix}")
    if (edited := await _edit(chat, file, settings)) is None:
        return
    if edited.problem:
        chat.warn(edited.problem)
    elif edited.text == editable.text:
        chat.note("info", "The editor changed nothing.")
    else:
        chat.approval_prompt.answer_with_edit(question, edited.text)


async def _edit_draft(chat: ChatScreen, settings: Settings | None) -> None:
    """Edit the draft, with pastes in full; it does not change if the editor fails."""
    before = chat.prompt.draft
    chat.save_draft()
    if (edited := await _edit(chat, TextFile(before.text, "prompt.md"), settings)) is None:
        return
    if edited.problem:
        chat.warn(edited.problem)
        if not edited.text.strip():  # it ended while it wrote the file
            return
    if edited.text != before.text:
        if edited.problem:
            chat.input.add_to_history(before)
        chat.prompt.rewrite(fold_unless_displayable(replace(before, text=edited.text)))
        chat.save_draft()


async def _edit(chat: ChatScreen, file: TextFile, settings: Settings | None) -> EditedText | None:
    """Open a file in the editor; warn and return None if the editor fails."""
    try:
        command = find_editor(os.environ)
        directory = chat.session.workspace if chat.session is not None else Path()
        with _released_terminal(chat, command) if settings is not None else nullcontext():
            return await edit_text(file, command, directory, settings)
    except UsageError as error:
        chat.warn(str(error))
        return None
    finally:
        chat.approval_prompt.resume_after_page()


@contextmanager
def _released_terminal(chat: ChatScreen, command: list[str]) -> Generator[None, None, None]:
    """Show the screen of the shell, with a line for editors that have their own window."""
    suspension = chat.app.suspend()
    suspension.__enter__()
    try:
        os.write(1, f"The text is open in {printable(' '.join(command))} ...".encode())
        yield
    finally:
        os.write(1, b"\r\x1b[K")
        suspension.__exit__(None, None, None)  # after an exception, it would not resume
