"""`yourtool sessions prune`."""

import json

import pytest

from tests.cli.test_sessions import run_sessions, start_session

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.req("R-PER-10")
def test_old_sessions_are_deleted_after_a_confirmation(line):
    ids = [start_session(line, prompt) for prompt in ("one", "two")]
    listed = run_sessions(line, "prune", "--keep", "1", "--dry-run")
    assert ids[0] in listed and ids[1] not in listed and "Would delete 1 session" in listed
    code, _, err = line("sessions", "prune", "--keep", "1")
    assert code == 2 and "`--yes` deletes" in err
    pruned = json.loads(run_sessions(line, "prune", "--keep", "1", "--yes", "--json"))
    assert [each["id"] for each in pruned["sessions"]] == [ids[0]]
    assert [each["id"] for each in json.loads(run_sessions(line, "list", "--json"))] == [ids[1]]
    assert "Deleted 0 sessions" in run_sessions(line, "prune", "--older-than", "1d")
    code, _, err = line("sessions", "prune", "--older-than", "long ago")
    assert code == 2 and "`--older-than long ago` is no time" in err
