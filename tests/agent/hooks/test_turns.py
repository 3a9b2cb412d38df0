"""Hooks decide on calls, prompts and the end of a turn; every hook is a real process."""

from types import SimpleNamespace

import pytest

from tests.agent.harness import DENY, User, play
from tests.agent.hooks.scripts import decide, ran, results, run, write
from yourtool.agent.commands.routing import explain_model
from yourtool.agent.hooks.hooks import Hooks
from yourtool.agent.session.project import session_hooks
from yourtool.effects import Decision, Verdict
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolFailed
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode


async def test_exit_code_2_refuses_a_call_with_the_reason_for_the_model(bench, scripts):
    guard = scripts.hook("PreToolUse", "sys.stderr.write('not this file'); sys.exit(2)", "Write")
    _, events = await run(bench, [guard], write())
    [result] = results(events)
    assert "not this file" in result
    assert guard.name in result
    assert not (bench.workspace / "a.txt").exists()
    [fact] = ran(events)
    assert (fact.event, fact.verdict, fact.exit_code) == ("PreToolUse", "deny", 2)
    assert fact.command_hash == guard.digest


async def test_hook_gets_the_names_of_others_and_ours(bench, scripts):
    seen = scripts.hook("PreToolUse", "", "Edit|Write")
    session, _ = await run(bench, [seen], write())
    [given] = scripts.given()
    assert given["tool_name"] == "Write"
    assert given["tool_input"] == {"file_path": str(bench.workspace / "a.txt"), "content": "x\n"}
    assert given["yourtool"]["tool_name"] == "write_file"
    assert given["session_id"] == session.id
    assert given["permission_mode"] == "bypassPermissions"
    assert given["hook_event_name"] == "PreToolUse"
    assert given["cwd"] == str(bench.workspace)


@pytest.mark.sample(3)
@pytest.mark.parametrize("matcher", ["Bash", "shell", "", "*", "Bash|Edit", "Ba.*"])
async def test_matcher_names_a_tool_by_any_of_its_names(bench, scripts, matcher):
    seen = scripts.hook("PreToolUse", "", matcher)
    _, events = await run(bench, [seen], calls("shell", command="true"))
    assert len(ran(events)) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("matcher", ["Edit", "Bas", "bash", "Write|Read"])
async def test_matcher_that_does_not_cover_the_whole_name_runs_nothing(bench, scripts, matcher):
    seen = scripts.hook("PreToolUse", "", matcher)
    _, events = await run(bench, [seen], calls("shell", command="true"))
    assert not ran(events)


async def test_transcript_has_the_messages_so_far(bench, scripts):
    seen = scripts.hook("PreToolUse", "print(open(given['transcript_path']).read())\n")
    _, _ = await run(bench, [seen], write(), prompt="please write")
    [given] = scripts.given()
    lines = scripts.read(given["transcript_path"])
    assert lines[0]["type"] == "user"
    assert lines[0]["message"]["content"][0]["text"] == "please write"
    assert lines[1]["message"]["content"][0]["type"] == "tool_use"


async def test_allow_answers_the_question(bench, scripts):
    user = User(DENY)
    allow = scripts.answer("PreToolUse", decide("allow"), "Write")
    await run(bench, [allow], write(), mode=Mode.ASK, confirm=user)
    assert not user.asked
    assert (bench.workspace / "a.txt").exists()


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_allow_never_beats_a_deny_rule(bench, scripts, event):
    allow = scripts.answer(event, decide("allow"))
    rules = RuleSet(deny=(Rule.parse("write_file(a.txt)"),))
    _, events = await run(bench, [allow], write(), rules=rules)
    assert "rule forbids" in results(events)[0]
    assert not (bench.workspace / "a.txt").exists()


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_allow_never_beats_plan_mode(bench, scripts, event):
    allow = scripts.answer(event, decide("allow"))
    _, events = await run(bench, [allow], write(), mode=Mode.PLAN)
    assert "Plan mode is on" in results(events)[0]
    assert not (bench.workspace / "a.txt").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".yourtool/config.toml", "AGENTS.md"])
async def test_allow_never_beats_a_protected_place(bench, scripts, path, event):
    user = User(DENY)
    allow = scripts.answer(event, decide("allow"))
    await run(bench, [allow], write(path), confirm=user)
    assert len(user.asked) == 1
    assert not (bench.workspace / path).exists()


async def test_allow_never_beats_an_ask_rule(bench, scripts):
    user = User(DENY)
    allow = scripts.answer("PreToolUse", decide("allow"))
    rules = RuleSet(ask=(Rule.parse("write_file(a.txt)"),))
    await run(bench, [allow], write(), rules=rules, confirm=user)
    assert len(user.asked) == 1


async def test_allow_never_beats_a_credential_file(bench, scripts):
    (bench.workspace / ".env").write_text("KEY=1\n")
    user = User(DENY)
    allow = scripts.answer("PreToolUse", decide("allow"))
    await run(bench, [allow], calls("read_file", path=".env"), confirm=user)
    assert len(user.asked) == 1


async def test_deny_beats_ask_and_allow_in_any_order(bench, scripts):
    hooks = [scripts.answer("PreToolUse", decide(each)) for each in ("allow", "ask", "deny")]
    for order in (hooks, hooks[::-1]):
        _, events = await run(bench, order, write())
        assert "refuses it" in results(events)[0]


async def test_ask_asks_in_every_mode_and_names_the_hook(bench, scripts):
    user = User(DENY)
    ask = scripts.answer("PreToolUse", decide("ask", permissionDecisionReason="look twice"))
    allow = scripts.answer("PreToolUse", decide("allow"))
    await run(bench, [allow, ask], write(), confirm=user)
    [asked] = user.asked
    assert ask.name in asked.reason
    assert "look twice" in asked.reason


async def test_permission_request_runs_only_if_the_user_would_be_asked(bench, scripts):
    user = User(DENY)
    allow = scripts.answer("PermissionRequest", {"hookSpecificOutput": {"decision": {
        "behavior": "allow"}}})  # fmt: skip
    _, events = await run(bench, [allow], write(), mode=Mode.ASK, confirm=user)
    assert len(ran(events)) == 1
    assert not user.asked
    _, events = await run(bench, [allow], write("b.txt"), mode=Mode.AUTO, confirm=user)
    assert not ran(events)


async def test_changed_arguments_are_confined_previewed_and_shown_as_changed(bench, scripts):
    user = User()
    changed = {"file_path": str(bench.workspace / "b.txt"), "content": "other\n"}
    change = scripts.answer("PreToolUse", decide("ask", updatedInput=changed), "Write")
    _, events = await run(bench, [change], write(), confirm=user)
    [asked] = user.asked
    assert asked.changed_by_hook == change.name
    assert asked.preview.paths == ("b.txt",)
    assert "+other" in asked.preview.body
    assert not (bench.workspace / "a.txt").exists()
    assert (bench.workspace / "b.txt").read_text() == "other\n"
    assert "changed this call before it ran" in results(events)[0]


async def test_arguments_changed_to_a_place_outside_run_nothing(bench, scripts, tmp_path):
    changed = {"file_path": str(tmp_path / "outside.txt"), "content": "x"}
    change = scripts.answer("PreToolUse", decide("allow", updatedInput=changed), "Write")
    _, events = await run(bench, [change], write())
    assert "the changed call is invalid" in results(events)[0]
    assert not (tmp_path / "outside.txt").exists()


async def test_huge_time_limit_of_a_hook_is_cut_to_the_longest_one(bench, scripts):
    changed = {"command": "true", "timeout": 10**400}
    hook = scripts.hook(
        "PreToolUse", f"print(json.dumps({decide('allow', updatedInput=changed)!r}))"
    )
    _, events = await run(bench, [hook], calls("shell", command="true"))
    assert "[exit code 0]" in results(events)[0]


async def test_changed_arguments_are_judged_by_the_rules(bench, scripts):
    change = scripts.answer("PreToolUse", decide("allow", updatedInput={"command": "touch no"}))
    rules = RuleSet(deny=(Rule.parse("shell(touch *)"),))
    _, events = await run(bench, [change], calls("shell", command="true"), rules=rules)
    assert not (bench.workspace / "no").exists()
    assert "rule forbids" in results(events)[0]


async def test_second_hook_gets_what_the_first_one_changed(bench, scripts):
    change = scripts.answer("PreToolUse", decide("allow", updatedInput={"command": "echo two"}))
    seen = scripts.hook("PreToolUse", "")
    _, events = await run(bench, [change, seen], calls("shell", command="echo one"))
    assert scripts.given()[1]["tool_input"]["command"] == "echo two"
    assert results(events)[0].startswith("two")


async def test_call_that_the_user_changed_passes_the_hooks_again(bench, scripts):
    edited = Decision(verdict=Verdict.EDIT, edited_input={"command": "touch made"})
    guard = scripts.hook(
        "PreToolUse", "if 'touch' in given['tool_input']['command']: sys.exit(2)\n"
    )
    user = User(edited, Decision(verdict=Verdict.ALLOW))
    await run(bench, [guard], calls("shell", command="ls x"), mode=Mode.ASK, confirm=user)
    assert not (bench.workspace / "made").exists()


async def test_context_of_a_hook_is_in_the_result(bench, scripts):
    more = {"hookSpecificOutput": {"additionalContext": "tabs, not spaces"}}
    hooks = [scripts.answer(event, more) for event in ("PreToolUse", "PostToolUse")]
    _, events = await run(bench, hooks, write())
    assert results(events)[0].count("tabs, not spaces") == 2


async def test_patch_is_one_event_for_each_file(bench, scripts):
    guard = scripts.hook(
        "PreToolUse",
        "if given['tool_input']['file_path'].endswith('.env'): sys.exit(2)\n",
        "Edit|Write",
    )
    patch = (
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Add File: sub/.env\n+KEY=1\n*** End Patch\n"
    )
    _, events = await run(bench, [guard], calls("apply_patch", patch=patch))
    assert [each.verdict for each in ran(events)] == ["none", "deny"]
    assert not (bench.workspace / "a.py").exists()


async def test_edit_has_the_fields_of_others_both_ways(bench, scripts):
    (bench.workspace / "a.txt").write_text("one two\n")
    changed = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    change = scripts.answer("PreToolUse", decide("allow", updatedInput=changed), "Edit")
    edit = calls("edit_file", path="a.txt", edits=[{"old": "one", "new": "1"}])
    await run(bench, [change], calls("read_file", path="a.txt"), edit)
    [given] = scripts.given()
    assert given["tool_input"]["old_string"] == "one"
    assert (bench.workspace / "a.txt").read_text() == "one three\n"


async def test_result_reaches_the_hook_and_its_objection_the_model(bench, scripts):
    check = scripts.hook("PostToolUse", "sys.stderr.write('lint failed'); sys.exit(2)", "Write")
    _, events = await run(bench, [check], write())
    assert "lint failed" in results(events)[0]
    assert (bench.workspace / "a.txt").exists()
    [given] = scripts.given()
    assert given["tool_response"]["success"] is True


async def test_failed_call_is_an_event_of_its_own(bench, scripts):
    hooks = [scripts.hook(event, "") for event in ("PostToolUse", "PostToolUseFailure")]
    await run(bench, hooks, calls("shell", command="exit 3"))
    [given] = scripts.given()
    assert given["hook_event_name"] == "PostToolUseFailure"
    assert "exit code 3" in given["error"]


async def test_blocked_prompt_is_neither_stored_nor_sent(bench, scripts):
    block = scripts.answer("UserPromptSubmit", {"decision": "block", "reason": "has a secret"})
    model = Scripted([says("Hello.")])
    session = await bench.session(model, settings={"hooks": Hooks([block])})
    with pytest.raises(UsageError, match="has a secret"):
        await play(session.send("my secret"))
    assert not session.state.messages
    assert not session.busy
    facts = await bench.store.read(session.id)
    assert [each.verdict for each in ran(facts)] == ["block"]


async def test_text_of_a_prompt_hook_is_context_for_the_model(bench, scripts):
    hook = scripts.hook("UserPromptSubmit", "print('branch: main, ' + given['prompt'])")
    session, _ = await run(bench, [hook], prompt="hello")
    [context, prompt] = [each.text for each in session.state.conversation[:2]]
    assert "branch: main, hello" in context
    assert prompt == "hello"


async def test_start_of_a_session_is_one_event(bench, scripts):
    hook = scripts.hook("SessionStart", "print('the time is noon')", "startup")
    session, _ = await run(bench, [hook], says("Again."))
    await play(session.send("more"))
    assert len(scripts.given()) == 1
    assert "the time is noon" in session.state.conversation[0].text


async def test_end_of_a_session_is_an_event(bench, scripts):
    hook = scripts.hook("SessionEnd", "")
    session, _ = await run(bench, [hook])
    await session.close()
    assert [each["reason"] for each in scripts.given()] == ["other"]


async def test_stop_hook_continues_the_turn_until_it_is_content(bench, scripts):
    body = (
        "if not os.path.exists('done.txt'):\n"
        "    sys.stderr.write('write done.txt first'); sys.exit(2)\n"
    )
    gate = scripts.hook("Stop", body)
    session, events = await run(bench, [gate], says("I am done."), write("done.txt"))
    assert [each.verdict for each in ran(events)] == ["block", "none"]
    assert [each["stop_hook_active"] for each in scripts.given()] == [False, True]
    assert any("write done.txt first" in each.text for each in session.state.conversation)


async def test_stop_hook_continues_a_turn_at_most_three_times(bench, scripts):
    gate = scripts.hook("Stop", "sys.exit(2)")
    _, events = await run(bench, [gate], *(says(f"{n}") for n in range(6)))
    assert [each.verdict for each in ran(events)] == ["block"] * 4
    assert any("3 times" in each.text for each in events if isinstance(each, Notice))


async def test_hook_that_ends_the_turn_ends_it(bench, scripts):
    end = scripts.answer("PreToolUse", {"continue": False, "stopReason": "enough"})
    model = Scripted([write(), says("never")])
    session = await bench.session(model, settings={"hooks": Hooks([end])}, mode=Mode.AUTO)
    events = await play(session.send("go"))
    assert "enough" in results(events)[0]
    assert len(session.state.messages) == 3


async def test_chosen_model_and_swap_are_events(bench, scripts):
    hooks = [scripts.hook(event, "") for event in ("RouteDecided", "ModelSwap")]
    session, _ = await run(bench, hooks, says("Other."))
    await play(session.send("@other hello"))
    names = [each["hook_event_name"] for each in scripts.given()]
    assert names == ["RouteDecided", "RouteDecided", "ModelSwap"]
    assert scripts.given()[-1]["previous_model"] == "anthropic:test"
    assert scripts.given()[-1]["model"] == "openai:other"


async def test_question_is_a_notification(bench, scripts):
    hook = scripts.hook("Notification", "", "permission_prompt")
    await run(bench, [hook], write(), mode=Mode.ASK)
    [given] = scripts.given()
    assert given["notification_type"] == "permission_prompt"


async def test_why_names_the_hook_that_refused(bench, scripts):
    guard = scripts.hook("PreToolUse", "sys.stderr.write('not this'); sys.exit(2)", "Write")
    session, _ = await run(bench, [guard], write())
    runtime = SimpleNamespace(catalogue=bench.catalogue)
    [*_, notice] = await play(explain_model(session, runtime, ""))
    assert guard.name in notice.text
    assert "not this" in notice.text
    facts = await bench.store.read(session.id)
    [failed] = [each for each in facts if isinstance(each, ToolFailed)]
    assert failed.judgement.hook.hook == guard.name


@pytest.mark.parametrize("code", [0, 2])
async def test_hook_before_a_summary_can_block_the_one_of_the_user(bench, scripts, code):
    hook = scripts.hook("PreCompact", f"sys.stderr.write('later'); sys.exit({code})", "manual")
    model = Scripted([says("one"), says("two"), says("A summary of it.")])
    session = await bench.session(model, settings={"hooks": Hooks([hook])})
    for prompt in ("first", "second"):
        await play(session.send(prompt))
    if code:
        with pytest.raises(UsageError, match="later"):
            await play(session.compact())
    else:
        await play(session.compact("keep names"))
        assert scripts.given()[0]["custom_instructions"] == "keep names"
    assert (session.state.branch.compacted is None) == bool(code)
    assert not session.busy


async def test_worker_has_the_events_of_subagents(bench, scripts):
    hooks = [scripts.hook(event, "") for event in ("SubagentStart", "SubagentStop", "Stop")]
    model = Scripted([says("Report.")])
    session = await bench.session(model, settings={"hooks": Hooks(hooks), "is_worker": True})
    await play(session.send("task"))
    assert [each["hook_event_name"] for each in scripts.given()] == [
        "SubagentStart",
        "SubagentStop",
    ]


FAILS = "sys.stderr.write('no such place'); sys.exit(7)"


def warnings(events):
    return [each.text for each in events if isinstance(each, Notice) and each.level == "warning"]


async def test_failed_notification_hook_is_a_warning_after_the_answer(bench, scripts):
    hook = scripts.hook("Notification", FAILS)
    _, events = await run(bench, [hook], write(), mode=Mode.ASK)
    [warning] = warnings(events)
    assert "failed" in warning
    assert "no such place" in warning
    kinds = [type(each).__name__ for each in events]
    asked = kinds.index("ToolConfirmationRequested")
    assert asked < kinds.index("Notice") < kinds.index("ToolConfirmationResolved")


async def test_failed_hook_before_a_summary_is_a_warning_and_the_summary_is_written(bench, scripts):
    hook = scripts.hook("PreCompact", FAILS)
    model = Scripted([says("one"), says("two"), says("A summary of it.")])
    session = await bench.session(model, settings={"hooks": Hooks([hook])})
    for prompt in ("first", "second"):
        await play(session.send(prompt))
    events = await play(session.compact())
    assert [each for each in warnings(events) if "no such place" in each]
    assert session.state.branch.compacted is not None


async def test_failed_hook_before_a_summary_does_not_count_as_one(bench, scripts):
    hook = scripts.hook("PreCompact", FAILS)
    session, _ = await run(bench, [hook])
    with pytest.raises(UsageError, match="nothing to summarise"):
        await play(session.compact())


async def test_failed_hook_at_the_end_of_a_session_is_a_warning_to_print(bench, scripts):
    session, _ = await run(bench, [scripts.hook("SessionEnd", FAILS)])
    await session.close()
    [warning] = session.hooks.take_last_warnings()
    assert "no such place" in warning
    assert session.hooks.take_last_warnings() == ()


async def test_hook_that_outlasts_the_end_of_a_session_is_stopped_with_a_warning(
    bench, scripts, monkeypatch
):
    monkeypatch.setattr(session_hooks, "END_SECONDS", 0.3)
    session, _ = await run(bench, [scripts.hook("SessionEnd", "time.sleep(60)")])
    await session.close()
    [warning] = session.hooks.take_last_warnings()
    assert "was stopped after 0.3 seconds" in warning
