"""`yourtool sessions tree`: the branches of a session for programs and for `-p`."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-SEED-05")]


@pytest.mark.needs("extensions/importers")
def test_steps_are_shown_only_if_they_are_wanted(line):
    file = Path(__file__).parents[2] / "extensions/importers/files" / "operator_flat.jsonl"
    _, out, _ = line("sessions", "import", str(file), "--json")
    session_id = json.loads(out)["session_id"]
    assert "terminal" not in line("sessions", "tree", session_id)[1]
    assert "terminal" in line("sessions", "tree", session_id, "--steps")[1]


def test_long_entries_are_cut_except_for_programs(line):
    line.script([{"say": "Fine."}])
    session_id = line.result("-p", "a long prompt " * 50)["session_id"]
    shown = line("sessions", "tree", session_id)[1].splitlines()
    assert shown[0] == "1    prompt  " + ("a long prompt " * 50)[:99] + "…"
    [row, _] = json.loads(line("sessions", "tree", session_id, "--json")[1])
    assert len(row["text"]) > 600


def test_a_session_continues_at_an_entry_that_the_tree_numbers(line):
    line.script([{"say": "Fine."}])
    session_id = line.result("-p", "first")["session_id"]
    line.result("-p", "second", "--resume", session_id)
    code, out, _ = line("sessions", "tree", session_id)
    assert (code, out) == (
        0,
        "1    prompt  first\n2    reply   Fine.\n3    prompt  second\n4 *  reply   Fine.\n",
    )
    code, out, _ = line("sessions", "tree", session_id, "--at", "3")
    assert (code, out.splitlines()[-1]) == (0, "second")
    line.result("-p", "other", "--resume", session_id)
    code, out, _ = line("sessions", "tree", session_id, "--json", "--steps")
    found = [(each["text"], each["is_active"]) for each in json.loads(out)]
    assert found[2:] == [("second", False), ("Fine.", False), ("other", True), ("Fine.", True)]
    code, _, err = line("sessions", "tree", session_id, "--at", "9")
    assert (code, "no entry `9`" in err) == (2, True)
    code, out, _ = line("sessions", "tree", session_id, "--at", "4", "--json")
    assert json.loads(out)["prompt"] is None
