"""Title, details and answers of an approval prompt."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from textual.content import Content

from yourtool.effects import (
    Confirmation,
    Decision,
    Editable,
    NetworkAnswer,
    NetworkOffer,
    PlanAnswer,
    Scope,
    Verdict,
)
from yourtool.foundation.text import escape_line
from yourtool.tui.keys.active_keys import get_answer_label
from yourtool.tui.questions.answer_words import Meaning
from yourtool.tui.questions.rule_text import explain_rules, get_rule_words, split_rules

ALLOW, DENY = Decision(verdict=Verdict.ALLOW), Decision(verdict=Verdict.DENY)
EDIT = Decision(verdict=Verdict.EDIT)
_CHANGES, _WHERE = "changes: ", "where: "


class Entry(Struct, frozen=True):
    """A text that the user writes before an answer is sent."""

    placeholder: str
    submits: str
    """What Enter does."""
    decision: Decision
    """The answer, to which the text is added."""


class Option(Struct, frozen=True):
    """One answer."""

    letter: str
    label: str
    """A sentence without its final point, not escaped; or a few words."""
    short: str
    """The label on a narrow screen."""
    decision: Decision
    entry: Entry | None = None
    brief: str = ""
    """What it is called in a row of others, if its label is long."""

    @property
    def name(self) -> str:
        """A few words."""
        return self.brief or self.label

    @property
    def allows(self) -> bool:
        """Whether this answer allows the call."""
        return self.decision.verdict is Verdict.ALLOW

    @property
    def means(self) -> Meaning:
        """Whether words for yes, or for no, give this answer."""
        is_yes = self.letter == "a" and self.entry is None
        return "yes" if is_yes else "no" if self.letter == "d" else ""


_REASON = Entry("Why not?", "denies", DENY)
_COMMENT = Entry("A note for the model", "allows it once", ALLOW)
ALWAYS = replace(ALLOW, scope=Scope.ALWAYS)
_RULES = Entry("The rules, one on each line", "allows it always", ALWAYS)
_COMMAND = Entry("The command", "shows the changed command", EDIT)
_PLAN_NOTE = Entry("What should be different?", "keeps planning", DENY)
_PLAN_OPTIONS = (
    Option("a", "Carry it out, ask about each step", "ask", replace(ALLOW, plan=PlanAnswer.ASK)),
    Option(
        "s",
        "Carry it out, accept its edits",
        "accept edits",
        replace(ALLOW, plan=PlanAnswer.ACCEPT_EDITS),
    ),
    Option("d", "Keep planning", "keep planning", DENY),
    Option("m", "other model", "model", replace(ALLOW, plan=PlanAnswer.MODEL)),
    Option("f", "new session", "new", replace(ALLOW, plan=PlanAnswer.FRESH)),
    Option("e", "edit the plan", "edit", EDIT),
    Option("r", "keep planning, with a note", "note", DENY, _PLAN_NOTE),
)
_INPUT = Entry("What the program gets", "types it", ALLOW)
_INPUT_OPTIONS = (
    Option("a", "Type an answer", "type", ALLOW, _INPUT),
    Option("w", "Leave it waiting in the background", "background", ALLOW),
    Option("d", "Stop the command", "stop", DENY),
)
_TYPED = Entry("Your answer", "sends it", ALLOW)
_FALLBACK_OPTIONS = (
    Option("a", "Use the other model", "use it", ALLOW),
    Option("d", "Try the same model", "try the same", DENY),
)
_LIMIT_OPTIONS = (
    Option("a", "Continue", "continue", ALLOW),
    Option("d", "Stop here", "stop here", DENY),
)
_FULL_SANDBOX = "full sandbox; no network"
_TYPING_TOOL, _SHELL_TOOL = "process_input", "shell"
_ONCE = Option("a", "Allow once", "once", ALLOW)
_DENY = Option("d", "Deny", "deny", DENY)
_EDITS = Option(
    "s", "Allow every edit in this folder, until this session ends", "all edits",
    replace(ALLOW, accepts_edits=True), brief="all edits, this session",
)  # fmt: skip


_MAX_SENTENCE = 150
"""Characters of an answer that is written out; a longer one is explained above."""


def approval_options(
    confirmation: Confirmation, *, waiting: int = 0, spells_all: bool = False
) -> tuple[Option, ...]:
    """Return the answers to an approval prompt; `waiting`: the number of other requests.

    `spells_all`: no other text explains the answers.
    For a call: once, what is offered first for longer, and no; then what is needed more rarely.
    """
    match confirmation.kind:
        case "limit":
            return _LIMIT_OPTIONS
        case "fallback":
            return _FALLBACK_OPTIONS
        case "plan":
            return _PLAN_OPTIONS
        case "question":
            return tuple(_question_options(confirmation))
        case "input" | "password":
            return _INPUT_OPTIONS
        case "tool":
            first, *others = (*_lasting_options(confirmation), None)
            lasting = (*((first,) if first and is_spelled(first) else ()), _DENY)
            brief = (each for each in (first, *others) if each and each not in lasting)
            named = (each if spells_all else replace(each, label=each.name) for each in brief)
            return (_ONCE, *lasting, *named, *_special_options(confirmation, waiting))


def is_spelled(option: Option) -> bool:
    """Whether an answer is short enough to be written out in the list of answers."""
    return len(option.label) <= _MAX_SENTENCE


def _lasting_options(confirmation: Confirmation, *, shortens: bool = True) -> Iterator[Option]:
    """Yield the answers that also hold later, the one that spares most questions first.

    `shortens`: of many rules, only the first are named.
    """
    if confirmation.offers_edits:
        yield _EDITS
    if (sandbox := confirmation.sandbox) is not None:
        label = f"Allow every command that stays in the sandbox, in {sandbox.folder}: no network,"
        contain = replace(ALLOW, allows_contained=True)
        yield _lasting("i", f"{label} no changes elsewhere", "all in the sandbox", contain)
    yield from _network_options(confirmation.network)
    if confirmation.rules:
        named = _name_rules(confirmation, shortens=shortens)
        yield _lasting("w", f"Allow {named} in this folder, from now on", "always", ALWAYS)
        if not confirmation.offers_edits:
            label = "Allow the same until this session ends"
            yield _lasting("s", label, "this session", replace(ALLOW, scope=Scope.SESSION))
    if count := len(confirmation.exact_rules):
        what = "this line" if count == 1 else f"only these {count} commands"
        exact = replace(ALWAYS, rules=confirmation.exact_rules)
        yield Option("l", f"{what} always", "line", exact)
    if (offer := confirmation.trust) is not None:
        use = f", and use {', '.join(offer.files)}" if offer.files else ""
        label = f"Trust {offer.folder}: this needs no approval there{use}"
        yield _lasting("f", label, "trust folder", replace(ALLOW, trusts_folder=True))


def _name_rules(confirmation: Confirmation, *, shortens: bool) -> str:
    """Return the rules as text: all if they are short, else first what the command lacks."""
    named = "; ".join(explain_rules(confirmation.rules))
    if not shortens or len(named) <= _MAX_SENTENCE - 40:
        return named
    body = confirmation.preview.body if confirmation.preview is not None else ""
    rules = sorted(confirmation.rules, key=lambda rule: get_rule_words(rule) in body)
    return "; ".join(explain_rules(rules, shortens=True))


def _lasting(letter: str, label: str, brief: str, decision: Decision) -> Option:
    return Option(letter, label, brief.split()[0], decision, brief=brief)


def _question_options(confirmation: Confirmation) -> Iterator[Option]:
    """Yield the answers that a question offers, which have only a number, and a text."""
    for each in confirmation.choices:
        yield Option("", each, each, replace(ALLOW, typed=each))
    yield Option("a", "Type an answer", "type", ALLOW, _TYPED)
    yield Option("d", "Do not answer", "no answer", DENY)


def _special_options(confirmation: Confirmation, waiting: int) -> Iterator[Option]:
    preview = confirmation.preview
    if confirmation.rules and confirmation.describe_rule:
        yield Option("p", "change what is allowed", "change", ALWAYS, _RULES)
    yield Option("m", "allow with note", "note", ALLOW, _COMMENT)
    if preview is not None and preview.editable is not None:
        is_command = preview.kind == "command"
        yield Option("e", "edit first", "edit", EDIT, _COMMAND if is_command else None)
    yield Option("r", "deny with note", "why not", DENY, _REASON)
    if confirmation.following or waiting:
        yield Option("x", "deny all that follow", "deny all", replace(DENY, denies_rest=True))


def _network_options(offer: NetworkOffer | None) -> Iterator[Option]:
    if offer is None:
        return
    named = ", ".join(explain_rules([f"shell({each})" for each in offer.outside]))
    if offer.is_enough and offer.outside:
        label = f"Let {named} use the network from now on, still in the sandbox"
        decision = replace(ALWAYS, network=NetworkAnswer.NETWORK)
        yield _lasting("t", label, "network from now on", decision)
    if offer.outside:
        label = f"Run {named} outside the sandbox from now on, with all your rights"
        decision = replace(ALWAYS, network=NetworkAnswer.PROGRAM)
        yield _lasting("o", label, "outside from now on", decision)
    if offer.hosts:
        hosts = ", ".join(offer.hosts)
        label = f"Let all commands in this folder, not only this one, reach {hosts} from now on"
        decision = replace(ALWAYS, network=NetworkAnswer.HOSTS)
        yield _lasting("h", label, "hosts from now on", decision)


def is_about_input(confirmation: Confirmation) -> bool:
    """Whether a running command or a server waits for a text."""
    return confirmation.kind in ("input", "password", "question")


def build_decision(question: Confirmation, entry: Entry, text: str) -> Decision | None:
    """Return the answer with the text from its field; None if the text is empty or unchanged."""
    if is_about_input(question):
        return replace(entry.decision, typed=text)
    if entry.decision.verdict is Verdict.EDIT:
        return build_edit(question, text) if text.strip() else None
    if entry.decision.scope is Scope.ALWAYS:
        rules = split_rules(text)
        return replace(entry.decision, rules=rules) if rules else None
    return replace(entry.decision, note=text.strip() or None)


def build_edit(question: Confirmation, text: str) -> Decision | None:
    """Return an answer with the edited text; None if the text is unchanged."""
    editable = get_editable(question)
    if editable is None or text == editable.text:
        return None
    return replace(EDIT, edited_input=editable.build_input(text))


def get_editable(question: Confirmation) -> Editable | None:
    """Return what the user can change in a call."""
    return question.preview.editable if question.preview is not None else None


def approval_title(confirmation: Confirmation) -> Content:
    """Return the question in one line, with the name of the worker whose call it is."""
    if confirmation.kind == "limit":
        question = f"Continue? {escape_line(confirmation.title)}"
    elif confirmation.kind == "fallback":
        question = escape_line(confirmation.title)
    elif confirmation.kind == "plan":
        question = "Carry out this plan?"
    elif is_about_input(confirmation):
        question = escape_line(confirmation.title)
    else:
        question = _specific_question(confirmation) or _general_question(confirmation)
    worker = f"{escape_line(confirmation.asked_by)}: " if confirmation.asked_by else ""
    return Content(f"{worker}{question}")


def _specific_question(confirmation: Confirmation) -> str:
    """Return the question about a change, a command or a host; empty for any other call."""
    preview, subject = confirmation.preview, confirmation.subject
    if preview is not None and preview.kind == "diff" and preview.paths:
        return _change_question(preview.body, *preview.paths)
    if preview is not None and preview.kind == "command":
        return "Type this text?" if confirmation.title == _TYPING_TOOL else "Run this command?"
    if subject is not None and subject.kind == "host":
        return f"Fetch from `{escape_line(subject.text)}`?"
    return ""


def _change_question(diff: str, path: str, *others: str) -> str:
    """Return the question about a diff of one or more files."""
    if others:
        return f"Edit {1 + len(others)} files?"
    old, _, rest = diff.partition("\n")
    verb = "Create" if old == "--- /dev/null" else "Edit"
    if rest.startswith("+++ /dev/null\n"):
        verb = "Delete"
    return f"{verb} `{escape_line(path)}`?"


def _general_question(confirmation: Confirmation) -> str:
    return f"Allow {escape_line(confirmation.title)}? ({confirmation.side_effects.value})"


def approval_cautions(confirmation: Confirmation) -> list[str]:
    """Return unescaped lines with what a command would do that is hardly ever intended."""
    return [f"warning: {each}" for each in confirmation.consequences.cautions]


def is_sentence(detail: str) -> bool:
    """Whether a detail is prose, and not a path or a rule, of which each character counts."""
    return not detail.startswith((_CHANGES, _WHERE)) and detail[1:2] != ":"


def approval_details(
    confirmation: Confirmation,
    *,
    by_key: bool = True,
    shortens: bool = False,
    spells: bool = True,
) -> list[str]:
    """Return unescaped lines with the tool, the paths, their protection, the reason and the rules.

    The tool has a separate line if neither the question nor the rule names it; the shell has none.
    The path of a change to one file is above the change. `by_key`: whether keys answer. `shortens`:
    of many rules, only the first are named. `spells`: the first answers are written out elsewhere.
    """
    lines: list[str] = []
    if confirmation.kind == "plan" and confirmation.is_edited:
        return ["changed by you; this is the plan that counts"]
    is_named = confirmation.rules or confirmation.title == _SHELL_TOOL
    if not is_named and _specific_question(confirmation):
        lines.append(f"tool: {confirmation.title} ({confirmation.side_effects.value})")
    if confirmation.is_edited:
        lines.append("changed by you; this is what runs")
    if confirmation.changed_by_hook:
        lines.append(f"changed by the hook `{confirmation.changed_by_hook}`; this is what runs")
    preview = confirmation.preview
    if preview is not None and (preview.kind != "diff" or len(preview.paths) != 1):
        lines += [f"{_CHANGES}{path}" for path in preview.paths]
    where = preview.surroundings if preview is not None else ""
    if confirmation.sandbox is not None:  # an answer names it
        where = where.removeprefix(_FULL_SANDBOX).removeprefix("; ")
    if where:
        lines.append(f"{_WHERE}{where}")
    if preview is not None and preview.protected:
        is_command = preview.kind == "command"
        unmet = "`[sandbox] require` is not met" if is_command else "protected place"
        what = preview.protection or unmet
        lines.append(f"{what}: always requires an approval")
    if preview is not None and preview.leaving:
        lines.append(preview.leaving)
    if confirmation.reason:
        lines.append(confirmation.reason)
    if confirmation.no_rule_reason:
        lines.append(f"asked each time: {confirmation.no_rule_reason}")
    if by_key and confirmation.kind == "tool":
        written = approval_options(confirmation) if spells else ()
        lines += _explain_options(confirmation, written, shortens=shortens)
    return lines


def _explain_options(
    confirmation: Confirmation, written: Sequence[Option], *, shortens: bool
) -> Iterator[str]:
    """Yield what the answers do that are not written out, with their keys; rules are last."""
    labels = {option.label for option in written}
    for option in _lasting_options(confirmation, shortens=shortens):
        is_clear = option.letter == "s" or option.name == option.label
        if not is_clear and option.label not in labels:
            yield f"{get_answer_label(option.letter)}: {option.label}"
    for rule in confirmation.wider_rules:
        yield f"{get_answer_label('p')} can also allow: {rule}"
