"""Questions as numbered lines."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from yourtool.agent.commands.base import Choice
from yourtool.effects import Confirmation, Decision, Scope, Verdict
from yourtool.extensions.linear.lines import Lines
from yourtool.extensions.linear.speaker import Speaker
from yourtool.foundation.text import escape_line
from yourtool.tui.questions.approval_lines import approval_line, argument_lines
from yourtool.tui.questions.approval_text import (
    Entry,
    Option,
    approval_cautions,
    approval_details,
    approval_options,
    approval_title,
    build_decision,
    build_edit,
    is_about_input,
)
from yourtool.tui.questions.rule_text import build_rules_text, describe_rules, explain_rules

_CONTINUES = "A backslash at the end of a line continues the text; an empty line changes nothing."
_MAX_LINES = 2_000
"""A question with more lines can only be denied."""


class Questions:
    """Asks the user on the terminal."""

    def __init__(self, speaker: Speaker, lines: Lines) -> None:
        self._speaker = speaker
        self._lines = lines
        self._turns = asyncio.Lock()

    async def confirm(self, confirmation: Confirmation) -> Decision:
        """Return the answer to an approval prompt; only a number that was typed for it counts.

        Workers ask at the same time; each question waits for the answer to the one before.
        """
        async with self._turns:
            return await self._confirm(confirmation)

    async def _confirm(self, confirmation: Confirmation) -> Decision:
        details = _describe(confirmation)
        options = approval_options(confirmation, spells_all=True)
        if len(details) > _MAX_LINES:
            options = tuple(option for option in options if not option.allows)
            details = [*details[:_MAX_LINES], f"{len(details) - _MAX_LINES:,} more lines: too long"]
        self._speaker.say("Question", approval_title(confirmation).plain)
        for line in details:
            self._speaker.write(line)
        if confirmation.kind == "password":  # what is typed here is visible
            options = tuple(option for option in options if option.entry is None)
        labels = [escape_line(option.label) for option in options]
        while True:
            option = options[await self._pick(labels, is_safe=False)]
            if (decision := await self._complete(option, confirmation)) is not None:
                return decision

    async def _complete(self, option: Option, question: Confirmation) -> Decision | None:
        """Return an answer with its text; None: the user went back to the answers."""
        if option.decision.verdict is Verdict.EDIT:
            return await self._change_call(question)
        if option.entry is None:
            return option.decision
        if option.decision.scope is Scope.ALWAYS:
            return await self._change_rules(option.entry, question)
        what = "What does it" if is_about_input(question) else "Which note does the model"
        self._speaker.say("Question", f"{what} get? One line.")
        return build_decision(question, option.entry, await self._lines.ask())

    async def _change_call(self, question: Confirmation) -> Decision | None:
        """Return the call as the user typed it; another question shows it."""
        is_command = question.preview is not None and question.preview.kind == "command"
        is_plan = question.kind == "plan"
        what = "command" if is_command else "plan" if is_plan else "content of the file"
        self._speaker.say("Question", f"Type the whole {what} as it is to be. {_CONTINUES}")
        text = await self._lines.ask()
        decision = build_edit(question, text) if text.strip() else None
        if decision is None:
            self._speaker.say("Notice", "Nothing is changed.")
        return decision

    async def _change_rules(self, entry: Entry, question: Confirmation) -> Decision | None:
        """Return the rules that are stored, with examples of what they allow."""
        rules = build_rules_text(question)
        while True:
            lines, is_valid = describe_rules(question, rules)
            self._speaker.say("Question", "Store these rules?")
            for line in (*map(escape_line, rules.split("\n")), *lines):
                self._speaker.write(line)
            chosen = await self._pick(["back", "change them", *(("store",) if is_valid else ())])
            if chosen != 1:
                return build_decision(question, entry, rules) if chosen else None
            self._speaker.say("Question", f"Type the rules, one on each line. {_CONTINUES}")
            rules = (await self._lines.ask()).strip() or rules

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        """Return the value of the chosen row; None if the user leaves the list."""
        self._speaker.say("Question", title)
        rows = [", ".join(filter(None, (each.title, *each.cells, each.detail))) for each in choices]
        chosen = await self._pick(["no choice", *rows], first=0)
        return choices[chosen - 1].value if chosen else None

    async def enter(self, title: str, explanation: str) -> str:
        """Return a text; empty if the user cancels."""
        self._speaker.say("Question", f"{title}. {explanation} An empty line cancels.")
        return (await self._lines.ask()).strip()

    async def _pick(self, labels: Sequence[str], *, first: int = 1, is_safe: bool = True) -> int:
        """Return the index of the label whose number the user types."""
        for number, label in enumerate(labels, first):
            self._speaker.write(f"{number}. {label}")
        last = first + len(labels) - 1
        while True:
            self._speaker.write(f"Type a number from {first} to {last} and Enter:")
            answer = (await self._lines.ask(is_safe=is_safe)).strip()
            if answer.isascii() and answer.isdigit() and first <= int(answer[:9]) <= last:
                return int(answer) - first


def _describe(confirmation: Confirmation) -> list[str]:
    """Return the lines of an approval prompt, escaped as on the screen."""
    about = (*approval_cautions(confirmation), *confirmation.consequences.lines)
    shown = [escape_line(line) for line in about]
    shown += map(escape_line, approval_details(replace(confirmation, rules=()), by_key=False))
    preview = confirmation.preview
    if preview is None:
        shown += map(escape_line, argument_lines(confirmation))
    else:
        shown += map(approval_line, preview.body.split("\n"))
    rules = map(escape_line, explain_rules(confirmation.rules))
    return [*shown, *(f"Rule of a lasting answer: {each}" for each in rules)]
