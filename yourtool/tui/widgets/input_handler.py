"""Handler of the text of the prompt."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import Delivery


class InputHandler(Protocol):
    """Handles the text of the prompt.

    These are calls, not messages: a message would wait in a queue while the next key is handled.
    """

    def accepts(self, draft: Draft) -> bool:
        """Return whether a draft can be submitted; if not, it stays in the prompt."""
        ...

    @property
    def can_queue(self) -> bool:
        """Whether a turn runs, after which a message can wait."""
        ...

    def submit(self, draft: Draft, way: Delivery = "") -> None:
        """Send a draft, which may be empty, to the running turn or for after it."""
        ...

    def recall(self, step: Literal[-1, 1], current: Draft) -> Draft | None:
        """Return an older (-1) or newer (1) prompt when the cursor would leave the text."""
        ...

    @property
    def stash(self) -> Sequence[Draft]:
        """The stashed drafts."""
        ...

    def put_aside(self, draft: Draft) -> None:
        """Stash a draft."""
        ...

    def bring_back(self, *, asked: bool) -> Draft | None:
        """Remove and return the draft that was stashed last, maybe only one of this run."""
        ...

    opened: asyncio.Event  # set once the earlier prompts are read

    def wait_for_history(self, text: str, action: Callable[[], object]) -> None:
        """Do something once they are read, unless the text has changed by then."""
        ...
