"""Title, details and answers of an approval prompt."""

from collections.abc import Iterator

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
from yourtool.tui.questions.rule_text import explain_rules, split_rules

ALLOW, DENY = Decision(verdict=Verdict.ALLOW), Decision(verdict=Verdict.DENY)
EDIT = Decision(verdict=Verdict.EDIT)
_CHANGES, _WHERE, _ALLOWS = "changes: ", "where: ", "s, w allow: "
_OFFERS, _ALLOWS_LINE = "w can also allow: ", "l allows only: "
_ALLOWS_ALWAYS = "w allows: "
_MAX_EXACT = 150
"""Characters of an exact rule that is written out although it repeats the command."""
_EXACT_DETAILS = (_CHANGES, _WHERE, _ALLOWS, _ALLOWS_ALWAYS, _ALLOWS_LINE, _OFFERS)


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
    short: str
    """The label on a narrow screen."""
    decision: Decision
    entry: Entry | None = None

    @property
    def allows(self) -> bool:
        """Whether this answer allows the call."""
        return self.decision.verdict is Verdict.ALLOW


_REASON = Entry("Why not?", "denies", DENY)
_COMMENT = Entry("A note for the model", "allows it once", ALLOW)
ALWAYS = replace(ALLOW, scope=Scope.ALWAYS)
_RULES = Entry("The rules, one on each line", "allows it always", ALWAYS)
_COMMAND = Entry("The command", "shows the changed command", EDIT)
_PLAN_NOTE = Entry("What should be different?", "keeps planning", DENY)
_PLAN_OPTIONS = (
    Option("a", "carry it out, ask", "ask", replace(ALLOW, plan=PlanAnswer.ASK)),
    Option("s", "accept edits", "accept edits", replace(ALLOW, plan=PlanAnswer.ACCEPT_EDITS)),
    Option("m", "other model", "model", replace(ALLOW, plan=PlanAnswer.MODEL)),
    Option("f", "new session", "new", replace(ALLOW, plan=PlanAnswer.FRESH)),
    Option("e", "edit the plan", "edit", EDIT),
    Option("d", "keep planning", "keep planning", DENY),
    Option("n", "keep planning with note", "note", DENY, _PLAN_NOTE),
)
_INPUT = Entry("What the program gets", "types it", ALLOW)
_INPUT_OPTIONS = (
    Option("a", "type an answer", "type", ALLOW, _INPUT),
    Option("w", "leave it waiting in the background", "background", ALLOW),
    Option("d", "stop the command", "stop", DENY),
)
_QUESTION_OPTIONS = (
    Option("a", "type an answer", "type", ALLOW, Entry("What the server gets", "sends it", ALLOW)),
    Option("d", "do not answer", "no answer", DENY),
)
_FALLBACK_OPTIONS = (
    Option("a", "use the other model", "use it", ALLOW),
    Option("d", "try the same model", "try the same", DENY),
)
_TYPING_TOOL, _SHELL_TOOL = "process_input", "shell"
_TRUST = Option("f", "trust folder", "trust", replace(ALLOW, trusts_folder=True))
_EDITS = Option("s", "all edits, this session", "all edits", replace(ALLOW, accepts_edits=True))
_CONTAIN = Option("i", "all in the sandbox", "sandbox", replace(ALLOW, allows_contained=True))


_NETWORK = Option(
    "t", "always with a network", "network", replace(ALWAYS, network=NetworkAnswer.NETWORK)
)
_OUTSIDE = Option("o", "always outside", "outside", replace(ALWAYS, network=NetworkAnswer.PROGRAM))
_HOSTS = Option("h", "allow these hosts", "hosts", replace(ALWAYS, network=NetworkAnswer.HOSTS))


def approval_options(confirmation: Confirmation, *, waiting: int = 0) -> tuple[Option, ...]:
    """Return the answers to an approval prompt; `waiting`: the number of requests after it."""
    if confirmation.kind == "limit":
        return (
            Option("a", "continue", "continue", ALLOW),
            Option("d", "stop here", "stop here", DENY),
        )
    if confirmation.kind == "fallback":
        return _FALLBACK_OPTIONS
    if confirmation.kind == "plan":
        return _PLAN_OPTIONS
    if confirmation.kind == "question":
        return _QUESTION_OPTIONS
    if is_about_input(confirmation):
        return _INPUT_OPTIONS
    session = Option("s", "this session", "session", replace(ALLOW, scope=Scope.SESSION))
    always = Option("w", "always", "always", ALWAYS, _RULES if confirmation.describe_rule else None)
    lasting = (*((session,) if not confirmation.offers_edits else ()), always)
    exact = replace(ALWAYS, rules=confirmation.exact_rules)
    line = Option("l", "this line always", "line", exact)
    preview = confirmation.preview
    is_command = preview is not None and preview.kind == "command"
    change = Option("e", "edit first", "edit", EDIT, _COMMAND if is_command else None)
    rest = Option("x", "deny all that follow", "deny all", replace(DENY, denies_rest=True))
    return (
        Option("a", "allow once", "once", ALLOW),
        *((_EDITS,) if confirmation.offers_edits else ()),
        *((_CONTAIN,) if confirmation.sandbox is not None else ()),
        *(lasting if confirmation.rules else ()),
        *((line,) if confirmation.exact_rules else ()),
        *((_TRUST,) if confirmation.trust is not None else ()),
        *_network_options(confirmation.network),
        Option("m", "allow with note", "note", ALLOW, _COMMENT),
        *((change,) if preview is not None and preview.editable is not None else ()),
        Option("d", "deny", "deny", DENY),
        Option("n", "deny with note", "why not", DENY, _REASON),
        *((rest,) if confirmation.following or waiting else ()),
    )


def _network_options(offer: NetworkOffer | None) -> tuple[Option, ...]:
    if offer is None:
        return ()
    offered = (
        (_NETWORK, offer.is_enough and offer.outside),
        (_OUTSIDE, offer.outside),
        (_HOSTS, offer.hosts),
    )
    return tuple(option for option, is_offered in offered if is_offered)


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
    return not detail.startswith(_EXACT_DETAILS)


def approval_details(
    confirmation: Confirmation, *, by_key: bool = True, shortens: bool = False
) -> list[str]:
    """Return unescaped lines with the tool, the paths, their protection, the reason and the rules.

    The tool has a separate line if neither the question nor the rule names it; the shell has none.
    The path of a change to one file is above the change. `by_key`: whether keys answer. `shortens`:
    of many rules, only the first are named.
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
    if preview is not None and preview.surroundings:
        lines.append(f"{_WHERE}{preview.surroundings}")
    if preview is not None and preview.protected:
        is_command = preview.kind == "command"
        unmet = "`[sandbox] require` is not met" if is_command else "protected place"
        what = preview.protection or unmet
        lines.append(f"{what}: always requires an approval")
    if preview is not None and preview.leaving:
        lines.append(preview.leaving)
    if confirmation.reason:
        lines.append(confirmation.reason)
    if (offer := confirmation.trust) is not None:
        use = f" and uses {', '.join(offer.files)}" if offer.files else ""
        way = f"{get_answer_label('f')} trusts" if by_key else f'"{_TRUST.label}" trusts'
        lines.append(f"needs no approval in a trusted folder; {way} {offer.folder}{use}")
    if (sandbox := confirmation.sandbox) is not None:
        way = f"{get_answer_label('i')} allows" if by_key else f'"{_CONTAIN.label}" allows'
        lines.append(
            f"{way} every command that stays in the sandbox, in {sandbox.folder}: no network, no"
            " changes elsewhere"
        )
    for option in _network_options(confirmation.network):
        lines.append(_describe_network(option, confirmation.network, by_key=by_key))
    if confirmation.no_rule_reason:
        lines.append(f"no rule for it: {confirmation.no_rule_reason}")
    return [*lines, *_rule_lines(confirmation, by_key=by_key, shortens=shortens)]


def _is_rule_of_body(rule: str, confirmation: Confirmation) -> bool:
    """Whether a rule repeats the command that the question shows."""
    preview = confirmation.preview
    return preview is not None and rule == f"{confirmation.title}({preview.body})"


def _rule_lines(confirmation: Confirmation, *, by_key: bool, shortens: bool) -> Iterator[str]:
    """Yield the lines about rules, which are last: a list of commands has many of them.

    Exact rules for several commands, or for a long one, are not written out, because the commands
    are on the screen.
    """
    exact = confirmation.exact_rules if by_key else ()
    if len(exact) > 1:
        yield f"{get_answer_label('l')} allows only these {len(exact)} commands, as they are here"
    elif exact and len(exact[0]) > _MAX_EXACT and _is_rule_of_body(exact[0], confirmation):
        yield f"{get_answer_label('l')} allows only this command, as it is here"
    elif exact:
        yield f"{_ALLOWS_LINE}{exact[0]}"
    if confirmation.offers_edits:
        way = f"{get_answer_label('s')} allows" if by_key else f'"{_EDITS.label}" allows'
        yield f"{way} every edit of a file in the workspace, until this session ends"
    allows = _ALLOWS_ALWAYS if confirmation.offers_edits else _ALLOWS
    rules = explain_rules(confirmation.rules, shortens=shortens)
    yield from (f"{allows}{each}" for each in rules)
    yield from (f"{_OFFERS}{rule}" for rule in confirmation.wider_rules if by_key)


def _describe_network(option: Option, offer: NetworkOffer | None, *, by_key: bool) -> str:
    way = get_answer_label(option.letter) if by_key else f'"{option.label}"'
    if offer is None:
        return ""
    if option is _HOSTS:
        hosts = ", ".join(offer.hosts)
        return (
            f"{way} lets all commands in this folder reach {hosts}, not only this one; with a"
            " network, commands ask again. `/permissions` takes it back"
        )
    named = ", ".join(explain_rules([f"shell({each})" for each in offer.outside]))
    if option is _NETWORK:
        return f"{way} lets {named} use the network from now on; it still stays in the sandbox"
    return f"{way} runs {named} outside the sandbox from now on, with all your rights"
