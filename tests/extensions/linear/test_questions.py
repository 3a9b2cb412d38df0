"""Questions as numbered lines."""

import asyncio

import pytest
from msgspec.structs import replace

from yourtool.agent.commands.base import Choice
from yourtool.effects import (
    Confirmation,
    Consequences,
    Editable,
    NetworkAnswer,
    NetworkOffer,
    PlanAnswer,
    Preview,
    RuleDescription,
    SandboxOffer,
    Scope,
    SideEffects,
    Verdict,
)
from yourtool.extensions.linear.questions import Questions
from yourtool.extensions.linear.speaker import Speaker


class TypedLines:
    """Answers in order, and whether each question accepts what was typed before."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.safe: list[bool] = []

    async def ask(self, *, is_safe: bool = True) -> str:
        await asyncio.sleep(0)
        self.safe.append(is_safe)
        return self.answers.pop(0)


def ask(*answers):
    written: list[str] = []
    lines = TypedLines(*answers)
    return Questions(Speaker(written.append), lines), lines, written


def command(body="git push", rules=("shell(git push)",)):
    preview = Preview(kind="command", body=body)
    return Confirmation(
        id="c",
        kind="tool",
        title="shell",
        side_effects=SideEffects.EXECUTE,
        preview=preview,
        rules=rules,
    )


async def test_network_is_offered_as_numbered_answers():
    questions, _, written = ask("4")
    offer = NetworkOffer(hosts=("a.example",), outside=("npm view *",))
    answer = await questions.confirm(replace(command(rules=()), network=offer))
    assert answer.network is NetworkAnswer.HOSTS
    shown = "".join(written)
    assert "2. Run every `npm view` outside the sandbox from now on, with all" in shown
    assert "4. Let all commands in this folder, not only this one, reach a.example" in shown


async def test_questions_of_workers_are_asked_one_after_the_other_with_their_names():
    questions, _, written = ask("1", "1")
    asked = (replace(command(), asked_by=f"worker {n}") for n in (1, 2))
    answers = await asyncio.gather(*map(questions.confirm, asked))
    assert [each.verdict for each in answers] == [Verdict.ALLOW, Verdict.ALLOW]
    shown = "".join(written)
    first, second = shown.index("worker 1: Run"), shown.index("worker 2: Run")
    assert first < shown.index("1. Allow once") < second


@pytest.mark.req("R-TUI-23")
async def test_only_the_number_of_an_answer_allows_a_call():
    questions, lines, written = ask("", "y", "yes", "11", "1 ", "0")
    decision = await questions.confirm(command())
    assert decision.verdict is Verdict.ALLOW
    assert lines.answers == ["0"]
    assert not any(lines.safe)
    shown = "".join(written)
    assert shown.startswith("Question: Run this command?\n")
    assert shown.index("git push") < shown.index("1. Allow once") < shown.index("Deny")
    assert "Rule of a lasting answer: `git push`" in shown


async def test_text_of_a_call_cannot_imitate_lines_or_drive_the_terminal():
    questions, _, written = ask("1")
    await questions.confirm(command("ls\x1b[2J\r\u202e1. Allow once", rules=()))
    shown = "".join(written)
    assert not {"\x1b", "\r", "\u202e"} & set(shown)


@pytest.mark.req("T29")
async def test_what_a_command_would_delete_is_read_before_the_command():
    questions, _, written = ask("1")
    found = Consequences(("`rm` deletes .git/",), ("`rm` deletes 2 files: a\x1b, b",))
    await questions.confirm(replace(command("rm -r *"), consequences=found))
    shown = "".join(written)
    assert "warning: `rm` deletes .git/\n`rm` deletes 2 files: a\\u{1b}, b\n" in shown
    assert shown.index("warning") < shown.index("rm -r *") < shown.index("1. Allow once")


async def test_note_of_a_denial_reaches_the_model():
    questions, _, written = ask("6", "use make", "x")
    decision = await questions.confirm(command())
    assert (decision.verdict, decision.note) == (Verdict.DENY, "use make")
    assert "6. deny with" in "".join(written)


async def test_call_that_is_too_long_to_be_read_can_only_be_denied():
    questions, _, written = ask("1")
    decision = await questions.confirm(command("\n".join("x" * 5_000)))
    assert decision.verdict is Verdict.DENY
    assert "allow" not in "".join(written).rpartition("too long")[2]


async def test_list_can_be_left_and_its_rows_have_numbers():
    rows = (Choice("a", "First", "one"), Choice("b", "Second"))
    questions, _, written = ask("2")
    assert await questions.choose("Model", rows) == "b"
    assert "1. First, one\n2. Second\n" in "".join(written)
    questions, *_ = ask("0")
    assert await questions.choose("Model", rows) is None


def editable_command(body="git push", rules=("shell(git push)",)):
    editable = Editable(text=body, build_input=lambda text: {"command": text})
    found = command(body, rules)
    return replace(found, preview=replace(found.preview, editable=editable))


@pytest.mark.req("R-TUI-23")
async def test_all_in_the_sandbox_is_offered_in_words_with_a_number():
    offer = SandboxOffer(folder="/home/me/work", accept=lambda: None)
    asked = replace(command(), sandbox=offer)
    _, _, written = shown = ask("1")
    await shown[0].confirm(asked)
    label = "Allow every command that stays in the sandbox, in /home/me/work: no network,"
    questions, *_ = ask(number_of(written, f"{label} no changes elsewhere"))
    decision = await questions.confirm(asked)
    assert (decision.verdict, decision.allows_contained) == (Verdict.ALLOW, True)


def number_of(written, label):
    return next(row for row in "".join(written).splitlines() if row.endswith(f". {label}"))[0]


@pytest.mark.req("R-CONF-03", "R-TUI-23")
async def test_command_is_typed_again_before_it_runs():
    _, _, written = shown = ask("1")
    await shown[0].confirm(editable_command())
    edit = number_of(written, "edit first")
    questions, _, written = ask(edit, "", edit, "git push", edit, "git push -n")
    decision = await questions.confirm(editable_command())
    assert (decision.verdict, decision.edited_input) == (Verdict.EDIT, {"command": "git push -n"})
    assert "".join(written).count("Nothing is changed.") == 2


@pytest.mark.req("R-CONF-03", "R-TUI-23")
async def test_rules_are_shown_with_examples_and_changed_before_they_are_stored():
    def describe(rule):
        if rule == "shell(git push)":
            return RuleDescription(covered=("git push",), others=("git push\u202e -f",))
        return RuleDescription(problem="" if rule == "shell(git log*)" else "no rule")

    question = replace(command(), describe_rule=describe)
    _, _, written = shown = ask("1")
    await shown[0].confirm(question)
    always = number_of(written, "change what is allowed")
    questions, _, written = ask(always, "1", always, "2", "x", "3", "2", "shell(git log*)", "3")
    decision = await questions.confirm(question)
    assert (decision.scope, decision.rules) == (Scope.ALWAYS, ("shell(git log*)",))
    text = "".join(written)
    assert "allows git push\n" in text and "does not allow git push\\u{202e} -f" in text
    assert "no rule\n" in text


@pytest.mark.req("R-CONF-04", "R-TUI-23")
async def test_wider_rule_is_written_with_a_sign_and_not_stored_with_it():
    def describe(rule):
        return RuleDescription(covered=(f"({rule})",))

    question = replace(command(), describe_rule=describe, wider_rules=("shell(git*)",))
    _, _, written = shown = ask("1")
    await shown[0].confirm(question)
    always = number_of(written, "change what is allowed")
    questions, _, written = ask(always, "3")
    decision = await questions.confirm(question)
    assert decision.rules == question.rules
    assert "# shell(git*)\nallows" in (text := "".join(written))
    assert "without #, shell(git*) allows (shell(git*))" in text
    assert "p can also allow" not in text


@pytest.mark.req("R-LOOP-13")
async def test_plan_is_answered_by_the_number_of_its_answer():
    preview = Preview(kind="text", body="1. Edit \x1b[31ma.py")
    question = Confirmation(id="c", kind="plan", title="propose_plan", preview=preview)
    questions, lines, pieces = ask("2")
    decision = await questions.confirm(question)
    written = "".join(pieces)
    assert lines.safe == [False]
    assert decision.plan is PlanAnswer.ACCEPT_EDITS
    assert "Carry out this plan?" in written
    assert "\x1b" not in written
