import stat
import subprocess
import sys

import msgspec
import pytest

from yourtool.messages.blocks import ImageBlock, ImageSource
from yourtool.tui.input.drafts import ChipAttachment, Draft, StoredDraft
from yourtool.tui.input.prompt_history import (
    MAX_ENTRIES,
    MAX_READ_BYTES,
    PromptHistory,
    history_choices,
)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("R-TUI-02")
def test_prompts_persist_per_workspace(tmp_path):
    here, there = tmp_path / "a", tmp_path / "b"
    history = PromptHistory(tmp_path / "state", here)
    history.add(Draft("first"))
    history.add(Draft("second [Pasted text #1: 2 lines]", ("x\ny",)))
    history.wait_until_written()
    again = PromptHistory(tmp_path / "state", here)
    assert [entry.full_text for entry in again.entries] == ["first", "second x\ny"]
    assert PromptHistory(tmp_path / "state", there).entries == []


def test_history_is_private(tmp_path):
    history = PromptHistory(tmp_path / "state", tmp_path)
    history.claim_draft()
    history.add(Draft("a"))
    history.save_draft(Draft("b"))
    directory = tmp_path / "state" / "prompts"
    assert mode(directory) == 0o700
    assert {mode(path) for path in directory.iterdir()} == {0o600}
    history.close()


def test_stepping_back_and_forth_ends_at_the_draft(tmp_path):
    history = PromptHistory(tmp_path, tmp_path)
    for text in ("one", "two"):
        history.add(Draft(text))
    assert history.older(Draft("three")) == Draft("two")
    assert history.older(Draft("two")) == Draft("one")
    assert history.older(Draft("one")) is None
    assert history.newer() == Draft("two")
    assert history.newer() == Draft("three")
    assert history.newer() is None


def test_repeated_prompt_is_added_once(tmp_path):
    history = PromptHistory(tmp_path, tmp_path)
    history.add(Draft("a"))
    history.add(Draft("a"))
    history.add(Draft("  "))
    assert history.entries == [Draft("a")]


@pytest.mark.req("R-TUI-02")
def test_draft_survives_a_killed_process(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from yourtool.tui.input.drafts import Draft;"
        "from yourtool.tui.input.prompt_history import PromptHistory;"
        "history = PromptHistory(Path(sys.argv[1]), Path(sys.argv[1])); history.claim_draft();"
        "history.save_draft(Draft('half a thought')); history.wait_until_written();"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    history = PromptHistory(tmp_path, tmp_path)
    assert history.claim_draft() == StoredDraft("half a thought")
    history.close()


def test_two_programs_have_separate_drafts(tmp_path):
    first, second = PromptHistory(tmp_path, tmp_path), PromptHistory(tmp_path, tmp_path)
    assert first.claim_draft() == second.claim_draft() == StoredDraft()
    first.save_draft(Draft("first"))
    second.save_draft(Draft("second"))
    first.close()
    third = PromptHistory(tmp_path, tmp_path)
    assert third.claim_draft() == StoredDraft("first")
    second.close()
    third.close()


def test_unreadable_line_is_skipped_and_old_lines_are_dropped(tmp_path):
    history = PromptHistory(tmp_path, tmp_path)
    history.add(Draft("kept"))
    history.wait_until_written()
    [file] = (tmp_path / "prompts").glob("*.jsonl")
    file.write_bytes(b"{broken\n" + file.read_bytes() * (2 * MAX_ENTRIES + 1) + b"also broken\n")
    again = PromptHistory(tmp_path, tmp_path)
    assert set(again.entries) == {Draft("kept")}
    assert len(file.read_bytes().splitlines()) < MAX_ENTRIES + 1


@pytest.mark.parametrize("damaged", [b'{"text":"\xff"}', b'{"text":"a","x":' + b"[" * 100_000])
def test_damaged_history_and_draft_do_not_stop_the_program(tmp_path, damaged):
    history = PromptHistory(tmp_path, tmp_path)
    history.claim_draft()
    history.save_draft(Draft("half a thought"))
    history.add(Draft("kept"))
    history.close()
    [draft] = (tmp_path / "prompts").glob("*.draft")
    [file] = (tmp_path / "prompts").glob("*.jsonl")
    draft.write_bytes(damaged)
    file.write_bytes(damaged + b"\n" + file.read_bytes())
    again = PromptHistory(tmp_path, tmp_path)
    assert again.claim_draft() == StoredDraft()
    assert again.entries == [Draft("kept")]
    again.close()


def test_unwritable_state_directory_only_disables_storage(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = PromptHistory(blocked, tmp_path)
    assert history.claim_draft() == StoredDraft()
    history.add(Draft("a"))
    history.save_draft(Draft("b"))
    assert history.entries == [Draft("a")]


def test_only_the_end_of_a_large_history_is_read(tmp_path):
    history = PromptHistory(tmp_path, tmp_path)
    for number in range(25):
        history.add(Draft(f"{number}: " + "x" * 900_000))
    history.wait_until_written()
    again = PromptHistory(tmp_path, tmp_path)
    assert [entry.full_text.partition(":")[0] for entry in again.entries] == [
        str(number) for number in range(17, 25)
    ]
    assert PromptHistory(tmp_path, tmp_path).entries == again.entries
    assert sum(file.stat().st_size for file in (tmp_path / "prompts").iterdir()) < 8_000_000


def test_earlier_prompts_are_listed_once_latest_first():
    rows = history_choices([Draft("a"), Draft("b\nmore"), Draft("a")])
    assert [(row.value, row.title) for row in rows] == [("2", "a"), ("1", "b …")]


@pytest.mark.parametrize("size", [1_000_000, MAX_READ_BYTES])
def test_huge_stored_text_is_folded_or_skipped(tmp_path, size):
    history = PromptHistory(tmp_path, tmp_path)
    history.claim_draft()
    history.add(Draft("first"))
    text = "word " * (size // 5)
    history.save_draft(Draft(text))
    history.close()
    [lines] = (tmp_path / "prompts").glob("*.jsonl")
    lines.write_bytes(msgspec.json.encode(Draft(text)) + b"\n" + lines.read_bytes())
    again = PromptHistory(tmp_path, tmp_path)
    left = again.claim_draft()
    again.close()
    for draft in (left, *again.entries):
        assert len(draft.text) < 1_000
    assert again.entries[-1] == Draft("first")
    if size < MAX_READ_BYTES:
        assert again.entries[0].full_text == text


def test_stashed_drafts_survive_a_crash(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from yourtool.tui.input.drafts import Draft\n"
        "from yourtool.tui.input.prompt_history import *\n"
        "history = PromptHistory(Path(sys.argv[1]), Path(sys.argv[1])); history.claim_draft();"
        "history.save_draft(Draft(), (Draft('a', ('b',)), Draft('c'))); "
        "history.wait_until_written(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    history = PromptHistory(tmp_path, tmp_path)
    assert history.claim_draft() == StoredDraft(stash=(Draft("a", ("b",)), Draft("c")))
    history.close()


def test_attachments_of_drafts_survive(tmp_path):
    image = ImageBlock(ImageSource("url", "https://example.org/a.png"), "image/png")
    draft = Draft("[Image #1]", (), (ChipAttachment("[Image #1]", image),))
    history = PromptHistory(tmp_path, tmp_path)
    history.claim_draft()
    history.save_draft(draft, (draft,))
    history.close()
    left = history.claim_draft()
    assert (left.draft, left.stash) == (draft, (draft,))
    history.close()


def test_draft_file_of_an_earlier_version_is_read(tmp_path):
    history = PromptHistory(tmp_path, tmp_path)
    history.claim_draft()
    history.save_draft(Draft("a"))
    history.close()
    [file] = tmp_path.rglob("*.draft")
    file.write_text('{"text": "old", "pastes": ["x"]}')
    assert history.claim_draft() == StoredDraft("old", ("x",))
    history.close()


def test_uses_of_commands_are_counted_from_the_prompts_of_earlier_runs(tmp_path):
    history = PromptHistory(tmp_path / "state", tmp_path)
    for text in ("/undo", "/model x", "/ no", "why /undo?", "/model y", "/"):
        history.add(Draft(text))
    assert not history.command_uses  # the order does not change during a run
    history.wait_until_written()
    again = PromptHistory(tmp_path / "state", tmp_path)
    assert again.command_uses == {"undo": 1, "model": 2, "no": 1}
