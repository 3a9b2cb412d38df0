import stat
import subprocess
import sys

import pytest

from yourtool.tui.drafts import Draft
from yourtool.tui.history import MAX_ENTRIES, History


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("R-TUI-02")
def test_prompts_persist_per_workspace(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    history = History(tmp_path / "state", here)
    history.add(Draft("first"))
    history.add(Draft("second [Pasted text #1: 2 lines]", ("x\ny",)))
    again = History(tmp_path / "state", here)
    assert [entry.full for entry in again.entries] == ["first", "second x\ny"]
    assert History(tmp_path / "state", there).entries == []


def test_history_is_private(tmp_path):
    history = History(tmp_path / "state", tmp_path)
    history.take_draft()
    history.add(Draft("a"))
    history.keep_draft(Draft("b"))
    directory = tmp_path / "state" / "prompts"
    assert mode(directory) == 0o700
    assert {mode(path) for path in directory.iterdir()} == {0o600}
    history.close()


def test_walking_back_and_forth_ends_at_the_draft(tmp_path):
    history = History(tmp_path, tmp_path)
    for text in ("one", "two"):
        history.add(Draft(text))
    assert history.older(Draft("three")) == Draft("two")
    assert history.older(Draft("two")) == Draft("one")
    assert history.older(Draft("one")) is None
    assert history.newer() == Draft("two")
    assert history.newer() == Draft("three")
    assert history.newer() is None


def test_the_same_prompt_twice_in_a_row_counts_once(tmp_path):
    history = History(tmp_path, tmp_path)
    history.add(Draft("a"))
    history.add(Draft("a"))
    history.add(Draft("  "))
    assert history.entries == [Draft("a")]


@pytest.mark.req("R-TUI-02")
def test_the_draft_survives_a_killed_process(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from yourtool.tui.drafts import Draft; from yourtool.tui.history import History;"
        "h = History(Path(sys.argv[1]), Path(sys.argv[1])); h.take_draft();"
        "h.keep_draft(Draft('half a thought')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    history = History(tmp_path, tmp_path)
    assert history.take_draft() == Draft("half a thought")
    history.close()


def test_two_programs_keep_drafts_of_their_own(tmp_path):
    first, second = History(tmp_path, tmp_path), History(tmp_path, tmp_path)
    assert first.take_draft() == second.take_draft() == Draft()
    first.keep_draft(Draft("first"))
    second.keep_draft(Draft("second"))
    first.close()
    third = History(tmp_path, tmp_path)
    assert third.take_draft() == Draft("first")
    second.close()
    third.close()


def test_an_unreadable_line_is_skipped_and_old_lines_are_dropped(tmp_path):
    history = History(tmp_path, tmp_path)
    history.add(Draft("kept"))
    [file] = (tmp_path / "prompts").glob("*.jsonl")
    file.write_bytes(b"{broken\n" + file.read_bytes() * (2 * MAX_ENTRIES + 1) + b"also broken\n")
    again = History(tmp_path, tmp_path)
    assert set(again.entries) == {Draft("kept")}
    assert len(file.read_bytes().splitlines()) < MAX_ENTRIES + 1


def test_a_state_directory_that_cannot_be_written_costs_nothing_but_memory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = History(blocked, tmp_path)
    assert history.take_draft() == Draft()
    history.add(Draft("a"))
    history.keep_draft(Draft("b"))
    assert history.entries == [Draft("a")]


def test_only_the_last_megabytes_of_a_history_are_read(tmp_path):
    history = History(tmp_path, tmp_path)
    for number in range(25):
        history.add(Draft(f"{number}: " + "x" * 900_000))
    again = History(tmp_path, tmp_path)
    assert [entry.text.partition(":")[0] for entry in again.entries] == [
        str(number) for number in range(17, 25)
    ]
    assert History(tmp_path, tmp_path).entries == again.entries
    assert sum(file.stat().st_size for file in (tmp_path / "prompts").iterdir()) < 8_000_000
