"""Memory: what a change does to a file, and its limits in bytes."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.errors import ToolError
from yourtool.tools.guidance.memory import MemoryFile, Remember, change_memory, preview_memory


@pytest.fixture
def file(tmp_path):
    return MemoryFile(tmp_path / "memory" / "USER.md", "About the user", 20, 40)


def change(file, text, old="", *, whole=False):
    return change_memory(file, Remember(file="USER.md", text=text, old=old, all=whole))[0]


@pytest.mark.req("R-MEM-01")
def test_line_is_added_replaced_and_the_whole_consolidated(file):
    assert change(file, "  likes\n tabs ") == "`USER.md` has 11 of 40 bytes."
    change(file, "é")
    assert file.read() == "likes tabs\né\n"
    change(file, "spaces", "tabs")
    assert file.read() == "likes spaces\né\n"
    change(file, "short", whole=True)
    assert file.read() == "short\n"
    change(file, "", whole=True)
    assert file.read() == ""


@pytest.mark.req("R-MEM-01")
def test_soft_limit_asks_to_shorten_and_hard_limit_refuses(file):
    assert "Shorten it" in change(file, "é" * 10)
    before = file.path.read_bytes()
    with pytest.raises(ToolError, match="would have 42 bytes, more than 40, and is unchanged"):
        change(file, "é" * 10)
    assert file.path.read_bytes() == before


@pytest.mark.parametrize(("text", "old"), [(" \n", ""), ("x", "no"), ("x", "a")])
def test_impossible_change_leaves_the_file_unchanged(file, text, old):
    change(file, "a a")
    with pytest.raises(ToolError):
        change(file, text, old)
    assert file.read() == "a a\n"


def test_file_that_was_made_too_large_is_neither_cut_nor_replaced(file):
    change(file, "x")
    file.path.write_bytes(b"x" * 10_000_000)
    for whole in (False, True):
        with pytest.raises(ToolError, match="more than 40 bytes"):
            change(file, "y", whole=whole)
    assert file.path.stat().st_size == 10_000_000
    assert len(file.read()) == 40


def test_change_after_the_approval_is_refused(file):
    args = Remember(file="USER.md", text="b")
    preview = preview_memory(file, args)
    assert preview.protected
    assert "+b" in preview.body
    change(file, "a")
    with pytest.raises(ToolError, match="has changed since the approval"):
        change_memory(file, args, preview.guard)
    assert file.read() == "a\n"


@pytest.mark.req("R-MEM-02")
def test_concurrent_writers_lose_no_line(tmp_path):
    file = MemoryFile(tmp_path / "USER.md", "", 4_000, 4_000)
    threads = [threading.Thread(target=change, args=(file, f"line {each}")) for each in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(file.read().splitlines()) == sorted(f"line {each}" for each in range(20))


@pytest.mark.req("R-MEM-02")
def test_program_that_reads_the_file_during_a_change_has_the_whole_old_text(file):
    change(file, "old text")
    with file.path.open() as opened:
        change(file, "new", whole=True)
        assert opened.read() == "old text\n"
    assert file.read() == "new\n"
    assert [each.name for each in file.path.parent.iterdir()] == ["USER.md"]


@given(st.lists(st.text(max_size=12), max_size=6))
def test_file_never_exceeds_the_hard_limit(tmp_path_factory, texts):
    file = MemoryFile(tmp_path_factory.mktemp("memory") / "USER.md", "", 20, 40)
    for text in texts:
        before = file.read()
        try:
            change(file, text)
        except ToolError:
            assert file.read() == before
        assert len(file.read().encode()) <= 40
