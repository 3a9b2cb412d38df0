"""`yourtool sessions delete`, `forget` and `removals` (R-PER-08, R-CRD-06)."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from tests.cli.test_sessions import run_sessions, start_session
from tests.e2e.terminal import YOURTOOL, Terminal
from yourtool.paths import resolve_paths
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.usefixtures("own_logging")

USER = "usr_01M85F2RMG2JJ6QSCWQX2N5C33"


def list_ids(line):
    return [each["id"] for each in json.loads(run_sessions(line, "list", "--json"))]


@pytest.mark.remaining
@pytest.mark.req("R-PER-08")
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 3)])
def test_session_is_deleted_in_a_terminal_after_a_yes(line, tmp_path, answer, code):
    session_id = start_session(line, "why is it slow?")
    command = (*YOURTOOL, "sessions", "delete", session_id)
    with Terminal(command, cwd=tmp_path, env={"YOURTOOL_HOME": str(line.home)}) as terminal:
        terminal.wait(r"Delete “why is it slow\?” permanently", r"\[y/N\]")
        assert list_ids(line) == [session_id]
        terminal.send(f"{answer}\r")
        assert terminal.end() == code
    assert list_ids(line) == ([] if code == 0 else [session_id])


@pytest.mark.remaining
def test_session_is_deleted_in_a_terminal_without_a_question(line, tmp_path):
    session_id = start_session(line)
    command = (*YOURTOOL, "sessions", "delete", session_id, "--yes")
    with Terminal(command, cwd=tmp_path, env={"YOURTOOL_HOME": str(line.home)}) as terminal:
        terminal.wait(f"Deleted {session_id}")
        assert terminal.end() == 0


@pytest.mark.needs("extensions/repair")
@pytest.mark.req("R-CRD-06")
def test_records_of_deleted_sessions_have_time_session_and_reason(line):
    assert run_sessions(line, "removals") == "Nothing was deleted yet.\n"
    one, two = start_session(line), start_session(line, "two")
    run_sessions(line, "delete", one)
    run_sessions(line, "prune", "--older-than", "2999-01-01", "--yes")
    last, first = run_sessions(line, "removals").splitlines()
    assert one in first and "2 messages" in first and first.endswith("  deleted")
    assert two in last and last.endswith("deleted by `sessions prune`")
    [record, _] = json.loads(run_sessions(line, "removals", "--json"))
    assert set(record) == {"removed_at", "subject", "reason", "messages"}


@pytest.mark.req("R-CRD-06")
def test_user_is_forgotten_only_with_a_confirmation(line):
    session_id = start_session(line)
    asyncio.run(stamp_user(session_id))
    code, out, _ = line("sessions", "forget", USER)
    assert code == 3 and "1 message has the id of this user. `--confirm` removes it" in out
    assert USER in run_sessions(line, "show", session_id, "--json")
    assert json.loads(run_sessions(line, "forget", USER, "--confirm", "--json")) == {
        "messages": 1,
        "forgotten": True,
    }
    assert USER not in run_sessions(line, "show", session_id, "--json")
    [record] = json.loads(run_sessions(line, "removals", "--json"))
    assert record["reason"] == "forgotten" and USER not in record["subject"]
    assert line("sessions", "forget", " ")[0] == 2


async def stamp_user(session_id):
    """Store the id of a user with the prompt of a session, as servers with users do."""
    store = SqliteStore(Database(resolve_paths().database))
    message = next(
        filter(None, (getattr(f, "message", None) for f in await store.read(session_id)))
    )
    await store.update_messages(replace(message, metadata=replace(message.metadata, user_id=USER)))
    await store.close()
