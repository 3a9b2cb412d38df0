"""How a question is put into words: its title, what it would do, and the answers it offers."""

from msgspec import Struct
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.messages import canonical_json
from yourtool.text import escaped

DENY = Decision(verdict=Verdict.DENY)


class Option(Struct, frozen=True):
    """One answer; `decision` is None where words are asked for first."""

    letter: str
    label: str
    decision: Decision | None


def options_of(question: Confirmation) -> tuple[Option, ...]:
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
    if question.kind == "limit":
        return Content(f"Go on? {escaped(question.title)}")
    return Content(f"Allow {escaped(question.title)}? ({question.side_effects.value})")


def about(question: Confirmation) -> str:
    """Return what else to know: where a change goes, whether that is protected, and the rule."""
    lines: list[str] = []
    preview = question.preview
    if preview is not None and preview.paths:
        lines.append("changes: " + ", ".join(escaped(path) for path in preview.paths))
    if preview is not None and preview.protected:
        lines.append("a protected place: always asked about")
    if question.reason:
        lines.append(escaped(question.reason))
    if question.rule is not None:
        lines.append(f"s, w allow: {escaped(question.rule)}")
    return "\n".join(lines)


def arguments(question: Confirmation) -> str:
    """Return all arguments of a call that has no preview."""
    if not question.input:
        return ""
    return "\n".join(
        f"{escaped(name)}: {escaped(value if isinstance(value, str) else _json(value))}"
        for name, value in question.input.items()
    )


def _json(value: object) -> str:
    return canonical_json(value).decode()
