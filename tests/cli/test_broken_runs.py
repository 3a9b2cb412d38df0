"""A failed run of `-p` still prints a result in the requested format (R-CLI-02)."""

import json
import sqlite3
from contextlib import closing

import pytest

from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")

SCRIPT = [[{"say": "I look."}, {"call": "list_dir", "input": {}}], [{"say": "Two cats."}]]
FORMATS = ("text", "json", "stream-json")


def break_store(event: str) -> None:
    """Make the database reject one kind of event."""
    with closing(sqlite3.connect(resolve_paths().database)) as database:
        database.execute(
            f"CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.type = '{event}'"
            " BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END"
        )


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize(
    "event", ["turn.started", "llm.call_completed", "tool.completed", "turn.completed"]
)
def test_store_failure_in_a_run_prints_a_result_and_exits_1(line, event, output):
    line.script([{"say": "fine"}])
    assert line("-p", "hi")[0] == 0
    break_store(event)
    line.script(*SCRIPT)
    code, out, err = line("-p", "how many?", "--output-format", output)
    assert code == 1
    assert "the disk is on fire" in err
    if output == "text":
        return
    result = json.loads(out.splitlines()[-1])
    assert (result["type"], result["exit_code"], result["is_error"]) == ("result", 1, True)
    assert "the disk is on fire" in result["error"]["message"]
    assert result["session_id"].startswith("sess_")
    assert result["num_requests"] == {"turn.started": 0, "turn.completed": 2}.get(event, 1)


@pytest.mark.parametrize("output", ["json", "stream-json"])
@pytest.mark.parametrize("cause", ["no prompt", "set `YOURTOOL_HOME` to a directory"])
def test_run_that_cannot_start_prints_a_result_and_exits_2(
    line, tmp_path, monkeypatch, cause, output
):
    prompt = "hi"
    if cause == "no prompt":
        prompt = " "
    else:
        (tmp_path / "file").touch()
        monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "file" / "home"))
    code, out, err = line.bare(
        "-p", prompt, "--cwd", str(line.workspace), "-m", "demo:tour", "--output-format", output
    )
    [result] = map(json.loads, out.splitlines())
    assert (code, result["type"], result["exit_code"]) == (2, "result", 2)
    assert cause in err and cause in result["error"]["message"]


@pytest.mark.parametrize("output", FORMATS)
def test_store_failure_after_the_answer_does_not_lose_the_answer(line, output):
    line.script([{"say": "fine"}])
    assert line("-p", "hi")[0] == 0
    break_store("session.ended")
    line.script(*SCRIPT)
    code, out, err = line("-p", "how many?", "--output-format", output)
    assert code == 0
    assert "the disk is on fire" in err
    last = out.splitlines()[-1]
    assert last == "Two cats." if output == "text" else json.loads(last)["result"] == "Two cats."


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("room", [0, 8, 24])
def test_full_disk_is_reported_and_exits_1(line, monkeypatch, output, room):
    line.script([{"say": "fine"}])
    assert line("-p", "hi")[0] == 0
    line.script([{"say": "x" * 100_000}])
    connect = sqlite3.connect

    def full(path, **options):
        connection = connect(path, **options)
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + room}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", full)
    code, out, err = line("-p", "how many?", "--output-format", output)
    assert code == 1
    assert "the disk is full; free some space and try again" in err
    assert "internal" not in err
    if output != "text":
        result = json.loads(out.splitlines()[-1])
        assert (result["exit_code"], result["error"]["class"]) == (1, "other")
