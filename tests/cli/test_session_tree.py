"""`yourtool sessions tree`: the branches of a session for programs and for `-p`."""

import json

import pytest

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-SEED-05")]


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
