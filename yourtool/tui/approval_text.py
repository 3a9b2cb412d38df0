"""The text of an approval prompt: its title, details and answers."""

from collections.abc import Iterator

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content

from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.messages.blocks import canonical_json
from yourtool.text import escape_line, escape_line_pieces, escape_pieces
from yourtool.tui.styled_lines import TAB

DENY = Decision(verdict=Verdict.DENY)
_NOTE_STARTS = frozenset({"no", "not", "now", "need", "new", "nope", "nothing", "note", "next"})
"""Words with `n` whose other letters are no word."""


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
        *(lasting if confirmation.rules else ()),
        Option("d", "deny", DENY),
        Option("n", "deny with note", None),
    )


def complete_note(letter: str, typed: str) -> str:
    """Return a note, with the letter that opened its field if it belongs to the first word."""
    whole = f"{letter}{typed}"
    return whole if whole.split(maxsplit=1)[0].rstrip(",.;:!?") in _NOTE_STARTS else typed


def approval_title(confirmation: Confirmation) -> Content:
    """Return the question in one line."""
    if confirmation.kind == "limit":
        return Content(f"Continue? {escape_line(confirmation.title)}")
    return Content(_specific_question(confirmation) or _general_question(confirmation))


def _specific_question(confirmation: Confirmation) -> str:
    """Return the question about a change, a command or a host; empty for any other call."""
    preview, subject = confirmation.preview, confirmation.subject
    if preview is not None and preview.kind == "diff" and len(preview.paths) == 1:
        verb = "Create" if preview.body.startswith("--- /dev/null\n") else "Edit"
        return f"{verb} `{escape_line(preview.paths[0])}`?"
    if preview is not None and preview.kind == "command":
        return "Run this command?"
    if subject is not None and subject.kind == "host":
        return f"Fetch from `{escape_line(subject.text)}`?"
    return ""


def _general_question(confirmation: Confirmation) -> str:
    return f"Allow {escape_line(confirmation.title)}? ({confirmation.side_effects.value})"


def approval_details(confirmation: Confirmation) -> list[str]:
    """Return unescaped lines with the tool, the paths, their protection, the reason and the rules.

    The tool has a separate line if neither the question nor the rule names it. The path of a change
    to one file is above the change.
    """
    lines: list[str] = []
    if not confirmation.rules and _specific_question(confirmation):
        lines.append(f"tool: {confirmation.title} ({confirmation.side_effects.value})")
    preview = confirmation.preview
    if preview is not None and (preview.kind != "diff" or len(preview.paths) != 1):
        lines += [f"changes: {path}" for path in preview.paths]
    if preview is not None and preview.surroundings:
        lines.append(f"runs in: {preview.surroundings}")
    if preview is not None and preview.protected:
        is_command = preview.kind == "command"
        what = "`[sandbox] require` is not met" if is_command else "protected place"
        lines.append(f"{what}: always requires an approval")
    if confirmation.reason:
        lines.append(confirmation.reason)
    lines += [f"s, w allow: {rule}" for rule in confirmation.rules]
    if confirmation.no_rule_reason:
        lines.append(f"no rule for it: {confirmation.no_rule_reason}")
    return lines


def argument_lines(confirmation: Confirmation) -> list[str]:
    """Return the arguments of a call without a preview, unescaped, one per line.

    Values are JSON, so that line feeds stay inside a value and numbers differ from strings.
    """
    return [
        f"{name if name.isidentifier() else _json(name)}: {_json(value)}"
        for name, value in (confirmation.input or {}).items()
    ]


def approval_line(text: str) -> str:
    """Return a line of a change; a tab is an arrow and spaces to its stop."""
    return "".join(approval_pieces(text))


def approval_pieces(text: str) -> Iterator[str]:
    """Yield the pieces of `approval_line`."""
    begin = column = 0
    while (end := text.find("\t", begin)) >= 0:
        for piece in escape_pieces(text[begin:end]):
            column += cell_len(piece)
            yield piece
        column += 1
        yield "⇥" + " " * (-column % TAB)
        begin, column = end + 1, 0
    yield from escape_line_pieces(text[begin:])


def _json(value: object) -> str:
    return canonical_json(value).decode()
