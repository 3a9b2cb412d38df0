"""The checks that the user configured run after the edits of a reply."""

import sys

import pytest

from tests.agent.harness import Bench, play
from yourtool.events.deltas import ToolOutputDelta
from yourtool.events.files import FilesChanged
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.agent_config import CheckConfig
from yourtool.settings.config import Mode
from yourtool.tools.commands.check import MAX_BYTES

LIST = CheckConfig(run=(sys.executable, "-c", "import sys; print(sys.argv[1:])", "{files}"))
FORMAT = CheckConfig(
    run=("sed", "-i", "s/  */ /g", "{files}"),
    files=("*.py",),
)


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def run(bench, *replies, checks):
    settings = {"find_checks": lambda: checks}
    model = Scripted([*replies, says("Done.")])
    session = await bench.session(model, mode=Mode.AUTO, settings=settings)
    return session, await play(session.send("go"))


def results(events):
    ends = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    return ["\n".join(part.text for part in each.message.content[0].content) for each in ends]


def write(name, content="x = 1\n"):
    return calls("write_file", path=name, content=content)


async def test_check_runs_after_an_edit_and_its_words_are_in_the_result(bench):
    _, events = await run(bench, write("a.py"), checks={"list": LIST})
    [result] = results(events)
    assert "check `list`: ok" in result
    assert "['./a.py']" in result


async def test_card_shows_which_check_runs_and_how_each_ended(bench):
    failing = CheckConfig(run=("false",))
    _, events = await run(bench, write("a.py"), checks={"list": LIST, "types": failing})
    live = [each.text for each in events if isinstance(each, ToolOutputDelta)]
    assert live == ["check list: running\n", "check types: running\n"]
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    [(name, status), (other, problem)] = end.message.metadata.details["checks"]
    assert (name, other) == ("list", "types")
    assert status.startswith("ok, ")
    assert problem.startswith("exit code 1, ")
    assert "diff" in end.message.metadata.details


async def test_checks_run_in_the_order_of_the_settings(bench):
    checks = {"z": FORMAT, "a": LIST, "m": LIST}
    _, events = await run(bench, write("a.py"), checks=checks)
    live = [each.text for each in events if isinstance(each, ToolOutputDelta)]
    assert live == [f"check {name}: running\n" for name in "zam"]


async def test_check_runs_only_for_files_that_match_its_globs(bench):
    _, events = await run(bench, write("a.txt"), checks={"format": FORMAT})
    [result] = results(events)
    assert "check" not in result


@pytest.mark.parametrize("name", ["-rf.py", "a b;touch x.py", "$(touch x).py", "a\nb.py"])
async def test_hostile_name_is_one_argument(bench, name):
    _, events = await run(bench, write(name), checks={"list": LIST})
    [result] = results(events)
    assert repr([f"./{name}"]) in result
    assert not (bench.workspace / "x").exists()


async def test_failing_check_does_not_make_the_edit_fail(bench):
    failing = CheckConfig(run=("sh", "-c", "echo wrong type; exit 3"))
    _, events = await run(bench, write("a.py"), checks={"types": failing})
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    assert end.success
    [result] = results(events)
    assert "exit code 3" in result
    assert "wrong type" in result


@pytest.mark.parametrize(
    "check",
    [CheckConfig(run=("no-such-program",)), CheckConfig(run=("true",), files=("[",))],
    ids=["missing program", "invalid glob"],
)
async def test_check_that_cannot_run_is_named_in_the_result(bench, check):
    _, events = await run(bench, write("a.py"), checks={"broken": check})
    [result] = results(events)
    missing = "check `broken`: `no-such-program` could not be started: No such file"
    assert missing in result or "did not run" in result
    assert (bench.workspace / "a.py").exists()


async def test_result_has_the_end_of_long_output_in_two_kibibytes(bench):
    loud = CheckConfig(run=("sh", "-c", "seq 1 9999; echo the end; exit 1"))
    _, events = await run(bench, write("a.py"), checks={"one": loud, "two": loud})
    [result] = results(events)
    assert result.count("the end") == 2
    note = result[result.index("[Checks") :]
    assert len(note.encode()) <= MAX_BYTES


async def test_check_runs_once_per_reply_over_all_its_files(bench):
    reply = write("a.py") + write("b.py")
    _, events = await run(bench, reply, checks={"list": LIST})
    first, second = results(events)
    assert "check" not in first
    assert "['./a.py', './b.py']" in second


async def test_checks_run_if_the_last_edit_of_a_reply_is_refused(bench):
    (bench.workspace / "b.py").write_text("b\n")
    wrong = calls("edit_file", path="b.py", edits=[{"old": "missing text", "new": "x"}])
    _, events = await run(bench, write("a.py") + wrong, checks={"list": LIST})
    first, second = results(events)
    assert "check" not in first
    assert "['./a.py']" in second


async def test_check_that_takes_too_long_is_stopped(bench):
    slow = CheckConfig(run=("sleep", "60"), seconds=0.05)
    _, events = await run(bench, write("a.py"), checks={"slow": slow})
    assert "stopped after 0.05 s" in results(events)[0]


async def test_next_edit_applies_to_what_a_formatter_wrote_and_undo_takes_both_back(bench):
    (bench.workspace / "a.py").write_text("x = 0\n")
    edit = calls("edit_file", path="a.py", edits=[{"old": "x = 1", "new": "y = 2"}])
    read = calls("read_file", path="a.py")
    session, events = await run(
        bench, read, write("a.py", "x  =  1\n"), edit, checks={"format": FORMAT}
    )
    assert (bench.workspace / "a.py").read_text() == "y = 2\n"
    assert not [each for each in events if isinstance(each, ToolFailed)]
    assert "changed by the checks: a.py" in results(events)[1]
    assert len([each for each in events if isinstance(each, FilesChanged)]) == 3
    await play(session.files.undo())
    assert (bench.workspace / "a.py").read_text() == "x = 0\n"


async def test_stop_ends_the_checks_and_keeps_the_result_of_the_edit(bench):
    slow = CheckConfig(run=("sleep", "60"))
    settings = {"find_checks": lambda: {"list": LIST, "slow": slow}}
    session = await bench.session(Scripted([write("a.py")]), mode=Mode.AUTO, settings=settings)
    events = []
    async for event in session.send("go"):
        events.append(event)
        if isinstance(event, ToolOutputDelta) and "slow" in event.text:
            session.cancel()
    [end] = [each for each in events if isinstance(each, ToolCompleted)]
    assert end.success
    assert "were stopped" in results(events)[0]
    assert "check `list`: ok" in results(events)[0]
    assert "check `slow`: stopped by the user" in results(events)[0]
