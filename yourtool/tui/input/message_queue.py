"""Queued messages.

Some wait for the running turn, others for its end. Changes are synchronous, so a message that the
user removes or edits is never sent.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from yourtool.events.catalog import Event
from yourtool.events.tools import ShellRan
from yourtool.events.turns import TurnCancelled
from yourtool.messages.blocks import ContentBlock
from yourtool.tui.input.drafts import Draft

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.session.session import Session

Delivery: TypeAlias = Literal["", "steer", "queue"]
"""When a message is sent: by the setting, during the running turn, or after it."""


class QueuedMessage(Struct, eq=False):
    """A message or a command that waits; two with the same text are different."""

    draft: Draft
    content: tuple[ContentBlock, ...] = ()
    """The content for the running turn; empty for a message that waits for its end."""

    @property
    def steers(self) -> bool:
        """Whether it is a message to the running turn."""
        return bool(self.content)


class QueuePlace(NamedTuple):
    """The place of a message that is being edited."""

    steers: bool
    """Whether it was a message to the running turn."""
    follower: QueuedMessage | None
    """The message after it in either list; None: it was the last one."""


class MessageQueue:
    """Two lists, in the order in which they are sent."""

    def __init__(self) -> None:
        self.steering: list[QueuedMessage] = []
        """Messages to the running turn, which gets them after its next tool call."""
        self.waiting: list[QueuedMessage] = []
        """Messages and commands for after the turn."""
        self.pause_reason = ""
        """Why the queue waits for the user; empty while it sends messages in order."""
        self.can_retry = False
        """Whether the user can retry the failed turn."""
        self.follows_turn = False
        """Whether a turn runs, after which the messages are sent."""
        self._delivered: list[QueuedMessage] = []  # the turn has not stored them yet
        self._observers: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def entries(self) -> list[QueuedMessage]:
        """All messages, those to the running turn first."""
        return [*self.steering, *self.waiting]

    @property
    def drafts(self) -> list[Draft]:
        """The drafts of the messages that wait for the end of the turn."""
        return [message.draft for message in self.waiting]

    @property
    def unsent(self) -> list[Draft]:
        """The drafts of all messages that the session has not stored yet, in order."""
        return [message.draft for message in (*self._delivered, *self.entries)]

    def observe(self, observer: Callable[[], None]) -> None:
        """Call `observer` after every change."""
        self._observers.append(observer)

    # ── what the user changes ───────────────────────────────────────────────────────────────────

    def add(self, message: QueuedMessage, *, first: bool = False) -> None:
        """Add a message at the end of its list or, with `first`, at the front."""
        messages = self._list_of(message)
        messages.insert(0 if first else len(messages), message)
        self._update()

    def put_back(self, message: QueuedMessage, place: QueuePlace) -> None:
        """Add an edited message before its follower, or at the end if that is not in its list."""
        messages, follower = self._list_of(message), place.follower
        at = messages.index(follower) if follower and follower in messages else len(messages)
        messages.insert(at, message)
        self._update()

    def remove(self, message: QueuedMessage) -> QueuePlace | None:
        """Remove a message and return its place; None if it is not in the queue any more."""
        entries = self.entries
        if message not in entries:
            return None
        at = entries.index(message)
        self._list_of(message).remove(message)
        self._update()
        return QueuePlace(message.steers, entries[at + 1] if at + 1 < len(entries) else None)

    def switch(self, message: QueuedMessage, content: tuple[ContentBlock, ...] = ()) -> None:
        """Move a message to the end of the list for the turn, or to the front of the other one.

        `content`: the content for the running turn, if the message is for it from now on.
        """
        self._list_of(message).remove(message)
        message.content = content
        messages = self._list_of(message)
        messages.insert(len(messages) if content else 0, message)
        self._update()

    def move(self, message: QueuedMessage, step: Literal[-1, 1]) -> None:
        """Swap a message with its neighbour before (-1) or after (1) in its list."""
        messages = self._list_of(message)
        at = messages.index(message)
        if 0 <= at + step < len(messages):
            messages[at], messages[at + step] = messages[at + step], message
            self._update()

    # ── what the turn changes ───────────────────────────────────────────────────────────────────

    def clear(self) -> list[QueuedMessage]:
        """Remove and return all messages."""
        left = self.entries
        self.steering, self.waiting = [], []
        self._update()
        return left

    def pop(self) -> Draft | None:
        """Remove and return the first message that waits for the end of the turn."""
        if not self.waiting:
            return None
        message = self.waiting.pop(0)
        self._update()
        return message.draft

    def deliver(self) -> QueuedMessage | None:
        """Remove and return the first message to the running turn; `confirm` has to follow."""
        if not self.steering:
            return None
        message = self.steering.pop(0)
        self._delivered.append(message)
        self._update()
        return message

    def confirm(self) -> None:
        """Forget the first delivered message: the turn has stored it."""
        del self._delivered[:1]

    def start_turn(self) -> None:
        """Send the messages in order after the turn that starts."""
        self.follows_turn = True
        self.resume()

    def end_turn(self) -> None:
        """Let the messages to the turn that it did not store wait in front of the others."""
        self.follows_turn = False
        left = [*self._delivered, *self.steering]
        for message in left:
            message.content = ()
        self.waiting[:0] = left
        self._delivered, self.steering = [], []
        self._update()

    def pause(self, why: str, *, can_retry: bool = False) -> None:
        """Stop sending until the user acts; no effect on an empty queue."""
        self.pause_reason, self.can_retry = why, can_retry
        self._update()

    def resume(self) -> None:
        """Send messages in order again."""
        self.pause("")

    def _list_of(self, message: QueuedMessage) -> list[QueuedMessage]:
        return self.steering if message.steers else self.waiting

    def _update(self) -> None:
        self.pause_reason = self.pause_reason if len(self) else ""
        for observer in self._observers:
            observer()


def find_stop_reason(event: Event) -> str:
    """Return a reason if the user stopped a turn or a command, else an empty string."""
    if isinstance(event, TurnCancelled):
        return "you stopped the turn"
    if isinstance(event, ShellRan) and event.exit_code is None:
        return "you stopped the command"
    return ""


def find_failure_reason(session: "Session") -> str:
    """Return a reason if the last turn failed, else an empty string."""
    route = session.state.last_route
    if session.state.branch.last_turn_failed and route is not None and route.chosen_model is None:
        return "no model was available"
    if session.limit_reached is not None:
        return "the turn reached a limit"
    return "the turn failed" if session.state.branch.last_turn_failed else ""
