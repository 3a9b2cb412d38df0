"""The text of an approval prompt: its title, details and answers."""

from msgspec import Struct
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.messages.blocks import canonical_json
from yourtool.text import escape_line

DENY = Decision(verdict=Verdict.DENY)


class Option(Struct, frozen=True):
    """One answer; without a `decision` where the user writes a note before it is sent."""

    letter: str
    label: str
    decision: Decision | None

    @property
    def allows(self) -> bool:
        """Whether this answer allows the call."""
        return self.decision is not None and self.decision.verdict is Verdict.ALLOW


def approval_options(confirmation: Confirmation) -> tuple[Option, ...]:
    """Return the answers to an approval prompt."""
    allow = Decision(verdict=Verdict.ALLOW)
    if confirmation.kind == "limit":
        return Option("a", "continue", allow), Option("d", "stop here", DENY)
    lasting = (
        Option("s", "this session", Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)),
        Option("w", "always", Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS)),
    )
    return (
        Option("a", "allow once", allow),
        *(lasting if confirmation.rule is not None else ()),
        Option("d", "deny", DENY),
        Option("n", "deny with note", None),
    )


def approval_title(confirmation: Confirmation) -> Content:
    """Return one line with the tool and its side effects, or with the limit."""
    name = escape_line(confirmation.title)
    if confirmation.kind == "limit":
        return Content(f"Continue? {name}")
    return Content(f"Allow {name}? ({confirmation.side_effects.value})")


def approval_details(confirmation: Confirmation) -> list[str]:
    """Return unescaped lines with the changed paths, their protection, the reason and the rule."""
    lines: list[str] = []
    preview = confirmation.preview
    if preview is not None:
        lines += [f"changes: {path}" for path in preview.paths]
    if preview is not None and preview.protected:
        lines.append("protected place: always requires an approval")
    if confirmation.reason:
        lines.append(confirmation.reason)
    if confirmation.rule is not None:
        lines.append(f"s, w allow: {confirmation.rule}")
    return lines


def argument_lines(confirmation: Confirmation) -> list[str]:
    """Return the arguments of a call without a preview, unescaped, one per line.

    Values are JSON, so that line feeds stay inside a value and numbers differ from strings.
    """
    return [
        f"{name if name.isidentifier() else _json(name)}: {_json(value)}"
        for name, value in (confirmation.input or {}).items()
    ]


def _json(value: object) -> str:
    return canonical_json(value).decode()
