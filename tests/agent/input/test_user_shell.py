"""Commands of the user: run without a question, stored, and sent or not as they were typed."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.agent.harness import Bench, Checked, User, names, play
from tests.providers.dialect_journeys import SWAP_TARGETS, find_problems
from tests.providers.recorded_exchanges import READ, request
from yourtool.agent.input import user_shell
from yourtool.agent.session.known_secrets import mask_secrets
from yourtool.errors import ServerError, ToolError, UsageError
from yourtool.events.deltas import ShellStarted, ToolOutputDelta
from yourtool.events.tools import ShellRan
from yourtool.events.turns import TurnStarted
from yourtool.foundation.masking import Mask
from yourtool.messages.message import Role
from yourtool.messages.metadata import Audience, Origin
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.scripted import Scripted, fails, says
from yourtool.store.exports import export_lines, from_jsonl
from yourtool.store.forks import facts_until, fork, import_session


async def run_command(session, command, *, shared=True):
    """Run a command and return the fact of it."""
    events = await play(session.run_shell(command, shared=shared))
    assert names(events) == ["shell.ran"]
    return events[-1]


def texts_in(request):
    return [each.text for each in request.messages if each.role is not Role.SYSTEM]


def is_dead(pid):
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.req("R-TUI-04")
async def test_command_runs_in_the_workspace_without_approval_or_model(bench):
    (bench.workspace / "a.txt").write_text("a cat\n")
    adapter, user = Scripted([says("never")]), User()
    session = await bench.session(adapter, confirm=user)
    fact = await run_command(session, "cat a.txt; exit 3")
    assert (fact.exit_code, fact.truncated, fact.turn_id) == (3, False, None)
    assert fact.message.text == (
        "$ cat a.txt; exit 3\na cat\n[exit code 3; the user ran this command]\n"
    )
    assert not user.asked
    assert not adapter.requests
    assert not session.busy
    await session.close()


@pytest.mark.req("R-CRD-02")
async def test_command_gets_all_variables_and_its_output_no_key(bench, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    session = await bench.session(Scripted([says("never")]), mask=Mask(["sk-ant-secret"]))
    fact = await run_command(session, "cat; env; echo ${#ANTHROPIC_API_KEY}")
    assert "sk-ant-secret" not in fact.message.text and "PATH=.:" in fact.message.text
    assert "\n13\n" in fact.message.text
    assert fact.exit_code == 0
    await session.close()


async def test_output_is_shown_while_the_command_runs(bench):
    session = await bench.session(Scripted([says("never")]))
    events = session.run_shell("echo hi; read -r _ < fifo; echo ho", shared=True)
    os.mkfifo(bench.workspace / "fifo")
    first_event = await anext(events)
    assert first_event == ShellStarted(
        message_id=first_event.message_id, command="echo hi; read -r _ < fifo; echo ho", shared=True
    )
    assert await anext(events) == ToolOutputDelta(tool_use_id=first_event.message_id, text="hi\n")
    await asyncio.to_thread((bench.workspace / "fifo").write_text, "\n")
    *_, fact = [event async for event in events]
    assert fact.message.id == first_event.message_id
    assert "hi\nho\n" in fact.message.text
    await session.close()


@pytest.mark.req("D13", "D8")
async def test_next_request_contains_shared_commands_only(bench):
    adapter = Scripted([says("I see.")])
    session = await bench.session(Checked(adapter))
    shared = await run_command(session, "echo for both")
    unseen = await run_command(session, "echo for me", shared=False)
    assert shared.message.metadata.origin == unseen.message.metadata.origin == Origin.USER_SHELL
    assert shared.message.metadata.audience is Audience.BOTH
    assert unseen.message.metadata.audience is Audience.USER
    await play(session.send("well?"))
    [sent] = adapter.requests
    assert texts_in(sent) == [shared.message.text, "well?"]
    entries = (await session.context.compose()).entries
    assert all(each.sent is not None for each in entries)
    assert len(entries) == 3
    assert unseen.message in session.state.messages
    assert unseen.message not in session.state.conversation
    await session.close()


@pytest.mark.req("D8")
async def test_every_dialect_sends_shared_commands_only(bench):
    session = await bench.session(Checked(Scripted([says("Hello."), says("I see.")])))
    await run_command(session, "true")
    await play(session.send("hello"))
    await run_command(session, "echo unseen words", shared=False)
    await run_command(session, "printf 'a\\n\\n\\tb'")
    await run_command(session, "echo more")
    await play(session.send("well?"))
    await run_command(session, "echo the last")
    for station in SWAP_TARGETS.values():
        view = build_request_view(session.state.messages, station.model)
        posted = station.dialect().to_wire(request(station.model, view, tools=(READ,))).body
        assert find_problems(station, msgspec.json.decode(posted)) == []
        assert b"unseen words" not in posted
        assert b"$ echo more" in posted
        assert b"exit code 0; the user ran this command" in posted
        assert b"the last" in posted
    await session.close()


async def test_stopped_command_preserves_its_output_and_a_valid_history(bench):
    session = await bench.session(Checked(Scripted([says("I see.")])))
    facts = []
    async for event in session.run_shell("echo $$; echo begun; sleep 60", shared=True):
        facts.append(event)
        if isinstance(event, ToolOutputDelta) and "begun" in event.text:
            assert session.busy
            assert session.cancel()
            assert not session.cancel()
    fact = facts[-1]
    assert fact.exit_code is None
    assert "begun\n[stopped by the user; the user ran this command]" in fact.message.text
    leader = fact.message.content[1].text.split()[0]
    assert is_dead(leader)
    assert not session.busy
    events = await play(session.send("go on"))
    assert events[-1].stop_reason == "end_turn"
    await session.close()


async def test_command_abandoned_by_its_consumer_is_killed_and_not_stored(bench):
    session = await bench.session(Checked(Scripted([says("I see.")])))
    events = session.run_shell("echo $$; sleep 60", shared=True)
    await anext(events)
    leader = (await anext(events)).text.strip()
    await events.aclose()
    assert is_dead(leader)
    assert not session.state.messages
    assert not session.busy
    await play(session.send("go on"))
    await session.close()


async def test_command_during_a_turn_is_rejected(bench):
    session = await bench.session(Scripted([says("one")]))
    turn = session.send("hello")
    await anext(turn)
    with pytest.raises(UsageError, match="A turn is running"):
        await play(session.run_shell("echo hi", shared=True))
    await turn.aclose()
    fact = await play(session.run_shell("echo hi", shared=True))
    assert names(fact) == ["turn.cancelled", "shell.ran"]
    await session.close()


async def test_model_chosen_during_a_command_is_applied_after_it(bench):
    session = await bench.session(Scripted([says("never")]))
    events = []
    async for event in session.run_shell("echo hi", shared=True):
        if isinstance(event, ShellStarted):
            [notice] = await play(session.select_model("other"))
            assert "pending" in notice.text
        events.append(event)
    assert names(events) == ["shell.ran", "session.model_selected"]
    await session.close()


async def test_long_output_is_complete_in_a_file(bench):
    session = await bench.session(Scripted([says("never")]))
    fact = await run_command(session, "seq 20000")
    assert fact.truncated
    assert "`read_file`" in fact.message.text
    [spilled] = (bench.root / "spill").iterdir()
    assert spilled.read_text().splitlines()[-1] == "20000"
    assert str(spilled) in fact.message.text
    await session.close()


async def test_command_that_cannot_start_is_an_error_with_the_reason(bench):
    session = await bench.session(Scripted([says("never")]))
    fact = await run_command(session, f": {'a' * 3_000_000}")
    assert fact.exit_code == user_shell.NOT_STARTED
    assert "could not be started" in fact.message.text
    await session.close()


async def test_resumed_session_has_its_commands(bench):
    session = await bench.session(Scripted([says("never")]))
    shared = await run_command(session, "echo \udcff both")
    unseen = await run_command(session, "echo me", shared=False)
    await session.close()
    again = await bench.session(Checked(Scripted([says("hi")])), resume=session.id)
    assert [fact for fact in again.state.facts if isinstance(fact, ShellRan)] == [shared, unseen]
    assert again.state.messages == [shared.message, unseen.message]
    await play(again.send("hello"))
    await again.close()


@pytest.mark.req("R-PER-02")
def test_session_of_a_process_killed_during_a_command_is_valid(tmp_path):
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from tests.agent.harness import Bench, play\n"
        "from yourtool.providers.scripted import Scripted, says\n"
        "async def main():\n"
        "    bench = Bench(Path(sys.argv[1]))\n"
        "    session = await bench.session(Scripted([says('one')]))\n"
        "    print(session.id, flush=True)\n"
        "    await play(session.send('hello'))\n"
        "    await play(session.run_shell('kill -9 $PPID', shared=True))\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(tmp_path)]
    died = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert died.returncode == -9, died.stderr

    async def resume():
        bench = Bench(tmp_path)
        session = await bench.session(Checked(Scripted([says("two")])), resume=died.stdout.strip())
        assert [message.text for message in session.state.messages] == ["hello", "one"]
        await run_command(session, "echo again")
        events = await play(session.send("go on"))
        assert events[-1].stop_reason == "end_turn"
        await session.close()
        await bench.close()

    asyncio.run(resume())


async def test_retry_of_a_failed_turn_includes_later_commands(bench):
    adapter = Scripted([fails(ServerError("no")), says("well")])
    session = await bench.session(Checked(adapter))
    with pytest.raises(UsageError, match="no turn to retry"):
        await run_command(session, "true")
        await play(session.retry())
    await play(session.send("hello"))
    await run_command(session, "echo repaired")
    events = await play(session.retry())
    assert events[-1].stop_reason == "end_turn"
    assert "repaired" in adapter.requests[-1].messages[-1].text
    await session.close()


async def test_unsupported_prompt_is_omitted_even_after_later_commands(bench):
    adapter = Scripted([says("well")])
    session = await bench.session(Checked(adapter))
    await play(session.select_model("small"))
    await play(session.send("long words " * 3_000))
    fact = await run_command(session, "echo short")
    await play(session.retry())
    await play(session.send("@test hello"))
    [sent] = adapter.requests
    assert texts_in(sent) == [fact.message.text, "hello"]
    await session.close()


@pytest.mark.req("R-PER-08")
async def test_forks_have_the_commands_and_can_split_before_them(bench, tmp_path):
    session = await bench.session(Checked(Scripted([says("one")])))
    await play(session.send("hello"))
    fact = await run_command(session, "echo hi")
    await session.close()
    forked = await bench.session(
        Checked(Scripted([says("two")])), resume=await fork(bench.store, session.id)
    )
    assert forked.state.messages[-1].content == fact.message.content
    assert forked.state.messages[-1].id != fact.message.id
    await play(forked.send("on"))
    await forked.close()
    facts = await bench.store.read(session.id)
    before = facts_until(facts, fact.message.id)
    assert not any(isinstance(each, ShellRan) for each in before)
    assert any(isinstance(each, TurnStarted) for each in before)

    lines = list(export_lines(facts, "jsonl", str, tmp_path))
    imported = await import_session(bench.store, from_jsonl(lines, tmp_path), bench.workspace)
    [copy] = [each for each in await bench.store.read(imported) if isinstance(each, ShellRan)]
    assert (copy.command, copy.message.content) == (fact.command, fact.message.content)
    assert copy.message.metadata == fact.message.metadata


async def test_export_fences_the_output_and_contains_no_key(bench, tmp_path):
    session = await bench.session(Scripted([says("one")]))
    await run_command(session, "echo '# sk-known'; echo '```'")
    await run_command(session, "echo me", shared=False)
    facts = await bench.store.read(session.id)
    document = b"".join(
        export_lines(facts, "markdown", lambda text: mask_secrets(text, ("sk-known",)), tmp_path)
    ).decode()
    lines = b"".join(
        export_lines(facts, "jsonl", lambda text: mask_secrets(text, ("sk-known",)), tmp_path)
    ).decode()
    assert "sk-known" not in document + lines
    assert "**Command**\n\n````\n$ echo '# " in document
    assert "**Command** (not sent to the model)\n\n```\n$ echo me\nme\n[exit" in document
    await session.close()


async def test_command_is_found_by_its_text(bench):
    session = await bench.session(Scripted([says("one")]))
    fact = await run_command(session, "echo zebra")
    [hit] = await bench.store.search("zebra")
    assert (hit.message_id, hit.role) == (fact.message.id, Role.USER)
    [listed] = await bench.store.list()
    assert (listed.title, listed.turn_count) == ("$ echo zebra", 0)
    await session.close()


async def test_bug_in_the_runner_is_not_an_end_of_the_command():
    async def broken():
        raise ZeroDivisionError

    task = asyncio.ensure_future(broken())
    await asyncio.wait([task])
    with pytest.raises(ZeroDivisionError):
        user_shell._get_ending(task)

    async def refused():
        raise ToolError("no")

    task = asyncio.ensure_future(refused())
    await asyncio.wait([task])
    assert user_shell._get_ending(task) == (user_shell.NOT_STARTED, "no")
