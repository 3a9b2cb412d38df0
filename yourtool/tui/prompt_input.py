"""What Enter, Up and Down do with the text in the prompt."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.tui.active_keys import build_hint
from yourtool.tui.drafts import Draft
from yourtool.tui.prompt_history import PromptHistory
from yourtool.tui.turn_runner import TurnRunner

TOUR_PROMPT = "Start the tour"


class PromptInput:
    """Checks and submits drafts, and recalls queued and earlier ones; `warn` shows mistakes."""

    def __init__(self, runner: TurnRunner, warn: Callable[[str], None]) -> None:
        self._runner = runner
        self._warn = warn
        self._history: PromptHistory | None = None
        self._early_prompts: list[Draft] = []
        """Prompts that were entered before the history was open."""
        self._unconfirmed_text = ""
        self.stash: tuple[Draft, ...] = ()
        """The drafts that were put aside; the last one comes back first."""

    @property
    def entries(self) -> list[Draft] | None:
        """The earlier prompts, oldest first; None before `open_history`."""
        return self._history.entries if self._history is not None else None

    def open_history(self, state: Path, workspace: Path) -> Draft:
        """Read the prompts of a workspace; return the draft that an earlier run left."""
        self._history = PromptHistory(state, workspace)
        for draft in self._early_prompts:
            self._history.add(draft)
        left = self._history.claim_draft()
        self.stash = (*left.stash, *self.stash)
        return left.draft

    def close(self) -> None:
        """Release the draft file."""
        if self._history is not None:
            self._history.close()

    def accepts(self, draft: Draft) -> bool:
        """Return whether a draft can be submitted now; a warning gives the reason if not."""
        parsed = parse_input(draft.text)
        if isinstance(parsed, InvalidCommand) and not self._is_confirmed_text(draft, parsed):
            self._warn(parsed.message)
            return False
        command = parsed.command if isinstance(parsed, Invocation) else None
        if command is not None and self._runner.is_running and not command.during_turn:
            self._warn(
                f"`/{command.name}` needs the turn to end; {build_hint('chat.stop', 'stops it')}."
            )
            return False
        return True

    def submit(self, draft: Draft) -> None:
        """Submit a draft; without text, send a paused queue or start the tour of the demo."""
        if not draft.full_text.strip():
            if not self._runner.offers_tour:
                self._runner.resume()
                return
            draft = Draft(TOUR_PROMPT)
        parsed = parse_input(draft.text)
        if not isinstance(parsed, Invocation) or parsed.command.name != "key":
            self.add_to_history(draft)
            self.save(Draft())
        self._runner.submit(draft)

    def _is_confirmed_text(self, draft: Draft, mistake: InvalidCommand) -> bool:
        """Whether Enter was pressed again for text that looks like a command."""
        again = bool(draft.text) and self._unconfirmed_text == draft.text
        self._unconfirmed_text = draft.text if mistake.path_like and not again else ""
        return again

    def recall(self, step: Literal[-1, 1], current: Draft) -> Draft | None:
        """Return a queued message, or the prompt before or after the current one."""
        if step < 0 and not current.text and len(self._runner.queue):
            return self._runner.take_back(-1)
        if self._history is None:
            return None
        return self._history.older(current) if step < 0 else self._history.newer()

    def put_aside(self, draft: Draft) -> None:
        """Stash a draft."""
        self.stash = (*self.stash, draft)
        self.save(Draft())

    def bring_back(self) -> Draft | None:
        """Remove and return the draft that was stashed last."""
        if not self.stash:
            return None
        *others, last = self.stash
        self.stash = tuple(others)
        self.save(last)
        return last

    def add_to_history(self, draft: Draft) -> None:
        """Add a prompt that can be recalled."""
        if self._history is not None:
            self._history.add(draft)
        else:
            self._early_prompts.append(draft)

    def save(self, draft: Draft) -> None:
        """Save the text in the prompt for the case of a crash."""
        if self._history is not None:
            self._history.save_draft(draft, self.stash)
