"""Keys that answer a question.

The prompt keeps the focus. Arrows and Tab move the mark; a letter, a number or a word such as `yes`
is in the prompt, like every text, and marks its answer as long as nothing else is there. Enter
confirms what is marked, as does the same key twice if no other follows, as in `11 tests`.
`KeystrokeGuard` has the times at which keys answer.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from textual import events

from yourtool.tui.keys.active_keys import get_keys
from yourtool.tui.keys.keystroke_guard import QUIET_SECONDS, SEEN_SECONDS, KeystrokeGuard
from yourtool.tui.questions.answer_words import is_answer_word
from yourtool.tui.questions.approval_hints import TOO_EARLY, Feedback, explain_key
from yourtool.tui.widgets.answer_list import AnswerList
from yourtool.tui.widgets.prompt import Prompt

_STEPS: Mapping[str, int] = MappingProxyType({"up": -1, "down": 1, "tab": 1})
_SENDING = ("prompt.send", "prompt.steer", "prompt.queue", "prompt.complete")
_NOT_SENT = Feedback("An answer is no message", "press it again")


class KeyResult(Struct, frozen=True):
    """The effect of a key."""

    is_consumed: bool = False
    chosen: int | None = None
    """The index of the answer that it confirms."""
    feedback: Feedback | None = None


_PASSED, _CONSUMED = KeyResult(), KeyResult(is_consumed=True)
_UP_IS_NO_START = KeyResult(
    is_consumed=True, feedback=Feedback("Up recalls nothing here", "↓ marks an answer")
)
"""Up and Enter send the last message again, a habit that must not answer."""
_EARLY = KeyResult(is_consumed=True, feedback=TOO_EARLY)


class AnswerKeys:
    """The keys of one question at a time."""

    def __init__(self, prompt: Prompt, answers: AnswerList, guard: KeystrokeGuard) -> None:
        self._prompt, self._answers, self._guard = prompt, answers, guard
        self.may_answer = False
        """Whether the text of the prompt was started as an answer to a question that was seen."""

    @property
    def is_answering(self) -> bool:
        """Whether the prompt has an answer, or the start of one, and nothing else."""
        text = self._prompt.text
        return self.may_answer and bool(text) and self._answers.is_answer_so_far(text)

    @property
    def _is_ready(self) -> bool:
        return self._answers.is_ready and self._guard.was_seen

    def reset(self) -> None:
        """Start over for another question; what is in the prompt is a message."""
        self.may_answer = False
        self._answers.unmark()

    def arm(self) -> tuple[KeyResult, float]:
        """Let keys answer if that is safe now; return what a key pressed twice confirms.

        The second value is the time in seconds until the next call, 0 if none is needed.
        """
        if self._prompt.text and not self.is_answering:
            self.disarm()
            return _PASSED, 0
        if (wait := self._guard.seconds_until_ready) > 0 and not self.is_answering:
            return _PASSED, min(wait, SEEN_SECONDS)
        self._answers.is_ready = True
        self.update_mark()
        result = self.confirm_doubled()
        return result, QUIET_SECONDS if self.is_doubled else 0

    def disarm(self) -> None:
        """Let no key answer; what is in the prompt is a message."""
        self._answers.is_ready = False
        self.reset()

    @property
    def is_doubled(self) -> bool:
        """Whether the key of an answer was pressed twice, and nothing else."""
        text = self._prompt.text
        return self.is_answering and len(text) == 2 and text[0] == text[1]

    def confirm_doubled(self) -> KeyResult:
        """Confirm an answer whose key was pressed twice, unless another key can still follow."""
        at = self._answers.find(self._prompt.text) if self.is_doubled else None
        if at is None or self._guard.seconds_until_quiet > 0:
            return _PASSED
        return self._confirm(at)

    def take_answer(self) -> None:
        """Remove the answer from the prompt."""
        if self.is_answering:
            self._prompt.clear()
        self.may_answer = False

    def update_mark(self) -> None:
        """Mark the answer in the prompt; with another text in it, none."""
        if text := self._prompt.text:
            self._answers.marked = self._answers.find(text) if self.is_answering else None
        elif self.may_answer:
            self.reset()

    def mark(self, at: int) -> KeyResult:
        """Mark an answer by its own key."""
        if not self._answers.is_ready:
            return _EARLY
        self.take_answer()
        self._answers.marked = at
        return _CONSUMED

    def click(self, at: int) -> KeyResult:
        """Mark an answer by a click; confirm it by another one that is no double click."""
        is_second = self._answers.marked == at and self._guard.seconds_until_quiet == 0
        self._guard.mark_keystroke()
        return self._confirm(at) if is_second and self._answers.is_ready else self.mark(at)

    def handle(self, event: events.Key | events.Paste) -> KeyResult:
        """Handle a key or a paste before the prompt gets it."""
        if isinstance(event, events.Paste):
            self.may_answer = False
            return _PASSED
        if self._prompt.text and not self.is_answering:
            self.may_answer = False
            return self._handle_in_message(event)
        if event.key == "enter":
            return self._handle_enter()
        if step := _STEPS.get(event.key):
            if not self._is_ready:
                self._guard.mark_typing()
                return _EARLY
            if step < 0 and not self._answers.marked:
                self._guard.mark_typing()  # a quick Enter answers nothing
                return _UP_IS_NO_START
            self.take_answer()
            self._answers.move(step)
            return _CONSUMED
        return self._handle_character(event)

    def _handle_in_message(self, event: events.Key) -> KeyResult:
        """Handle a key after text that is a message, or an answer that came too early."""
        sends = any(event.key in get_keys(action) for action in _SENDING)
        if sends and is_answer_word(self._prompt.text, self._answers.letters):
            self._prompt.clear()
            return KeyResult(is_consumed=True, feedback=_NOT_SENT)
        return _PASSED

    def _handle_enter(self) -> KeyResult:
        self.update_mark()
        if self._is_ready and (marked := self._answers.marked) is not None:
            return self._confirm(marked)
        if self._prompt.text:  # the start of a word
            self.may_answer = False
            return _PASSED
        return KeyResult(is_consumed=True, feedback=self._explain("enter"))

    def _handle_character(self, event: events.Key) -> KeyResult:
        if not event.is_printable or (typed := event.character or "").isspace():
            return _PASSED
        if not self._prompt.text:
            self.may_answer = self._is_ready and self._answers.is_answer_so_far(typed)
            return KeyResult(feedback=None if self.may_answer else self._explain(typed))
        return _PASSED

    def _confirm(self, at: int) -> KeyResult:
        self.take_answer()
        return KeyResult(is_consumed=True, chosen=at)

    def _explain(self, typed: str) -> Feedback | None:
        has_answer = typed != "enter" and self._answers.find(typed) is not None
        return explain_key(typed, has_answer=has_answer, is_ready=self._is_ready)
