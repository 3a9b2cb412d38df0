"""Enter, Up and Down in the prompt."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import Delivery, QueuedMessage, QueuePlace
from yourtool.tui.input.prompt_history import PromptHistory
from yourtool.tui.input.turn_runner import TurnRunner

TOUR_PROMPT = "Start the tour"

_MOST_AWAITING = 100
"""A key that is held down must not block the event loop later."""


class PromptInput:
    """Checks and submits drafts, and recalls queued and earlier ones; `warn` shows mistakes."""

    def __init__(self, runner: TurnRunner, warn: Callable[[str], None]) -> None:
        self._runner = runner
        self._warn = warn
        self._history: PromptHistory | None = None
        self.opened = asyncio.Event()
        """Set once the earlier prompts are read."""
        self._awaiting: list[tuple[str, Callable[[], object]]] = []
        """Actions that wait until then, each with the text that the prompt had."""
        self._early_prompts: list[Draft] = []
        """Prompts that were entered before the history was open."""
        self._unconfirmed_text = ""
        self.stash: tuple[Draft, ...] = ()
        """The drafts that were put aside; the last one comes back first."""
        self._returning = 0
        """How many of them the user stashed in this run; these come back after a message."""
        self.unsent_count = 0
        """The queued messages that were stashed because the program quits."""
        self._edited_place: QueuePlace | None = None
        """The place of the queued message that is being edited."""
        self._saved, self._unsent = Draft(), tuple[Draft, ...]()
        """What was saved last: the text in the prompt, and the messages that waited."""
        runner.queue.observe(self._save_queue)

    @property
    def entries(self) -> list[Draft] | None:
        """The earlier prompts, oldest first; None before `open_history`."""
        return self._history.entries if self._history is not None else None

    @property
    def command_uses(self) -> Mapping[str, int]:
        """Uses of each command in earlier runs, by its name."""
        return self._history.command_uses if self._history is not None else {}

    async def open_history(self, state: Path, workspace: Path) -> Draft:
        """Read the prompts of a workspace; return the draft that an earlier run left."""
        history = await asyncio.to_thread(PromptHistory, state, workspace)
        try:
            left = await history.claim_draft_later()
        except BaseException:
            await asyncio.to_thread(history.close)
            raise
        self._history = history
        for draft in self._early_prompts:
            history.add(draft)
        self.stash = (*left.stash, *self.stash)
        self.opened.set()
        return left.draft

    def wait_for_history(self, text: str, action: Callable[[], object]) -> None:
        """Let an action wait for the earlier prompts, if they are not read yet."""
        if not self.opened.is_set() and len(self._awaiting) < _MOST_AWAITING:
            self._awaiting.append((text, action))

    def continue_waiting(self, text: str) -> None:
        """Do what waited for the earlier prompts, unless the text has changed meanwhile."""
        waiting, self._awaiting = self._awaiting, []
        for _, action in waiting if all(each == text for each, _ in waiting) else ():
            action()

    def wait_until_written(self) -> None:
        """Wait until the draft and the prompts are in their files."""
        if self._history is not None:
            self._history.wait_until_written()

    def close(self) -> None:
        """Write what is not written yet and release the draft file."""
        if self._history is not None:
            self._history.close()

    def accepts(self, draft: Draft) -> bool:
        """Return whether a draft can be submitted now; a warning gives the reason if not."""
        parsed = parse_input(draft.text, self._runner.commands)
        if isinstance(parsed, InvalidCommand) and not self._is_confirmed_text(draft, parsed):
            self._warn(parsed.message)
            return False
        return True

    @property
    def can_queue(self) -> bool:
        """Whether a turn runs, after which a message can wait."""
        return self._runner.is_running

    def submit(self, draft: Draft, way: Delivery = "") -> None:
        """Submit a draft to the running turn or for after it, by the setting or as asked.

        Without text, give the last waiting message to the turn, send a paused queue, or start the
        tour of the demo.
        """
        place, self._edited_place = self._edited_place, None
        if not draft.full_text.strip():
            if way == "steer" and self._runner.is_running:
                self._runner.steer(draft)
                return
            if not self._runner.offers_tour:
                self._runner.resume()
                return
            draft = Draft(TOUR_PROMPT)
        parsed = parse_input(draft.text, self._runner.commands)
        if not isinstance(parsed, Invocation) or parsed.command.name != "key":
            self.add_to_history(draft)
            self.save(Draft())
        if way == "steer":
            self._runner.steer(draft)
        elif way == "queue" or self._runner.enter == "queue":
            self._runner.submit(draft, place)
        else:
            self._runner.offer(draft, place)

    def edit(self, message: QueuedMessage) -> Draft | None:
        """Remove a queued message; the next draft that is submitted takes its place."""
        if (place := self._runner.queue.remove(message)) is None:
            return None
        self._edited_place = place
        return message.draft

    def forget_edited(self, *, unless: str = "") -> None:
        """Let the next draft be a new message, unless the prompt has a text."""
        if not unless:
            self._edited_place = None

    def _is_confirmed_text(self, draft: Draft, mistake: InvalidCommand) -> bool:
        """Whether Enter was pressed again for text that looks like a command."""
        again = bool(draft.text) and self._unconfirmed_text == draft.text
        self._unconfirmed_text = draft.text if mistake.path_like and not again else ""
        return again

    def recall(self, step: Literal[-1, 1], current: Draft) -> Draft | None:
        """Return a queued message, or the prompt before or after the current one."""
        if step < 0 and not current.text and (queued := self._runner.queue.entries):
            return self.edit(queued[-1])
        if self._history is None:
            return None
        return self._history.older(current) if step < 0 else self._history.newer()

    def put_aside(self, draft: Draft) -> None:
        """Stash a draft."""
        self.stash = (*self.stash, draft)
        self._returning += 1
        self.save(Draft())

    def stash_queue(self, current: Draft) -> None:
        """Stash the queued messages for the next run, the first one to come back first."""
        left = self._runner.queue.clear()
        self.unsent_count += len(left)
        self.stash = (*self.stash, *(message.draft for message in reversed(left)))
        self.save(current)

    def bring_back(self, *, asked: bool) -> Draft | None:
        """Remove and return the draft that was stashed last.

        Unless it is `asked` for, only one that the user stashed in this run.
        """
        if not self.stash or not (asked or self._returning):
            return None
        *others, last = self.stash
        self.stash = tuple(others)
        self._returning = max(0, self._returning - 1)
        self.save(last)
        return last

    def add_to_history(self, draft: Draft) -> None:
        """Add a prompt that can be recalled."""
        if self._history is not None:
            self._history.add(draft)
        else:
            self._early_prompts.append(draft)

    def save(self, draft: Draft) -> None:
        """Save the text in the prompt, and what waits, for the case of a crash."""
        self._saved = draft
        if self._history is not None:
            self._history.save_draft(draft, (*self.stash, *self._unsent))

    def _save_queue(self) -> None:
        """Save the messages that wait as stashed ones, the first one to come back first."""
        unsent = tuple(reversed(self._runner.queue.unsent))
        if unsent != self._unsent:
            self._unsent = unsent
            self.save(self._saved)
