"""Every type of event is shown with every payload on the screen.

A new type of event without a mark in what is shown fails until `SILENT` has the reason.
"""

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal
from tests.security.shown_events import build_events, get_event_types, get_types_by_mark
from tests.security.test_payloads import HOSTILE, PLAIN, SEQUENCE, check, get_commands

TEXT = HOSTILE.replace("'", "")
MARK = re.compile(r"tide(\d+)\.")
_EDGES = "it shows the text of its neighbours"
_OTHERS = "the slash command of its topic shows it: `test_surfaces.py`"
_CARD = "the card of the call shows its results"
SILENT = {
    "AttemptFailed": "the stored failure shows its text",
    "BranchMerged": "a number of messages",
    "BranchSelected": "own words",
    "BudgetReached": "amounts and own words",
    "BudgetWarned": "amounts and own words",
    "ContextHandedOver": _OTHERS,
    "ContextOverridden": "own words",
    "DelegateCompleted": _CARD,
    "DelegateFailed": _CARD,
    "DelegateStarted": _CARD,
    "EntryImported": "an entry of another program, which only exports contain",
    "FileChangeFailed": "`/diff` and `/undo` name the file",
    "FilesRestoring": "the fact after it shows the names",
    "HookRan": _OTHERS,
    "LlmCallCostReported": "an amount",
    "MemoryUpdated": _CARD,
    "MessageStart": "the start of a reply",
    "PatternOverrideDismissed": _OTHERS,
    "PolicySnapshot": _OTHERS,
    "ProcessesReported": _OTHERS,
    "ProcessStarted": _OTHERS,
    "RouteOverridden": "the line of the selected model shows it",
    "RoutingPolicyChanged": "a number of rules",
    "RoutingSnapshot": "`yourtool route` shows it",
    "SessionCreated": "the lists of sessions show it",
    "SessionEffortSelected": "one of our words",
    "SessionEnded": "times and amounts",
    "SessionResumed": "times",
    "SkillLoaded": _CARD,
    "StreamError": "the stored failure shows its text",
    "TextEnd": _EDGES,
    "TextStart": _EDGES,
    "ThinkingEnd": _EDGES,
    "ThinkingStart": _EDGES,
    "ToolConfirmationResolved": _CARD,
    "TurnCancelled": "own words",
    "TurnCompleted": "times and amounts",
    "TurnEvaluated": _OTHERS,
    "UsageUpdate": "numbers",
}
"""Types of events of which the conversation shows no text, with the reason."""
MOVING = {"RetryScheduled"}
"""What the screen replaces by its own words."""


def find_types(shown: str) -> set[str]:
    """Return the types of events whose marks are in a text."""
    types = get_types_by_mark()
    return {types[int(number)] for number in MARK.findall(shown)}


def test_every_type_of_event_has_an_example():
    assert {type(each) for each in build_events("")} == get_event_types()


def play(directory: Path, text: str) -> bytes:
    """Show all events on the screen, with everything unfolded; return what the terminal got."""
    directory.mkdir()
    (directory / "text").write_text(text)
    program = (sys.executable, "-m", "tests.security.shown_events", str(directory / "text"))
    env = {"YOURTOOL_HOME": str(directory / "home")}
    size = {"columns": 120, "rows": 40}
    with Terminal(program, cwd=directory, env=env, watched=False, **size) as terminal:
        terminal.wait("0% ctx")
        terminal.send("\x0f")
        terminal.say("go")
        terminal.wait("4,000 in")
        terminal.say("/quit")
        assert terminal.end(20) == 0
    return bytes(terminal.output)


@pytest.mark.security
@pytest.mark.figure("payloads", part="all types of events")
@pytest.mark.req("T17", "T18", "T19")
def test_screen_of_every_type_of_event_has_no_command_of_a_payload(tmp_path):
    allowed = get_commands(play(tmp_path / "plain", PLAIN))
    output = play(tmp_path / "hostile", TEXT)
    check(output, allowed)
    types = {each.__name__ for each in get_event_types()}
    shown = SEQUENCE.sub(b"", output).decode("utf-8", "replace")
    assert find_types(shown) == types - SILENT.keys() - MOVING
