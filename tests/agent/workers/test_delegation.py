"""Delegated tasks: workers with separate sessions, models and limits."""

import asyncio
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tests.agent.harness import ALLOW, DENY, User, play
from tests.tools.many_tools import COUNT, many
from tests.tools.sandbox.levels import count_processes
from yourtool.agent.runtime import Runtime
from yourtool.effects import Decision, PlanAnswer, Scope, Verdict
from yourtool.errors import ServerError
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.deltas import Notice, TokenUsage, ToolOutputDelta
from yourtool.events.files import FilesChanged
from yourtool.events.model_calls import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.events.turns import RouteDecided, TurnCancelled, TurnCompleted
from yourtool.messages.blocks import ToolResultBlock
from yourtool.paths import resolve_paths
from yourtool.providers.registry import Registry
from yourtool.providers.scripted import Pause, Scripted, ScriptLine, calls, counts, fails, says
from yourtool.settings.agent_config import DelegationConfig
from yourtool.settings.config import Mode, RunOptions, config_file
from yourtool.store.forks import import_session
from yourtool.store.journal import ChangeFilter
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.toolset import JoinedToolset

USAGE = TokenUsage(input_tokens=1_000, output_tokens=100)
MARK = "You are a worker"
PARENT_COST = Decimal("0.0045")
"""Of one request with this usage."""


def text_of(message):
    return " ".join(
        each.text
        for block in message.content
        for each in (block.content if isinstance(block, ToolResultBlock) else (block,))
        if hasattr(each, "text")
    )


class Script:
    """Answers the requests of the session, and those of each worker by a word of its task."""

    def __init__(self, *parent, **workers):
        self.parent, self.workers = list(parent), {name: list(x) for name, x in workers.items()}
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        prompts = [text_of(each) for each in request.messages if each.role == "user"]
        task = next((each for each in prompts if MARK in each), None)
        lines = self.parent if task is None else self._lines(task)
        return lines.pop(0) + counts(USAGE)

    def _lines(self, task):
        return next(lines for name, lines in self.workers.items() if f"<{name}>" in task)


def delegates(*names, **arguments):
    """A reply with a call of `delegate` for each name."""
    return sum((calls("delegate", task=f"Do <{n}>.", **arguments) for n in names), ScriptLine())


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    return tmp_path / "work"


@pytest.fixture
async def start(work, monkeypatch):
    """Return a function that opens a runtime and a session over a script."""
    opened = list[Runtime]()
    monkeypatch.setattr(Registry, "configuration_problem", lambda *_: None)
    monkeypatch.setattr(Registry, "prepare", lambda *_: None)

    async def build(script, *, confirm=None, settings="", **options):
        adapter = Scripted(script)
        monkeypatch.setattr(Registry, "adapter", lambda *_: adapter)
        paths = resolve_paths()
        config_file(paths).parent.mkdir(parents=True, exist_ok=True)
        config_file(paths).write_text('model = "anthropic:claude-sonnet-4-6"\n' + settings)
        runtime = await Runtime.open(paths, RunOptions(workspace=work, **options))
        opened.append(runtime)
        return runtime, await runtime.new_session(confirm or User(ALLOW))

    yield build
    for runtime in opened:
        await runtime.close()


def tag_of(fact):
    return fact.__struct_config__.tag


def only(events, kind):
    [found] = [each for each in events if isinstance(each, kind)]
    return found


@pytest.mark.req("R-DLG-01")
async def test_worker_runs_a_task_and_its_report_is_the_result(start):
    script = Script(
        delegates("look", notes=("It is urgent.",), files=({"path": "a.txt", "lines": "1-5"},)),
        says("Thanks."),
        look=[calls("read_file", path="a.txt"), says("The file says one.")],
    )
    _, session = await start(script)
    events = await play(session.send("Go."))
    result = only(events, ToolCompleted).message
    assert text_of(result) == "The file says one."
    brief = text_of(script.requests[1].messages[-1])
    assert "a.txt, lines 1-5" in brief
    assert "It is urgent." in brief
    assert "Go." not in brief
    started, ended = only(events, DelegateStarted), only(events, DelegateCompleted)
    assert started.context_reference_count == 2
    assert started.worker_session_id == ended.worker_session_id != session.id
    assert (ended.llm_call_count, ended.tool_call_count) == (2, 1)
    assert only(events, TurnCompleted).llm_call_count == 2  # without those of the worker


@pytest.mark.parametrize("allowed", ["mcp__many", "mcp__many__act7"])
async def test_worker_gets_tools_of_servers_by_name_and_by_server(start, allowed):
    script = Script(
        delegates("act", allowed_tools=(allowed, "mcp__none")),
        says("Thanks."),
        act=[calls("mcp__many__act7"), says("Done.")],
    )
    runtime, _ = await start(script)
    tools = JoinedToolset(default_toolbox(), many())
    session = await runtime.new_session(User(ALLOW), tools=tools)
    events = await play(session.send("Go."))
    assert text_of(only(events, ToolCompleted).message) == "Done."
    assert only(events, DelegateStarted).dropped_tools == ("mcp__none",)
    names = [each.name for each in script.requests[1].tools]
    assert "mcp__many__act7" in names
    assert len(names) == (COUNT + 1 if allowed == "mcp__many" else 2)


async def test_progress_of_a_worker_is_shown_in_the_card_of_its_call(start):
    script = Script(
        delegates("look"), says("Ok."), look=[calls("read_file", path="a.txt"), says("One.")]
    )
    _, session = await start(script)
    events = await play(session.send("Go."))
    call = only(events, ToolCompleted).tool_use_id
    shown = "".join(
        each.text
        for each in events
        if isinstance(each, ToolOutputDelta) and each.tool_use_id == call
    )
    assert "worker 1" in shown
    assert "read_file a.txt" in shown


@pytest.mark.req("R-DLG-01")
async def test_costs_of_workers_add_up_in_the_session_that_delegates(start):
    script = Script(delegates("a", "b"), says("Ok."), a=[says("A.")], b=[says("B.")])
    runtime, session = await start(script)
    await play(session.send("Go."))
    alone = [each for each in session.state.facts if isinstance(each, LlmCallCompleted)]
    each_cost = alone[0].usage.cost_usd
    assert each_cost > 0
    assert session.state.cost_usd == 4 * each_cost
    report = await runtime.store.cost_report(session.id)
    assert sum(row.cost_usd for row in report) == 4 * each_cost
    today = await runtime.spent_today()
    assert today.cost_usd == 4 * each_cost


async def test_limit_of_a_run_counts_the_requests_of_workers(start):
    script = Script(delegates("a"), says("Ok."), a=[calls("read_file", path="a.txt"), says("A.")])
    _, session = await start(script, max_turns=2)
    events = await play(session.send("Go."))
    assert only(events, DelegateFailed).failure_mode == "limit_reached"
    assert session.limit_reached is not None


async def test_workers_at_the_same_time_stay_within_the_limits_of_a_run(start):
    names = [f"w{number}" for number in range(4)]
    reads = [calls("read_file", path="a.txt")] * 4
    script = Script(delegates(*names), says("Ok."), **dict.fromkeys(names, reads))
    _, session = await start(script, max_turns=5)
    events = await play(session.send("Go."))
    assert len(script.requests) == 5
    ends = [each for each in events if isinstance(each, DelegateFailed)]
    assert [each.failure_mode for each in ends] == ["limit_reached"] * 4
    assert sum(each.llm_call_count for each in ends) == 4


async def test_requests_that_run_count_for_the_cost_limit(start):
    names = [f"w{number}" for number in range(4)]
    script = Script(delegates(*names), says("Ok."), **{name: [says("Done.")] for name in names})
    _, alone = await start(Script(says("Ok.")))
    await play(alone.send("Go."))
    one = only(alone.state.facts, LlmCallCompleted).usage.cost_usd
    _, session = await start(script, max_cost=Decimal("2.5") * one)
    events = await play(session.send("Go."))
    ends = [each for each in events if isinstance(each, DelegateFailed)]
    assert {each.failure_mode for each in ends} == {"limit_reached"}


async def test_cost_of_workers_counts_for_the_turn_that_delegates(start):
    script = Script(delegates("a", "b"), says("Ok."), a=[says("A.")], b=[says("B.")])
    user = User(DENY)
    settings = "[limits]\nmax_cost_per_turn_usd = 0.013\n"
    _, session = await start(script, confirm=user, settings=settings)
    await play(session.send("Go."))
    asked = [each.title for each in user.asked if each.kind == "limit"]
    assert asked
    assert len(script.requests) < 4


async def test_worker_uses_the_effort_of_the_session_that_delegates(start):
    script = Script(delegates("a"), says("Ok."), a=[says("A.")])
    _, session = await start(script)
    await play(session.select_effort("high"))
    await play(session.send("Go."))
    assert {each.effort for each in script.requests} == {"high"}


async def test_facts_about_a_worker_contain_no_key(start, monkeypatch):
    key = "sk-ant-api03-" + "k" * 80
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    missing = calls("report_missing", missing=({"what": f"a key such as {key}"},))
    script = Script(
        delegates("a", allowed_tools=("read_file", key)), says("Ok."), a=[missing, says("")]
    )
    runtime, session = await start(script)
    await play(session.send("Go."))
    stored = [each for each in await runtime.store.read(session.id) if "delegate." in tag_of(each)]
    assert len(stored) == 2
    assert key not in str(stored)


@pytest.mark.parametrize("rule", ["shell(rm*)", "edit_file", "propose_plan"])
async def test_rules_may_name_tools_that_a_worker_lacks(start, rule):
    script = Script(delegates("a", allowed_tools=("read_file",)), says("Ok."), a=[says("Done.")])
    runtime, session = await start(script, deny=(rule,))
    events = await play(session.send("Go."))
    assert text_of(only(events, ToolCompleted).message) == "Done."
    assert runtime.take_warnings() == []


async def test_worker_uses_the_model_of_its_tier_in_the_slot_of_delegated_tasks(start):
    script = Script(delegates("a", tier="fast"), says("Ok."), a=[says("A.")])
    settings = '[delegation]\nfast = "anthropic:claude-haiku-4-5"\n'
    runtime, session = await start(script, settings=settings)
    events = await play(session.send("Go."))
    started = only(events, DelegateStarted)
    assert script.requests[1].model.id == started.requested_model == "anthropic:claude-haiku-4-5"
    facts = await runtime.store.read(started.worker_session_id)
    route = only(facts, RouteDecided)
    assert route.chain[route.winner_index].policy == "delegate_request"
    assert only(facts, LlmCallStarted).is_worker


async def test_worker_has_only_the_allowed_tools(start):
    script = Script(
        delegates("a", allowed_tools=("read_file", "propose_plan", "nothing")),
        says("Ok."),
        a=[calls("shell", command="touch b"), says("I cannot.")],
    )
    _, session = await start(script)
    events = await play(session.send("Go."))
    names = {each.name for each in script.requests[1].tools}
    assert names == {"read_file", "report_missing"}
    assert only(events, DelegateStarted).dropped_tools == ("propose_plan", "nothing")
    assert not (session.workspace / "b").exists()


async def test_worker_reads_memory_but_changes_none_and_loads_no_skill(start, home):
    for name, text in (
        ("memory/USER.md", "likes tabs"),
        ("skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\nz"),
    ):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text)
    script = Script(delegates("a"), says("Ok."), a=[says("Done.")])
    _, session = await start(script)
    events = await play(session.send("Go."))
    own, worker = ({each.name for each in request.tools} for request in script.requests[:2])
    assert own - worker >= {"load_skill", "remember"}
    assert "likes tabs" in script.requests[1].messages[1].text
    assert "# Skills" not in script.requests[1].messages[0].text
    assert not [each for each in events if isinstance(each, Notice)]


async def test_worker_gets_the_edit_tool_of_its_own_model(start):
    script = Script(
        delegates("a", allowed_tools=("edit_file",), tier="fast"),
        delegates("b", allowed_tools=("apply_patch",)),
        says("Ok."),
        a=[says("A.")],
        b=[says("B.")],
    )
    _, session = await start(script, settings='[delegation]\nfast = "openai:gpt-5-mini"\n')
    await play(session.send("Go."))
    found = [{each.name for each in request.tools} for request in script.requests]
    assert found[1] == {"apply_patch", "report_missing"}
    assert found[3] == {"edit_file", "report_missing"}


async def test_worker_cannot_delegate_unless_a_setting_allows_it(start):
    script = Script(delegates("a"), says("Ok."), a=[says("A.")])
    _, session = await start(script)
    await play(session.send("Go."))
    assert "delegate" not in {each.name for each in script.requests[1].tools}
    deeper = Script(
        delegates("a"),
        says("Ok."),
        a=[calls("delegate", task="Do <b>."), says("A.")],
        b=[says("B.")],
    )
    _, session = await start(deeper, settings="[delegation]\nmax_depth = 2\n")
    events = await play(session.send("Go."))
    assert only(events, DelegateCompleted).llm_call_count == 3
    assert "delegate" not in {each.name for each in deeper.requests[2].tools}


@pytest.mark.req("R-DLG-01")
async def test_worker_that_lacks_something_says_what(start):
    script = Script(
        delegates("a"),
        says("Ok."),
        a=[calls("report_missing", missing=[{"what": "the schema", "hint": "docs?"}])],
    )
    _, session = await start(script)
    events = await play(session.send("Go."))
    assert only(events, DelegateFailed).failure_mode == "insufficient_context"
    assert "- the schema (docs?)" in text_of(only(events, ToolFailed).message)


LIST = {"type": "object", "properties": {"names": {"type": "array"}}, "required": ["names"]}


@pytest.mark.req("R-DLG-01")
@pytest.mark.parametrize(
    ("report", "problem"),
    [
        ('{"names": ["a"]}', None),
        ('```json\n{"names": []}\n```', None),
        ('{"names": "a"}', "$.names: expected array, got string"),
        ("{}", "$.names"),
        ("The names are a and b.", "its report is not JSON"),
        ("[" * 100_000, "its report is not JSON"),
    ],
)
async def test_report_that_does_not_match_the_schema_of_the_call_is_a_failure(
    start, report, problem
):
    script = Script(delegates("a", output_schema=LIST), says("Ok."), a=[says(report)])
    _, session = await start(script)
    events = await play(session.send("Go."))
    assert '"required":["names"]' in text_of(script.requests[1].messages[-1])
    if problem is None:
        assert text_of(only(events, ToolCompleted).message) == report
        return
    assert only(events, DelegateFailed).failure_mode == "output_schema_validation_failed"
    assert problem in text_of(only(events, ToolFailed).message)


@pytest.mark.parametrize(
    "schema", [{"type": "string", "pattern": "(a+)+"}, {"anyOf": []}, {"type": "nothing"}]
)
async def test_schema_that_cannot_be_checked_starts_no_worker(start, schema):
    script = Script(delegates("a", output_schema=schema), says("Ok."))
    _, session = await start(script)
    events = await play(session.send("Go."))
    assert "`output_schema` is not supported" in text_of(only(events, ToolFailed).message)
    assert not [each for each in events if isinstance(each, DelegateStarted)]


@pytest.mark.parametrize("interactive", [True, False])
async def test_worker_learns_that_it_reports_what_is_missing(start, interactive):
    script = Script(delegates("a"), says("Ok."), a=[says("A.")])
    _, session = await start(script, interactive=interactive)
    await play(session.send("Go."))
    situation = script.requests[1].messages[1].text
    assert "or call report_missing" in situation
    assert ("need an approval is refused" in situation) != interactive
    assert "a question ends the work" not in situation


async def test_worker_stops_at_its_limit_of_tokens(start):
    script = Script(
        delegates("a", max_tokens=1_500),
        says("Ok."),
        a=[calls("list_dir"), calls("list_dir"), says("Never.")],
    )
    _, session = await start(script)
    events = await play(session.send("Go."))
    failed = only(events, DelegateFailed)
    assert (failed.failure_mode, failed.llm_call_count) == ("max_tokens_exceeded", 2)


async def test_limit_of_tokens_in_the_call_cannot_exceed_that_of_the_user(start):
    read = calls("read_file", path="a.txt")
    script = Script(delegates("a", max_tokens=9_000), says("Ok."), a=[read, read, says("Never.")])
    _, session = await start(script, settings="[delegation]\nmax_tokens = 1_500\n")
    events = await play(session.send("Go."))
    failed = only(events, DelegateFailed)
    assert (failed.failure_mode, failed.llm_call_count) == ("max_tokens_exceeded", 2)


async def test_worker_that_takes_too_long_is_stopped_and_the_turn_continues(start):
    stuck = ScriptLine((Pause(60),)) + says("Late.")
    script = Script(delegates("a"), says("Ok."), a=[stuck])
    runtime, session = await start(script)
    session._env.tasks.config = DelegationConfig(max_seconds=0.1)
    events = await play(session.send("Go."))
    assert only(events, DelegateFailed).failure_mode == "timeout"
    assert only(events, TurnCompleted).stop_reason == "end_turn"
    facts = await runtime.store.read(only(events, DelegateStarted).worker_session_id)
    assert only(facts, TurnCancelled)


async def test_time_in_which_a_question_waits_is_not_time_of_the_worker(start):
    async def thinks(confirmation):
        await asyncio.sleep(2.5)
        return ALLOW

    command = calls("shell", command="touch made")
    script = Script(delegates("a"), says("Ok."), a=[command, says("Made.")])
    _, session = await start(script, confirm=thinks)
    session._env.tasks.config = DelegationConfig(max_seconds=2)
    events = await play(session.send("Go."))
    assert only(events, DelegateCompleted)
    assert (session.workspace / "made").exists()


@pytest.mark.req("R-DLG-01")
async def test_question_of_a_worker_has_its_name_and_offers_no_rule(start):
    user = User(DENY)
    script = Script(
        delegates("a"), says("Ok."), a=[calls("shell", command="touch made"), says("Denied.")]
    )
    _, session = await start(script, confirm=user)
    events = await play(session.send("Go."))
    [asked] = user.asked
    assert (asked.asked_by, asked.rules) == ("worker 1", ())
    assert text_of(only(events, ToolCompleted).message) == "Denied."
    assert not (session.workspace / "made").exists()


async def test_lasting_answer_to_a_worker_applies_to_its_call_only(start):
    user = User(Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION))
    script = Script(
        delegates("a"), says("Ok."), a=[calls("shell", command="touch made"), says("Made.")]
    )
    _, session = await start(script, confirm=user)
    await play(session.send("Go."))
    assert (session.workspace / "made").exists()
    assert session.gate.policy.rules.allow == ()


async def test_worker_of_the_reply_with_the_plan_runs_before_the_plan_is_answered(start):
    approved = Decision(verdict=Verdict.ALLOW, plan=PlanAnswer.ACCEPT_EDITS)
    write = calls("write_file", path="evil.txt", content="x\n")
    both = delegates("a") + calls("propose_plan", plan="# Plan")
    script = Script(both, says("Ok."), a=[write, says("Refused.")])
    _, session = await start(script, confirm=User(approved), mode=Mode.PLAN)
    await play(session.send("Go."))
    assert not (session.workspace / "evil.txt").exists()
    assert session.mode is Mode.ACCEPT_EDITS


async def test_schema_of_the_answer_is_not_that_of_reports(start):
    script = Script(delegates("a"), says("{}"), a=[says("A.")])
    _, session = await start(script, output_schema={"type": "object"})
    await play(session.send("Go."))
    assert [each.output_schema for each in script.requests] == [
        {"type": "object"},
        None,
        {"type": "object"},
    ]


async def test_mode_of_the_session_applies_to_its_workers(start):
    write = calls("write_file", path="b.txt", content="x\n")
    script = Script(delegates("a"), says("Ok."), a=[write, says("Refused.")])
    _, session = await start(script, mode=Mode.PLAN)
    await play(session.send("Go."))
    assert not (session.workspace / "b.txt").exists()


@pytest.mark.req("R-UNDO-01")
async def test_undo_takes_back_what_a_worker_changed(start):
    edit = (
        calls("read_file", path="a.txt"),
        calls("edit_file", path="a.txt", edits=[{"old": "one", "new": "two"}]),
    )
    script = Script(delegates("a"), says("Ok."), a=[*edit, says("Done.")])
    _, session = await start(script)
    events = await play(session.send("Go."))
    file = session.workspace / "a.txt"
    assert file.read_text() == "two\n"
    changed = only(events, FilesChanged)
    assert changed.tool_use_id == only(events, ToolCompleted).tool_use_id
    await play(session.files.undo())
    assert file.read_text() == "one\n"


async def test_journal_of_the_directory_has_a_change_by_a_worker_once(start):
    write = calls("write_file", path="b.txt", content="x\n")
    script = Script(delegates("a"), says("Ok."), a=[write, says("Done.")])
    runtime, session = await start(script)
    await play(session.send("Go."))
    found = await runtime.store.file_changes(ChangeFilter(workspace=str(session.workspace)))
    assert [(each.session_id, each.change.path) for each in found] == [(session.id, "b.txt")]


async def test_failure_of_a_worker_is_a_result_with_its_reason(start):
    broken = fails(ServerError("The server is down."))
    script = Script(delegates("a"), says("Ok."), a=[broken, broken, broken])
    _, session = await start(script, settings="[limits]\nmax_retries = 0\n")
    events = await play(session.send("Go."))
    failed = only(events, DelegateFailed)
    assert failed.failure_mode == "worker_error"
    assert "The server is down." in text_of(only(events, ToolFailed).message)


async def test_long_reply_of_a_failed_worker_is_cut(start):
    spoken = says("x" * 50_000) + calls("list_dir")
    script = Script(delegates("a", max_tokens=1_000), says("Ok."), a=[spoken, says("Never.")])
    _, session = await start(script)
    failed = text_of(only(await play(session.send("Go.")), ToolFailed).message)
    assert "xxx" in failed
    assert len(failed) < 5_000


async def test_sessions_of_workers_are_listed_only_on_request_and_deleted_with_their_parent(start):
    script = Script(delegates("a"), says("Ok."), a=[says("A.")])
    runtime, session = await start(script)
    events = await play(session.send("Go."))
    worker = only(events, DelegateStarted).worker_session_id
    assert [each.id for each in await runtime.store.list()] == [session.id]
    listed = {each.id for each in await runtime.store.list(workers=True)}
    assert listed == {session.id, worker}
    assert await runtime.store.last_used() == session.id
    assert not await runtime.store.search("worker agent task")
    await session.close()
    await runtime.store.delete(session.id)
    assert not await runtime.store.list(workers=True)


@pytest.mark.req("R-DLG-01")
async def test_first_stop_lets_workers_finish_and_the_second_stops_them(start):
    async def run(*, twice):
        slow = ScriptLine((Pause(0.2 if not twice else 60),)) + says("Finished.")
        script = Script(delegates("a"), says("Never."), a=[slow])
        runtime, session = await start(script)
        events = []
        async for event in session.send("Go."):
            events.append(event)
            if isinstance(event, DelegateStarted):
                session.cancel()
                if twice:
                    asyncio.get_running_loop().call_later(0.05, session.cancel)
        return runtime, events

    _, events = await run(twice=False)
    assert text_of(only(events, ToolCompleted).message) == "Finished."
    assert only(events, DelegateCompleted)
    runtime, events = await run(twice=True)
    assert only(events, DelegateFailed).failure_mode == "cancelled_by_user"
    facts = await runtime.store.read(only(events, DelegateStarted).worker_session_id)
    stopped, ended = only(facts, TurnCancelled), only(events, TurnCancelled)
    assert stopped.id < ended.id


async def check_twenty_workers(start):
    """Delegate to 20 workers: one is stuck in a command, one fails and one asks."""
    names, stuck = [f"w{n:02}" for n in range(20)], f"300.{os.getpid()}"
    lines = {name: [says(f"Report of {name}.")] for name in names}
    lines["w03"] = [calls("shell", command=f"exec sleep {stuck}")]
    lines["w05"] = [fails(ServerError("Down."))]
    lines["w07"] = [calls("shell", command="touch asked"), says("Report of w07.")]
    user = User(ALLOW)
    script = Script(delegates(*names), says("Ok."), **lines)
    _, session = await start(script, confirm=user, settings="[limits]\nmax_retries = 0\n")
    session._env.tasks.config = DelegationConfig(max_seconds=3)
    events = await play(session.send("Go."))
    ended = [each for each in events if isinstance(each, DelegateCompleted | DelegateFailed)]
    failed = {each.failure_mode for each in ended if isinstance(each, DelegateFailed)}
    assert len(ended) == 20
    assert failed == {"timeout", "worker_error"}
    assert {each.asked_by for each in user.asked} == {"worker 4", "worker 8"}
    costs = sum((each.total_cost_usd for each in ended), Decimal(0))
    own = [each for each in session.state.facts if isinstance(each, LlmCallCompleted)]
    assert session.state.cost_usd == costs + sum(each.usage.cost_usd for each in own)
    assert only(events, TurnCompleted).stop_reason == "end_turn"
    assert count_processes(f"sleep {stuck}") == 0


@pytest.mark.remaining
async def test_twenty_workers_of_which_one_is_stuck_one_fails_and_one_asks(start):
    await check_twenty_workers(start)


@pytest.mark.craft
async def test_nothing_is_left_of_twenty_workers(start, figures):
    figures("workers", "failed")
    for _ in range(5):
        await check_twenty_workers(start)
    figures("workers", "yes, yes, 0 in 5 runs")


async def test_session_without_delegation_has_no_such_tool(start):
    script = Script(says("Ok."))
    _, session = await start(script, settings="[delegation]\nenabled = false\n")
    await play(session.send("Go."))
    assert "delegate" not in {each.name for each in script.requests[0].tools}


async def delegate_and_die(home, work, tag, number):
    """Run a process that delegates and is killed; return the id of its session."""
    command = [sys.executable, "-m", "tests.agent.killed_delegation", home, work, tag, str(number)]
    died = await asyncio.create_subprocess_exec(
        *command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE
    )
    session_id = (await died.communicate())[0].decode().strip()
    assert died.returncode == -9
    return session_id


@pytest.mark.remaining
@pytest.mark.req("R-PER-02", "R-DLG-01")
async def test_reply_of_a_killed_worker_is_stored_and_its_cost_counted(start, home, work):
    session_id = await delegate_and_die(home, work, "partial", 1)
    runtime, _ = await start(Script(says("Ok.")))
    session = await runtime.resume(session_id, User(ALLOW))
    ended = only(session.state.facts, DelegateFailed)
    assert ended.llm_call_count == 2
    inner = only(await runtime.store.read(ended.worker_session_id), DelegateFailed)
    facts = await runtime.store.read(inner.worker_session_id)
    reply = only(facts, LlmCallFailed)
    assert reply.message.text.startswith("I look at it.")
    assert reply.usage.cost_usd == inner.total_cost_usd > 0
    assert ended.total_cost_usd == inner.total_cost_usd + PARENT_COST
    report = await runtime.store.cost_report(session_id)
    assert session.state.cost_usd == sum(each.cost_usd for each in report)
    assert only(facts, TurnCancelled).reason == "client_disconnect"
    await session.close()


@pytest.mark.req("R-PER-02", "R-DLG-01")
@pytest.mark.remaining
async def test_session_continues_without_the_deleted_session_of_a_killed_worker(start, home, work):
    session_id = await delegate_and_die(home, work, "delegate.completed", 1)
    runtime, _ = await start(Script(says("Ok.")))
    [started] = [
        each for each in await runtime.store.read(session_id) if isinstance(each, DelegateStarted)
    ]
    await runtime.store.delete(started.worker_session_id)
    session = await runtime.resume(session_id, User(ALLOW))
    assert only(session.state.facts, DelegateFailed).llm_call_count == 0
    await session.close()


@pytest.mark.req("R-PER-02", "R-DLG-01")
@pytest.mark.remaining
async def test_session_takes_no_work_of_a_session_that_it_did_not_start(start, home, work):
    session_id = await delegate_and_die(home, work, "files.changed", 2)
    runtime, _ = await start(Script(says("Ok.")))
    facts = await runtime.store.read(session_id)
    forged = await import_session(runtime.store, facts, work)  # its worker is that of another
    assert forged != session_id
    session = await runtime.resume(forged, User(ALLOW))
    failed = only(session.state.facts, DelegateFailed)
    assert failed.llm_call_count == failed.total_cost_usd == 0
    assert not [each for each in session.state.facts if isinstance(each, FilesChanged)]
    await session.close()
    worker = await runtime.store.read(failed.worker_session_id)
    assert not [each for each in worker if isinstance(each, TurnCancelled)], "it stays as it was"


@pytest.mark.req("R-PER-02", "R-DLG-01")
@pytest.mark.parametrize(
    ("tag", "number"), [("files.changed", 2), ("delegate.completed", 1)], ids=["change", "end"]
)
@pytest.mark.sample(2)
async def test_work_of_a_killed_worker_is_counted_and_can_be_undone(start, home, work, tag, number):
    session_id = await delegate_and_die(home, work, tag, number)
    runtime, _ = await start(Script(says("Ok.")))
    session = await runtime.resume(session_id, User(ALLOW))
    failed = only(session.state.facts, DelegateFailed)
    assert failed.error_message == "the program ended while it worked"
    assert failed.llm_call_count >= 1
    assert failed.total_cost_usd == session.state.cost_usd - PARENT_COST > 0
    assert len([each for each in session.state.facts if isinstance(each, FilesChanged)]) == 1
    await play(session.files.undo())
    assert not (work / "new.txt").exists()
    await session.close()
    again = await runtime.resume(session_id, User(ALLOW))
    only(again.state.facts, DelegateFailed)


@pytest.mark.remaining
async def test_edit_of_a_worker_is_done_or_refused_while_others_change_the_file(start, work):
    names = [f"w{number}" for number in range(8)]
    (work / "many.txt").write_text("".join(f"{name} old\n" for name in names) + "x\n" * 50_000)
    edits = {
        name: [
            calls("edit_file", path="many.txt", edits=[{"old": f"{name} old", "new": name}]),
            says("Done."),
        ]
        for name in names
    }
    script = Script(delegates(*names), says("Ok."), **edits)
    _, session = await start(script, mode=Mode.AUTO)
    await play(session.send("Go."))
    answers = {
        next(name for name in names if f"<{name}>" in text_of(request.messages[2])): text
        for request in script.requests
        if (text := text_of(request.messages[-1])).startswith(("Edited", "`many.txt` changed"))
    }
    assert set(answers) == set(names)
    shown = [name if answers[name].startswith("Edited") else f"{name} old" for name in names]
    assert (work / "many.txt").read_text().splitlines()[:8] == shown
