"""What the answers of the user do to calls."""

import pytest

from tests.agent.harness import ALLOW, DENY, Bench, Checked, User, play
from tests.trusted_folders import trust
from yourtool.effects import Confirmation, Decision, Verdict
from yourtool.events.tools import (
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolFailed,
)
from yourtool.messages.blocks import canonical_json
from yourtool.messages.invariants import validate_session
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says


def edited(text: str):
    """Answer that the user changed the call."""

    def answer(confirmation: Confirmation) -> Decision:
        build_input = confirmation.preview.editable.build_input
        return Decision(verdict=Verdict.EDIT, edited_input=build_input(text))

    return answer


async def run(bench: Bench, line, *answers, **options):
    """Play a reply with calls; return the session, the user and the events."""
    user = User(*answers)
    script = Checked(Scripted([line, says("done")]))
    session = await bench.session(script, confirm=user, **options)
    events = await play(session.send("go"))
    assert validate_session(session.state.messages) == []
    return session, user, events


def results(session):
    return [
        "".join(block.content[-1].text for block in message.content)
        for message in session.state.messages
        if message.role == "tool"
    ]


@pytest.mark.req("T4")
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_only_a_command_that_runs_unasked_gets_few_variables(
    bench, tmp_path, monkeypatch, is_trusted
):
    (tmp_path / "start.sh").write_text(f"touch {tmp_path}/loaded\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start.sh"))
    trust(bench.workspace, trusted=is_trusted)
    session, user, _ = await run(bench, calls("shell", command="ls"), ALLOW)
    assert len(user.asked) == (tmp_path / "loaded").exists() == (not is_trusted)
    await session.close()


@pytest.mark.req("R-CONF-02", "R-LOOP-12", "T21")
async def test_changed_command_is_shown_again_and_runs_while_the_stored_call_stays(bench):
    line = calls("shell", command="touch from-model", timeout_seconds=7)
    session, user, events = await run(bench, line, edited("touch from-user"), ALLOW)
    shown = [question.preview.body for question in user.asked]
    assert shown == ["touch from-model", "touch from-user"]
    assert [question.is_edited for question in user.asked] == [False, True]
    edited_input = user.asked[1].input
    assert edited_input.items() >= {"command": "touch from-user", "timeout_seconds": 7}.items()
    assert (bench.workspace / "from-user").exists()
    assert not (bench.workspace / "from-model").exists()
    (use,) = session.state.messages[1].tool_uses
    assert use.input["command"] == "touch from-model"
    assert "The user changed this call before it ran" in results(session)[0]
    assert "touch from-user" in results(session)[0]
    decisions = [e.decision for e in events if isinstance(e, ToolConfirmationResolved)]
    assert decisions == ["edit", "allow"]
    (called,) = [e for e in events if isinstance(e, ToolCalled)]
    assert called.input_size_bytes == len(canonical_json(edited_input))
    await session.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shell(make test)", ("make test", "make test 2>&1", "CI=1 make test")),
        ("shell(a; b)", "`shell(a; b)` can never match"),
        ("(", "`(` is not a valid rule"),
        ("glob", "`glob` is not a rule for `shell`"),
    ],
)
@pytest.mark.req("R-CONF-03")
async def test_rule_that_the_user_changes_is_described_before_it_is_stored(bench, text, shown):
    session, user, _ = await run(bench, calls("shell", command="touch a"), DENY)
    found = user.asked[0].describe_rule(text)
    if isinstance(shown, str):
        assert found.problem.startswith(shown)
    else:
        assert (found.covered, found.problem) == (shown, "")
        assert "make other" in found.others
    await session.close()


async def test_changed_command_can_still_be_denied_and_nothing_runs(bench):
    line = calls("shell", command="touch a")
    session, _, events = await run(bench, line, edited("touch b"), DENY)
    assert not (bench.workspace / "b").exists()
    assert [e for e in events if isinstance(e, ToolFailed)]
    await session.close()


@pytest.mark.req("R-CONF-08")
async def test_deny_rules_apply_to_a_changed_command(bench):
    rules = RuleSet(deny=(Rule("shell", "rm*"),))
    line = calls("shell", command="touch a")
    session, user, events = await run(bench, line, edited("rm -r a"), rules=rules)
    assert len(user.asked) == 1
    assert [e for e in events if isinstance(e, ToolFailed)]
    await session.close()


async def test_changed_command_is_shown_even_if_a_rule_allows_it(bench):
    rules = RuleSet(allow=(Rule("shell", "touch*"),))
    line = calls("shell", command="mkdir a")
    session, user, _ = await run(bench, line, edited("touch a"), ALLOW, rules=rules)
    assert [question.preview.body for question in user.asked] == ["mkdir a", "touch a"]
    await session.close()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.req("R-CONF-02", "T21")
async def test_content_that_the_user_changed_is_written_exactly(bench, newline):
    file = bench.workspace / "a.py"
    file.write_bytes(f"one{newline}two{newline}three{newline}".encode())
    line = calls("edit_file", path="a.py", edits=[{"old": "two", "new": "2"}])
    session, user, _ = await run(bench, line, edited("one\n22\nthree\n"), ALLOW)
    assert user.asked[0].preview.editable.text == "one\n2\nthree\n"
    assert "+22" in user.asked[1].preview.body
    assert file.read_bytes() == f"one{newline}22{newline}three{newline}".encode()
    assert "+22" in results(session)[0]
    await session.close()


async def test_new_file_that_the_user_changed_is_written(bench):
    line = calls("write_file", path="a.py", content="x = 1\n")
    session, _, _ = await run(bench, line, edited("x = 2\n"), ALLOW)
    assert (bench.workspace / "a.py").read_text() == "x = 2\n"
    await session.close()


async def test_file_with_mixed_line_ends_is_not_opened_in_an_editor(bench):
    (bench.workspace / "a").write_bytes(b"one\r\ntwo\n")
    line = calls("edit_file", path="a", edits=[{"old": "two", "new": "2"}])
    session, user, _ = await run(bench, line, ALLOW)
    assert user.asked[0].preview.editable is None
    assert (bench.workspace / "a").read_bytes() == b"one\r\n2\n"
    await session.close()


@pytest.mark.req("R-LOOP-12")
async def test_note_of_an_allowed_call_reaches_the_model_with_the_result(bench):
    line = calls("shell", command="echo fine")
    answer = Decision(verdict=Verdict.ALLOW, note="only this once")
    session, _, events = await run(bench, line, answer)
    assert [e for e in events if isinstance(e, ToolCompleted)]
    assert "Note from the user: only this once" in results(session)[0]
    await session.close()


@pytest.mark.req("R-CONF-07", "R-CONF-08")
async def test_later_calls_of_a_reply_can_be_denied_together(bench):
    line = calls("shell", command="touch file-0")
    for n in range(1, 4):
        line += calls("shell", command=f"touch file-{n}")
    line += calls("list_dir", path=".")
    rest = Decision(verdict=Verdict.DENY, denies_rest=True)
    session, user, events = await run(bench, line, ALLOW, rest)
    assert [question.following for question in user.asked] == [4, 3]
    requested = [e for e in events if isinstance(e, ToolConfirmationRequested)]
    resolved = [e for e in events if isinstance(e, ToolConfirmationResolved)]
    ids = [e.confirmation_request_id for e in requested]
    assert [e.confirmation_request_id for e in resolved] == ids
    assert [e.decision for e in resolved] == ["allow", "deny", "deny", "deny"]
    assert len([e for e in events if isinstance(e, ToolCompleted)]) == 2, "reading needs no answer"
    await session.close()


async def test_calls_of_the_next_reply_are_asked_about_again(bench):
    first = calls("shell", command="touch a")
    first += calls("shell", command="touch b")
    script = Checked(Scripted([first, calls("shell", command="touch c"), says("done")]))
    user = User(Decision(verdict=Verdict.DENY, denies_rest=True), ALLOW)
    session = await bench.session(script, confirm=user)
    await play(session.send("go"))
    assert [question.preview.body for question in user.asked] == ["touch a", "touch c"]
    assert (bench.workspace / "c").exists()
    await session.close()


@pytest.mark.req("T29", "R-CONF-02")
async def test_question_about_a_destructive_command_shows_what_it_would_delete(bench):
    for name in ("a.log", "b.log", "keep.txt"):
        (bench.workspace / name).write_text("text\n")
    session, user, _ = await run(bench, calls("shell", command="rm *.log"), DENY)
    (question,) = user.asked
    assert question.consequences.lines[0] == "`rm` deletes 2 files, 10 bytes: a.log, b.log"
    assert question.consequences.cautions == ()
    await session.close()


async def test_request_that_nobody_answers_is_no_denial_of_the_user(bench):
    cancelled = Decision(verdict=Verdict.CANCELLED)
    session, _, events = await run(bench, calls("shell", command="touch x"), cancelled)
    (failed,) = [each for each in events if isinstance(each, ToolFailed)]
    assert failed.error_message == (
        "The approval request for `shell` got no answer, so it did not run."
    )
    assert not (bench.workspace / "x").exists()
    await session.close()


async def test_targets_are_looked_up_for_a_person_only(bench):
    (bench.workspace / "a.log").write_text("text\n")
    line = calls("shell", command="rm *.log")
    session, user, _ = await run(bench, line, DENY, interactive=False)
    (question,) = user.asked
    assert question.consequences.lines == ()
    assert question.expires_at is not None
    await session.close()


@pytest.mark.req("T29")
async def test_changed_command_is_looked_up_again(bench):
    (bench.workspace / "a.log").write_text("text\n")
    line = calls("shell", command="rm *.log")
    session, user, _ = await run(bench, line, edited("rm -rf ."), DENY)
    first, second = user.asked
    assert first.consequences.lines[0].endswith(": a.log")
    assert second.consequences.cautions == ("`rm` deletes the workspace itself: ./",)
    await session.close()
