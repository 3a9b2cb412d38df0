"""The order of the steps of tool calls, and their results (R-TOOL-01)."""

import asyncio
import re
import threading

import pytest
from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, MODEL, Bench, Checked, User, names, play
from yourtool.agent.turn.calls import tool_runner
from yourtool.effects import Decision, Scope, SideEffects, Verdict
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolConfirmationRequested, ToolConfirmationResolved, ToolFailed
from yourtool.messages.invariants import validate_session
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.permissions.shell.lines.syntax import MAX_LENGTH
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.agent_config import Limits
from yourtool.settings.config import Mode
from yourtool.tools.base import Args, ToolContext, tool


class Nothing(Args, frozen=True):
    """No arguments."""


class Number(Args, frozen=True):
    """One number."""

    n: int = 0


async def outcome(bench: Bench, line, **options):
    """Play one batch of calls; return the facts between the reply and the next request."""
    session = await bench.session(Checked(Scripted([line, says("done")])), **options)
    events = await play(session.send("go"))
    assert validate_session(session.state.messages) == []
    facts = names(events)
    start = facts.index("llm.call_completed") + 1
    between = facts[start : facts.index("llm.call_started", start)]
    await session.close()
    return between, [e for e in events if isinstance(e, ToolFailed)]


async def test_unknown_tool_is_not_found_and_the_error_lists_the_tools(bench):
    between, [failed] = await outcome(bench, calls("read_fiel", path="a"))
    assert between == ["tool.failed"]
    assert failed.error_class == "not_found"
    assert "`read_file`" in failed.error_message


@pytest.mark.parametrize("name", ["Bash", "SHELL", "run_terminal_cmd"])
async def test_wrong_name_of_a_tool_is_answered_with_the_right_one_and_not_run(bench, name):
    user = User(ALLOW)
    between, [failed] = await outcome(bench, calls(name, command="touch ran"), confirm=user)
    assert between == ["tool.failed"]
    assert (
        f"There is no tool `{name}`. Call `shell`, whose arguments are `command`"
        in failed.error_message
    )
    assert user.asked == []
    assert not (bench.workspace / "ran").exists()


async def test_value_beyond_a_bound_is_reported_in_the_result(bench):
    (bench.workspace / "a").write_text("one\ntwo\n")
    line = calls("read_file", path="a", offset="2", limit=99_999)
    session = await bench.session(Checked(Scripted([line, says("done")])))
    await play(session.send("go"))
    (result,) = (message for message in session.state.messages if message.role == "tool")
    text, note = result.content[0].content
    assert "two" in text.text and "one" not in text.text
    assert note.text == "`limit` can be at most 2000, so 2000 was used."
    await session.close()


@pytest.mark.parametrize(
    ("able", "why"),
    [
        ({"max_image_bytes": 2**20}, "more than 1 MiB, the limit of this model"),
        ({"supports_images": False}, "this model does not accept images"),
    ],
)
@pytest.mark.req("R-TOOL-10")
async def test_image_is_read_if_the_model_supports_it(bench, able, why):
    (bench.workspace / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 2**20)
    _, failed = await outcome(bench, calls("read_file", path="a.png"))
    assert failed == []
    model = replace(MODEL, capabilities=replace(MODEL.capabilities, **able))
    bench.catalogue = Catalogue([model], "2026-01-01")
    _, [failed] = await outcome(bench, calls("read_file", path="a.png"))
    assert why in failed.error_message


async def test_invalid_arguments_are_reported_and_nothing_runs(bench):
    between, [failed] = await outcome(bench, calls("read_file", path=3))
    assert between == ["tool.input_invalid", "tool.failed"]
    assert failed.error_class == "validation_error"
    assert "path" in failed.error_message


async def test_path_outside_the_workspace_is_rejected_before_any_approval(bench):
    user = User(ALLOW)
    line = calls("write_file", path="../out.txt", content="x")
    between, [failed] = await outcome(bench, line, confirm=user)
    assert between == ["tool.failed"]
    assert failed.error_class == "permission_denied"
    assert not user.asked
    assert not (bench.workspace.parent / "out.txt").exists()


async def test_approval_precedes_the_call_and_the_call_precedes_its_end(bench):
    between, failed = await outcome(bench, calls("write_file", path="a.txt", content="x"))
    assert between == [
        "tool.confirmation_requested",
        "tool.confirmation_resolved",
        "tool.called",
        "files.changed",
        "tool.completed",
    ]
    assert not failed


async def test_approval_request_and_answer_are_stored_with_their_subject(bench):
    """R-CONF-08."""
    write = calls("write_file", path="a.txt", content="x")
    line = write + calls("shell", command="touch b")
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION), DENY)
    session = await bench.session(Scripted([line, says("done")]), confirm=user)
    events = await play(session.send("go"))
    requested = [e for e in events if isinstance(e, ToolConfirmationRequested)]
    resolved = [e for e in events if isinstance(e, ToolConfirmationResolved)]
    uses = [use.id for use in session.state.messages[1].tool_uses]
    ids = [question.id for question in user.asked]
    assert [e.tool_use_id for e in requested] == [e.tool_use_id for e in resolved] == uses
    assert [e.confirmation_request_id for e in requested] == ids
    assert [e.confirmation_request_id for e in resolved] == ids
    assert [e.side_effects for e in requested] == [SideEffects.WRITE, SideEffects.EXECUTE]
    assert [e.projected_modifications for e in requested] == [("a.txt",), ()]
    assert [e.command_summary for e in requested] == [None, "touch b"]
    assert [(e.decision, e.scope) for e in resolved] == [("allow", "session"), ("deny", None)]
    await session.close()


@pytest.mark.parametrize(
    ("verdict", "error_class"),
    [(Verdict.DENY, "user_denied"), (Verdict.TIMEOUT, "confirmation_timeout")],
)
async def test_rejected_call_never_starts(bench, verdict, error_class):
    user = User(Decision(verdict=verdict))
    line = calls("shell", command="touch x")
    between, [failed] = await outcome(bench, line, confirm=user)
    assert between == ["tool.confirmation_requested", "tool.confirmation_resolved", "tool.failed"]
    assert failed.error_class == error_class
    assert not (bench.workspace / "x").exists()


async def test_unanswered_approval_times_out_if_not_interactive(bench):
    """R-CONF-06."""

    class Nobody:
        async def __call__(self, confirmation):
            assert confirmation.expires_at is not None
            await asyncio.sleep(3600)

    limits = Limits(confirmation_timeout_seconds=0)
    line = calls("shell", command="true")
    _, [failed] = await outcome(bench, line, confirm=Nobody(), limits=limits, interactive=False)
    assert failed.error_class == "confirmation_timeout"


async def test_deny_rule_overrides_an_allow_rule_without_approval(bench):
    """R-CONF-08."""
    rules = RuleSet(allow=(Rule.parse("shell"),), deny=(Rule.parse("shell(touch*)"),))
    user = User(ALLOW)
    line = calls("shell", command="touch x")
    between, [failed] = await outcome(bench, line, rules=rules, confirm=user)
    assert between == ["tool.failed"]
    assert failed.error_class == "user_denied"
    assert not user.asked
    assert not (bench.workspace / "x").exists()


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
@pytest.mark.req("R-TOOL-07")
async def test_command_that_writes_to_a_protected_place_asks_in_every_mode(bench, mode):
    line = calls("shell", command="echo x > .git/hooks/pre-commit")
    user, rules = User(DENY), RuleSet(allow=(Rule.parse("shell"),))
    _, [failed] = await outcome(bench, line, rules=rules, confirm=user, mode=mode)
    assert failed.error_class == "user_denied"
    assert user.asked[0].rules == ()
    assert user.asked[0].reason == (
        "it writes to `.git/hooks/pre-commit`, a protected place: git or another version control"
        " runs it, or has its settings there"
    )


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("shell(touch*)", calls("shell", command="ls; touch x")),
        ("list_dir", calls("list_dir", path=".")),
        ("write_file(src/**)", calls("write_file", path="src/a", content="x")),
    ],
)
@pytest.mark.req("R-CONF-04")
async def test_ask_rule_asks_in_every_mode_and_offers_no_rule(bench, mode, rule, line):
    rules = RuleSet(allow=(Rule.parse("shell"), Rule.parse("list_dir")), ask=(Rule.parse(rule),))
    user = User(DENY)
    _, [failed] = await outcome(bench, line, rules=rules, confirm=user, mode=mode)
    assert failed.error_class == "user_denied"
    assert user.asked[0].rules == ()
    assert user.asked[0].reason == f"the rule `{rule}` of yours asks about it in every mode"


@pytest.mark.remaining
async def test_many_deny_rules_on_a_long_command_do_not_block_the_event_loop(bench):
    rules = RuleSet(deny=tuple(Rule.parse(f"shell(rm a{number}*)") for number in range(100)))
    line = calls("shell", command="rm b;" * (MAX_LENGTH // 5))
    await outcome(bench, line, rules=rules, confirm=User(DENY))  # the watchdog looks


async def test_stop_at_the_approval_of_a_limit_gives_open_calls_a_result(bench):
    async def stop(_confirmation):
        session.cancel()
        await asyncio.sleep(3600)

    script = Scripted([calls("list_dir", path="."), says("never")])
    limits = Limits(max_requests_per_turn=1)
    session = await bench.session(script, confirm=stop, limits=limits)
    facts = names(await play(session.send("go")))
    assert facts[-2:] == ["tool.failed", "turn.cancelled"]
    assert facts.count("llm.call_started") == 1
    assert session.state.open_calls == {}
    assert validate_session(session.state.messages) == []
    await session.close()


@pytest.mark.parametrize("is_leaving", [True, False])
async def test_turn_is_stopped_by_the_user_unless_the_program_ends(bench, is_leaving):
    async def stop(_confirmation):
        session.cancel(is_leaving=is_leaving)
        await asyncio.sleep(3600)

    script = Scripted([calls("shell", command="make"), says("never")])
    session = await bench.session(script, confirm=stop)
    *_, stopped = await play(session.send("go"))
    assert stopped.reason == ("client_disconnect" if is_leaving else "user_cancel")
    await session.close()


async def test_list_of_invalid_arguments_is_truncated(bench):
    line = calls("update_plan", steps=[{"what": "a"}] * 5_000)
    _, [failed] = await outcome(bench, line)
    assert failed.error_class == "validation_error"
    assert len(failed.error_message) < 10_000
    assert re.search(r"- and [\d,]+ more\n", failed.error_message)


async def test_allow_rule_replaces_approval(bench):
    rules = RuleSet(allow=(Rule.parse("shell(echo*)"),))
    user = User(ALLOW)
    between, failed = await outcome(
        bench, calls("shell", command="echo hi"), rules=rules, confirm=user
    )
    assert between == ["tool.called", "tool.completed"]
    assert not user.asked and not failed


async def test_session_grant_covers_exactly_what_was_shown(bench):
    """R-CONF-03, R-CONF-04."""
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION))
    line = calls("shell", command="touch a")
    script = [line, calls("shell", command="touch b"), calls("shell", command="tally c")]
    script.append(says("done"))
    session = await bench.session(Checked(Scripted(script)), confirm=user)
    await play(session.send("go"))
    assert [question.preview.body for question in user.asked] == ["touch a", "tally c"]
    shown, rules = user.asked[0].rules, session.gate.policy.rules.allow
    assert list(map(str, rules)) == [*shown, "shell(tally c)"]
    assert shown[0] == "shell(touch *)" and user.asked[0].exact_rules == ("shell(touch a)",)
    await session.close()


@pytest.mark.req("R-CONF-03")
async def test_rule_that_the_user_changed_is_granted_and_not_the_one_that_was_offered(bench):
    answer = Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION, rules=("shell(mkdir*)",))
    user = User(answer, DENY)
    line = calls("shell", command="mkdir -p a"), calls("shell", command="mkdir b")
    session = await bench.session(
        Checked(Scripted([*line, calls("shell", command="touch c"), says("done")])), confirm=user
    )
    await play(session.send("go"))
    assert [question.preview.body for question in user.asked] == ["mkdir -p a", "touch c"]
    assert list(map(str, session.gate.policy.rules.allow)) == ["shell(mkdir*)"]
    await session.close()


@pytest.mark.parametrize(
    ("mode", "call", "requested", "done"),
    [
        (Mode.ASK, calls("write_file", path="a", content="x"), 1, True),
        (Mode.ACCEPT_EDITS, calls("write_file", path="a", content="x"), 0, True),
        (Mode.ACCEPT_EDITS, calls("shell", command="touch a"), 1, True),
        (Mode.PLAN, calls("shell", command="touch a"), 0, False),
        (Mode.AUTO, calls("shell", command="touch a"), 0, True),
    ],
)
async def test_approval_mode_decides_which_calls_need_approval(bench, mode, call, requested, done):
    user = User(ALLOW)
    await outcome(bench, call, mode=mode, confirm=user)
    assert len(user.asked) == requested
    assert (bench.workspace / "a").exists() is done


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.AUTO])
async def test_protected_path_needs_approval_in_every_mode(bench, mode):
    """R-TOOL-07."""
    user = User(Decision(verdict=Verdict.DENY))
    line = calls("write_file", path=".git/hooks/pre-commit", content="x")
    rules = RuleSet(allow=(Rule.parse("write_file"),))
    await outcome(bench, line, mode=mode, rules=rules, confirm=user)
    assert len(user.asked) == 1
    assert user.asked[0].rules == ()
    assert not (bench.workspace / ".git").exists()


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (calls("write_file", path="scripts/hooks/pre-push", content="x"), "`core.hookspath`"),
        (
            calls("edit_file", path="scripts/check.py", edits=[{"old": "a", "new": "b"}]),
            "`.pre-commit-config.yaml`",
        ),
        (
            calls("write_file", path="package.json", content='{"husky": {"pre-commit": "x"}}'),
            "commands of a hook manager",
        ),
        (
            calls(
                "apply_patch",
                patch="*** Begin Patch\n*** Add File: objects/a\n+x\n*** Add File: refs/a\n+x\n"
                "*** Add File: HEAD\n+x\n*** End Patch\n",
            ),
            "bare repository",
        ),
    ],
)
@pytest.mark.req("R-TOOL-07")
async def test_write_of_what_git_runs_asks_and_names_the_cause(bench, mode, line, cause):
    (bench.workspace / ".git").mkdir()
    (bench.workspace / ".git/config").write_text("[core]\n\thooksPath = scripts/hooks\n")
    (bench.workspace / "scripts").mkdir()
    (bench.workspace / "scripts/check.py").write_text("a\n")
    manager = "repos:\n- repo: local\n  hooks:\n  - entry: python scripts/check.py\n"
    (bench.workspace / ".pre-commit-config.yaml").write_text(manager)
    user, rules = User(DENY), RuleSet(allow=(Rule.parse("write_file"), Rule.parse("edit_file")))
    await outcome(bench, line, mode=mode, rules=rules, confirm=user)
    [asked] = user.asked
    assert asked.preview.protected
    assert cause in asked.preview.protection


async def test_ordinary_files_are_written_at_once_beside_directories_of_that_name(bench):
    for path in ("config/routes.rb", "hooks/useThing", "refs/a.py", "package.json"):
        user = User(DENY)
        line = calls("write_file", path=path, content="{}")
        await outcome(bench, line, mode=Mode.ACCEPT_EDITS, confirm=user)
        assert not user.asked
        assert (bench.workspace / path).exists()


@pytest.mark.parametrize("command", ["program=touch; $program a", f"touch a {'b' * MAX_LENGTH}"])
@pytest.mark.req("R-CONF-04")
async def test_command_that_cannot_be_checked_against_a_deny_rule_needs_approval(bench, command):
    user = User(Decision(verdict=Verdict.DENY))
    rules = RuleSet((Rule.parse("shell"),), deny=(Rule.parse("shell(rm*)"),))
    line = calls("shell", command=command)
    await outcome(bench, line, mode=Mode.AUTO, rules=rules, confirm=user)
    assert [asked.rules for asked in user.asked] == [()]
    assert "cannot be checked against the deny rules for `shell`" in user.asked[0].reason
    assert not (bench.workspace / "a").exists()


async def test_at_most_four_calls_run_concurrently(bench):
    """R-TOOL-13."""
    running, most = 0, 0
    four = asyncio.Event()

    @tool(SideEffects.NONE)
    async def hold(args: Number, context: ToolContext) -> str:
        """Stay until four are here."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 4:
            four.set()
        await four.wait()
        await asyncio.sleep(0.02)
        running -= 1
        return "ok"

    line = calls("hold", n=1)
    for n in range(2, 7):
        line += calls("hold", n=n)
    await outcome(bench, line, tools=[hold])
    assert most == 4


async def test_calls_of_a_model_without_parallel_calls_run_sequentially(bench):
    running, most = 0, 0

    @tool(SideEffects.NONE)
    async def hold(args: Number, context: ToolContext) -> str:
        """Count who is here."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return f"{args.n} ok"

    can = replace(MODEL.capabilities, supports_parallel_tool_calls=False)
    bench.catalogue.add_discovered(MODEL.provider, [replace(MODEL, capabilities=can)])
    script = Scripted([calls("hold", n=1) + calls("hold", n=2) + calls("hold", n=3), says("Done.")])
    session = await bench.session(Checked(script), tools=[hold])
    await play(session.send("go"))
    assert most == 1
    assert len(session.state.messages[1].tool_uses) == 3
    assert [len(m.tool_uses) for m in script.requests[1].messages if m.tool_uses] == [1, 1, 1]
    await session.close()


async def test_tool_that_does_not_stop_is_abandoned_and_queued_ones_never_start(bench, monkeypatch):
    """R-TOOL-14."""
    monkeypatch.setattr(tool_runner, "CANCEL_GRACE_SECONDS", 0.02)
    started, release = list[int](), asyncio.Event()

    @tool(SideEffects.NONE)
    async def stubborn(args: Number, context: ToolContext) -> str:
        """Ignore the first cancellation."""
        started.append(args.n)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await release.wait()
            raise
        return "never"

    line = calls("stubborn", n=1) + calls("stubborn", n=2)
    session = await bench.session(
        Checked(Scripted([line, says("x")])), tools=[stubborn], limits=Limits(tool_concurrency=1)
    )
    sending = asyncio.create_task(play(session.send("go")))
    while not started:
        await asyncio.sleep(0.001)
    session.cancel()
    events = await sending
    assert names(events)[-3:] == ["tool.failed", "tool.failed", "turn.cancelled"]
    assert started == [1]
    release.set()
    await asyncio.sleep(0)
    await session.close()


async def test_call_that_ended_before_the_stop_has_its_real_result(bench):
    """R-LOOP-03: only what still runs is cancelled."""
    both = asyncio.Event()

    @tool(SideEffects.NONE)
    async def quick(args: Nothing, context: ToolContext) -> str:
        """End in the moment of the stop."""
        await both.wait()
        return "it is done"

    @tool(SideEffects.NONE)
    async def endless(args: Nothing, context: ToolContext) -> str:
        """Never end."""
        both.set()
        await asyncio.sleep(0)
        session.cancel()
        await asyncio.sleep(3600)
        return "never"

    script = Scripted([calls("quick") + calls("endless"), says("x")])
    session = await bench.session(script, tools=[quick, endless])
    events = await play(session.send("go"))
    assert names(events)[-3:] == ["tool.completed", "tool.failed", "turn.cancelled"]
    assert validate_session(session.state.messages) == []
    await session.close()


async def test_bug_in_a_tool_is_an_error_result_without_its_traceback(bench, caplog):
    @tool(SideEffects.NONE)
    async def broken(args: Nothing, context: ToolContext) -> str:
        """Fail inside."""
        raise RuntimeError("secret detail")

    _, [failed] = await outcome(bench, calls("broken"), tools=[broken])
    assert failed.error_class == "execution_error"
    assert "secret detail" not in failed.error_message
    assert "secret detail" in caplog.text


@pytest.mark.parametrize("where", ["preview", "command"])
async def test_bug_in_a_tool_before_it_runs_is_an_error_result(bench, where, caplog):
    def fail(*_):
        raise KeyError("x")

    async def preview(*_):
        fail()

    @tool(SideEffects.EXECUTE, **{where: preview if where == "preview" else fail})
    async def broken(args: Nothing, context: ToolContext):
        """Has a bug."""

    between, [failed] = await outcome(bench, calls("broken"), tools=[broken])
    assert between == ["tool.failed"]
    assert failed.error_class == "execution_error"
    assert "the log" in failed.error_message
    assert any(record.exc_info for record in caplog.records)


async def test_event_loop_responds_while_a_tool_blocks_in_its_thread(bench):
    """R-TOOL-12."""
    entered, leave = threading.Event(), threading.Event()

    @tool(SideEffects.READ)
    async def slow_disk(args: Nothing, context: ToolContext) -> str:
        """Block like a dead network drive."""
        entered.set()
        await asyncio.to_thread(leave.wait, 5)
        return "read"

    session = await bench.session(
        Checked(Scripted([calls("slow_disk"), says("x")])), tools=[slow_disk]
    )
    sending = asyncio.create_task(play(session.send("go")))
    while not entered.is_set():
        await asyncio.sleep(0.001)
    await asyncio.wait_for(asyncio.sleep(0), 0.05)
    assert not sending.done()
    leave.set()
    await sending
    await session.close()


async def test_grant_that_cannot_be_stored_applies_to_the_session_with_a_notice(bench):
    file = bench.root / "permissions.toml"
    file.write_text("not = [toml")
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS))
    line = calls("shell", command="touch a")
    session = await bench.session(Checked(Scripted([line, line, says("x")])), confirm=user)
    session._env.gate.grants = Grants(file, bench.workspace, {})
    events = await play(session.send("go"))
    assert any(isinstance(e, Notice) and "this session only" in e.text for e in events)
    assert len(user.asked) == 1
    assert file.read_text() == "not = [toml"
    await session.close()


@pytest.mark.remaining
async def test_stored_grant_in_a_large_file_leaves_the_event_loop_free(bench):
    file = bench.root / "permissions.toml"
    file.write_text("schema_version = 1\n" + "# a comment\n" * 80_000)
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS))
    line = calls("shell", command="touch a")
    session = await bench.session(Checked(Scripted([line, says("x")])), confirm=user)
    session._env.gate.grants = Grants(file, bench.workspace, {"shell": "command"})
    await play(session.send("go"))
    assert "[[workspace]]" in file.read_text()
    await session.close()


async def test_two_edits_of_one_file_in_one_reply_are_previewed_and_run_sequentially(bench):
    """What is approved is what happens: the second preview already has the first change in it."""
    (bench.workspace / "a.txt").write_text("one\ntwo\n")
    first = calls("edit_file", path="a.txt", edits=[{"old": "one", "new": "1"}])
    second = calls("edit_file", path="a.txt", edits=[{"old": "two", "new": "2"}])
    script = [calls("read_file", path="a.txt"), first + second, says("done")]
    user = User(ALLOW)
    session = await bench.session(Checked(Scripted(script)), confirm=user)
    await play(session.send("go"))
    assert (bench.workspace / "a.txt").read_text() == "1\n2\n"
    assert " 1" in user.asked[1].preview.body
    await session.close()
