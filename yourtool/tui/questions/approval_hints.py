"""Key hints of an approval prompt."""

from msgspec import Struct

from yourtool.tui.keys.active_keys import build_hint, get_answer_label, get_label, join_hints

WIDE_COLUMNS = 60
"""Columns from which on all key hints fit."""
SHORT_ROWS = 16
"""Rows of the screen below which all answers are side by side, and explained above."""
SHOW_REST = "show the rest"
"""What Enter does in place of an answer that allows a call which was not read to its end."""
_ANSWERS_ELSEWHERE = "yYnN123456789"


class Feedback(Struct, frozen=True):
    """Why a key answered nothing, and what does."""

    problem: str
    remedy: str

    def text(self, *, roomy: bool, is_in_prompt: bool) -> str:
        """Return it in one line; `is_in_prompt`: the character of the key is in the prompt."""
        way = f"clear the prompt, then {self.remedy}" if is_in_prompt else self.remedy
        return f"{self.problem}: {way}" if roomy else way


TOO_EARLY = Feedback("Typed too early", "press again")


def explain_key(typed: str, *, has_answer: bool, is_ready: bool) -> Feedback | None:
    """Explain why a key is no answer here; None if it is one, or never is an answer.

    `typed`: a character, or `enter`.
    """
    if has_answer:
        return None if is_ready else TOO_EARLY
    if typed not in {*_ANSWERS_ELSEWHERE, "enter"}:
        return None
    allow, deny = get_answer_label("a"), get_answer_label("d")
    label = typed.title() if typed == "enter" else typed
    return Feedback(f"{label} answers nothing here", f"{allow} allows, {deny} denies")


class HintState(Struct, frozen=True, kw_only=True):
    """What the hints of an approval prompt depend on."""

    columns: int
    prompt_text: str
    """The text of the message prompt."""
    feedback: Feedback | None
    """On the last key."""
    chosen: str
    """What Enter does, if an answer is marked."""
    submits: str
    """What Enter does in the field that is open, if one is."""
    is_ready: bool
    """Whether keys answer."""
    overflows: bool
    is_expanded: bool
    is_at_end: bool
    """Whether the last row of the preview is on the screen."""
    place: int
    """Of the request among those that wait, from 1."""
    total: int
    stops: str
    """The effect of Esc."""

    @property
    def is_roomy(self) -> bool:
        """Whether all hints fit."""
        return self.columns >= WIDE_COLUMNS

    def text(self) -> str:
        """Return the hints that fit, in one line."""
        stop = build_hint("chat.stop", "goes back" if self.submits else self.stops)
        behind = f"{self.place} of {self.total}, ←→" if self.total > 1 else ""
        if (feedback := self._feedback_text) and not self.is_roomy:
            return feedback
        return join_hints(*self._actions(feedback), stop, behind)

    @property
    def _feedback_text(self) -> str:
        if self.feedback is None or len(self.prompt_text) > 1:
            return ""
        return self.feedback.text(roomy=self.is_roomy, is_in_prompt=bool(self.prompt_text))

    def _actions(self, feedback: str) -> tuple[str, ...]:
        roomy = self.is_roomy
        if self.submits:
            return (f"Enter {self.submits}",)
        if self.chosen and not (self.chosen == SHOW_REST and self.is_expanded):
            return (f"Enter: {self.chosen}",)
        if feedback:
            return (feedback,)
        if self.prompt_text:
            return ("send or clear the prompt to answer" if roomy else "clear the prompt",)
        if not self.is_ready:
            return ("stop typing to answer" if roomy else "",)
        if self.overflows and not self.is_expanded:
            return (build_hint("approval.expand", "shows more"),)
        if self.overflows and not self.is_at_end:
            less = build_hint("approval.expand", "shows less") if roomy else ""
            return (f"{get_label('chat.page_down')} for more", less)
        less = build_hint("approval.expand", "shows less") if self.overflows else ""
        return ("↑↓ or a letter, then Enter" if roomy else "", less)
