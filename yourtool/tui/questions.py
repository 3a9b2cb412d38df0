"""How a question is put into words: its title, what it would do, and the answers it offers."""

from msgspec import Struct
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.messages import canonical_json
from yourtool.text import escape_line

DENY = Decision(verdict=Verdict.DENY)


class Option(Struct, frozen=True):
    """One answer; `decision` is None where words are asked for first."""

    letter: str
    label: str
    decision: Decision | None

    @property
    def allows(self) -> bool:
        """Whether something happens because of this answer."""
        return self.decision is not None and self.decision.verdict is Verdict.ALLOW


def answer_options(question: Confirmation) -> tuple[Option, ...]:
    """Return the answers that a question offers."""
    allow = Decision(verdict=Verdict.ALLOW)
    if question.kind == "limit":
        return Option("a", "go on", allow), Option("d", "stop here", DENY)
    lasting = (
        Option("s", "this session", Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)),
        Option("w", "always", Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS)),
    )
    return (
        Option("a", "allow once", allow),
        *(lasting if question.rule is not None else ()),
        Option("d", "deny", DENY),
        Option("n", "deny with note", None),
    )


def title(question: Confirmation) -> Content:
    """Return one line that names the tool and the most it can do, or the limit."""
    name = escape_line(question.title)
    if question.kind == "limit":
        return Content(f"Go on? {name}")
    return Content(f"Allow {name}? ({question.side_effects.value})")


def about(question: Confirmation) -> list[str]:
    """Return what else to know: where a change goes, whether that is protected, and the rule.

    A line each, which is not escaped yet.
    """
    lines: list[str] = []
    preview = question.preview
    if preview is not None:
        lines += [f"changes: {path}" for path in preview.paths]
    if preview is not None and preview.protected:
        lines.append("a protected place: always asked about")
    if question.reason:
        lines.append(question.reason)
    if question.rule is not None:
        lines.append(f"s, w allow: {question.rule}")
    return lines


def arguments(question: Confirmation) -> list[str]:
    """Return all arguments of a call that has no preview, one a line, which is not escaped yet.

    They are JSON, so a line feed in one does not look like the next, nor a number like a text.
    """
    return [
        f"{name if name.isidentifier() else _json(name)}: {_json(value)}"
        for name, value in (question.input or {}).items()
    ]


def _json(value: object) -> str:
    return canonical_json(value).decode()
