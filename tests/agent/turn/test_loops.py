"""Loops: repeated calls with the same result are noted, then asked about."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import ALLOW, DENY, User, play
from yourtool.agent.turn.loops import RepeatedCalls
from yourtool.events.deltas import Notice
from yourtool.messages.invariants import validate_session
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

READ = calls("read_file", path="a.txt")
READ_OTHER = calls("read_file", path="b.txt")
FAIL = calls("shell", command="echo failed; exit 1")


@pytest.fixture
def files(bench):
    (bench.workspace / "a.txt").write_text("x")
    (bench.workspace / "b.txt").write_text("y")
    return bench.workspace


def noted(session):
    """Whether each result has the note."""
    results = [message.result for message in session.state.messages if message.result]
    return [any("same result 3 times" in part.text for part in each.content) for each in results]


def questions(user):
    return [each.title for each in user.asked if each.kind == "limit"]


@pytest.mark.parametrize(
    "call",
    [
        READ,
        FAIL,
        calls("read_file", path="missing.txt"),
        calls("read_file", path=3),
        calls("no_such_tool"),
        calls("edit_file", path="a.txt", old="absent", new="b"),
    ],
)
@pytest.mark.req("R-LOOP-11")
async def test_third_equal_call_with_the_same_result_is_noted(bench, files, call):
    session = await bench.session(Scripted([call, call, call, call, says("sorry")]))
    events = await play(session.send("go"))
    assert [each.level for each in events if isinstance(each, Notice)] == ["warning"]
    assert noted(session) == [False, False, True, False]


@pytest.mark.parametrize("repeated", [(READ,), (READ, READ_OTHER)], ids=["one", "alternating"])
@pytest.mark.req("R-LOOP-11")
async def test_user_decides_after_five_equal_calls(bench, files, repeated):
    script = list(itertools.islice(itertools.cycle(repeated), 30))
    user = User(ALLOW, DENY)
    session = await bench.session(Scripted(script), confirm=user)
    await play(session.send("go"))
    assert len(questions(user)) == 2
    calls_made = session.state.messages[-2:]
    assert len(noted(session)) == 2 * (5 * len(repeated) - len(repeated) + 1)
    assert calls_made[-1].result is not None
    assert "in a loop" in session.limit_reached
    assert validate_session(session.state.messages) == []


async def test_denied_call_that_is_repeated_ends_in_a_question(bench, files):
    user = User(DENY)
    session = await bench.session(Scripted([FAIL] * 9), confirm=user)
    await play(session.send("go"))
    assert len(user.asked) == 6
    assert len(questions(user)) == 1


async def test_polling_whose_result_changes_is_no_loop(bench, files):
    poll = calls("shell", command="echo >> log; wc -l < log")
    user = User(ALLOW)
    session = await bench.session(Scripted([*[poll] * 8, says("done")]), confirm=user)
    await play(session.send("go"))
    assert questions(user) == []
    assert not any(noted(session))


async def test_same_failure_after_each_change_is_no_loop(bench, files):
    changes = [calls("write_file", path="a.txt", content=str(number)) for number in range(6)]
    script = [step for change in changes for step in (change, FAIL)]
    session = await bench.session(Scripted([*script, says("done")]), mode=Mode.AUTO)
    await play(session.send("go"))
    assert not any(noted(session))


async def test_reading_between_equal_calls_does_not_hide_a_loop(bench, files):
    reads = [calls("read_file", path="a.txt", offset=1, limit=n) for n in range(1, 3)]
    script = [FAIL, reads[0], FAIL, reads[1], FAIL, says("done")]
    session = await bench.session(Scripted(script), mode=Mode.AUTO)
    await play(session.send("go"))
    assert noted(session) == [False, False, False, False, True]


def test_durations_in_a_result_make_no_difference():
    repeated = RepeatedCalls()
    for time in ("0.03s", "0.11s", "12.50 s", "1.2ms", "0.1s"):
        result = f"1 failed in {time}"
        count = repeated.add("shell", {"command": "pytest"}, result, has_effects=True)
    assert count == 5
    assert repeated.problem is not None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=40))
def test_equal_calls_count_from_the_last_new_one_with_effects(steps):
    repeated, seen = RepeatedCalls(), list[tuple[int, int]]()
    for arguments, result, has_effects in steps:
        pair = (arguments, result)
        if has_effects and pair not in seen:
            seen.clear()
        seen.append(pair)
        count = repeated.add("x", {"n": arguments}, str(result), has_effects=has_effects)
        assert count == seen.count(pair)
    assert (repeated.problem is not None) == any(seen.count(each) >= 5 for each in seen)


@pytest.mark.parametrize("text", ["9" * 200_000, "9." * 100_000, "1.5" * 70_000])
def test_result_of_digits_costs_no_time(text):
    assert RepeatedCalls().add("x", {}, text, has_effects=False) == 1
