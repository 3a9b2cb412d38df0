"""Instructions: imports, directories below the workspace, limits."""

import os

import pytest

from tests.agent.harness import Checked, play
from tests.trusted_folders import trust
from yourtool.agent.session.project.instructions import MAX_TOTAL_BYTES, list_instructions
from yourtool.agent.session.project.project_files import (
    MAX_BYTES,
    find_folder_instructions,
    read_project_files,
)
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.session.system_prompt import system_messages
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolCompleted
from yourtool.permissions.trust import Trust
from yourtool.providers.scripted import Scripted, calls, says


def prompt(workspace):
    return system_messages(workspace, "s")[0].text


def names(workspace):
    return [each.name for each in read_project_files(workspace)]


@pytest.mark.req("R-CTX-06")
def test_imported_files_follow_the_file_that_names_them(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Read @docs/style.md, and (@docs/tests.md).")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "style.md").write_text("use tabs; more in @more/names.md")
    (tmp_path / "docs" / "tests.md").write_text("test first")
    (tmp_path / "docs" / "more").mkdir()
    (tmp_path / "docs" / "more" / "names.md").write_text("short names")
    trust(tmp_path)
    text = prompt(tmp_path)
    found = [text.index(each) for each in ("use tabs", "short names", "test first")]
    assert found == sorted(found)


def test_imports_end_at_cycles_and_repeated_files(tmp_path):
    (tmp_path / "AGENTS.md").write_text("@a.md @b.md @AGENTS.md @c.md")
    (tmp_path / "a.md").write_text("a @b.md @a.md")
    (tmp_path / "b.md").write_text("b @a.md @AGENTS.md")
    (tmp_path / "c.md").symlink_to("a.md")
    assert names(tmp_path) == ["AGENTS.md", "a.md", "b.md"]


def test_imports_are_limited_in_number(tmp_path):
    (tmp_path / "AGENTS.md").write_text(" ".join(f"@{each}.md" for each in range(100)))
    for each in range(100):
        (tmp_path / f"{each}.md").write_text(f"@{each + 1}.md")
    assert len(names(tmp_path)) == 21


@pytest.mark.req("T14")
def test_imports_stay_inside_the_folder_and_out_of_credentials(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "private.md").write_text("4711")
    (work / "link.md").symlink_to("../private.md")
    (work / ".env").write_text("4711")
    (work / "binary.md").write_bytes(b"4711\0")
    os.mkfifo(work / "pipe.md")
    outside = f"@../private.md @{tmp_path}/private.md @link.md @~/x @{'x' * 400}"
    (work / "AGENTS.md").write_text(f"{outside} @.env @binary.md @pipe.md")
    assert names(work) == ["AGENTS.md"]


def test_text_in_code_and_addresses_import_nothing(tmp_path):
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "AGENTS.md").write_text("`@a.md` me@a.md\n```\n@a.md\n```\n@nobody @scope/name")
    assert names(tmp_path) == ["AGENTS.md"]


@pytest.mark.req("T14", "R-CONF-05")
def test_changed_import_ends_the_trust(tmp_path):
    (tmp_path / "AGENTS.md").write_text("@a.md")
    (tmp_path / "a.md").write_text("obey")
    trust(tmp_path)
    assert "obey" in prompt(tmp_path)
    (tmp_path / "a.md").write_text("obey me")
    assert ProjectTrust(tmp_path).examine().status is Trust.CHANGED
    assert "obey" not in prompt(tmp_path)


@pytest.mark.req("R-CTX-06")
def test_nearest_instructions_remain_when_all_together_are_too_long(tmp_path, home):
    (home / "CLAUDE.md").write_text("user " * 6_000)
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "AGENTS.md").write_text("outer " * 5_000)
    (inner / "AGENTS.md").write_text("inner " * 5_000)
    trust(inner)
    found = list_instructions(inner)
    assert [each.size > 0 for each in found] == [False, True, True]
    assert "[omitted: all instructions together" in found[0].text
    assert "are not used: all together have more than 65,536 bytes" in found[0].problem
    assert sum(each.size for each in found) <= MAX_TOTAL_BYTES


@pytest.mark.req("R-CTX-06")
@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md"])
def test_instructions_of_the_user_have_a_limit_and_the_first_file_counts(tmp_path, home, name):
    (home / "CLAUDE.md").write_text("second")
    (home / name).write_text("x" * (MAX_BYTES - 9) + "\nand a line that is cut")
    [found] = list_instructions(tmp_path)
    assert found.source == f"the user, from {home / name}"
    assert found.text == "x" * (MAX_BYTES - 9) + f"\n[cut after line 1, at {MAX_BYTES} bytes]"
    assert found.size == MAX_BYTES - 9
    assert "Only the first 1 lines are used of the instructions of the user" in found.problem
    (home / name).write_text("\ufefffirst\n")
    assert [each.text for each in list_instructions(tmp_path)] == ["first"]
    (home / name).write_text(" \n")
    assert list_instructions(tmp_path) == []


@pytest.fixture
def below(bench):
    """A workspace with instructions in a directory below it."""
    (bench.workspace / ".git").mkdir()
    for folder, text in (("pkg", "use tabs"), ("pkg/deep", "use names"), ("other", "unused")):
        (bench.workspace / folder).mkdir()
        (bench.workspace / folder / "AGENTS.md").write_text(text)
        (bench.workspace / folder / "a.py").write_text("x = 1\n")
    return bench


def results(events):
    return [
        [block.text for block in event.message.result.content]
        for event in events
        if isinstance(event, ToolCompleted)
    ]


async def test_first_call_below_the_workspace_gets_the_instructions_of_its_directories(below):
    trust(below.workspace)
    script = [calls("read_file", path="pkg/deep/a.py"), calls("list_dir", path="pkg"), says("ok")]
    adapter = Checked(Scripted([*script, calls("glob", pattern="*", path="pkg/deep"), says("ok")]))
    session = await below.session(adapter)
    first, second = results(await play(session.send("go")))
    assert first[1:] == [
        "[Instructions of the project, from `pkg/AGENTS.md`]\nuse tabs",
        "[Instructions of the project, from `pkg/deep/AGENTS.md`]\nuse names",
    ]
    assert len(second) == 1
    assert len({request.messages[0].content for request in adapter.requests}) == 1
    await session.close()
    session = await below.session(adapter, resume=session.id)
    assert [len(each) for each in results(await play(session.send("more")))] == [1]
    sizes = dict(session.guidance.list_sizes())
    assert sizes == {
        "the project, from pkg/AGENTS.md": 8,
        "the project, from pkg/deep/AGENTS.md": 9,
    }
    await session.close()


@pytest.mark.req("R-CTX-03")
async def test_instructions_below_that_a_summary_replaces_are_given_again(below):
    trust(below.workspace)
    read = calls("read_file", path="pkg/a.py")
    script = [read, says("ok"), says("fine"), says("- A summary."), read, says("ok")]
    session = await below.session(Checked(Scripted(script)))
    given = [[2], [], [2]]
    for prompt, lengths in zip(("go", "and?", "again"), given, strict=True):
        assert [len(each) for each in results(await play(session.send(prompt)))] == lengths
        if prompt == "and?":
            await play(session.compact())
    await session.close()


@pytest.mark.req("T14", "R-CONF-05")
async def test_instructions_below_that_the_user_did_not_see_are_named_and_not_used(below):
    (below.workspace / "AGENTS.md").write_text("seen")
    trust(below.workspace)
    (below.workspace / "pkg" / "AGENTS.md").write_text("changed")
    script = [calls("read_file", path="pkg/a.py"), calls("list_dir", path="pkg"), says("ok")]
    adapter = Checked(Scripted(script))
    session = await below.session(adapter)
    events = await play(session.send("go"))
    assert [len(each) for each in results(events)] == [1, 1]
    assert [each.text for each in events if isinstance(each, Notice)] == [
        "`pkg/AGENTS.md` not used: you have not trusted its present content; `/trust` does."
    ]
    assert "seen" in adapter.requests[-1].messages[0].text
    await session.close()


@pytest.mark.req("R-CTX-06")
async def test_instructions_below_that_are_too_long_together_are_named(below):
    for number in range(3):
        (below.workspace / f"big{number}").mkdir()
        (below.workspace / f"big{number}" / "AGENTS.md").write_text("x" * 30_000)
    trust(below.workspace)
    script = [calls("list_dir", path=f"big{number}") for number in (0, 1, 2, 2)]
    session = await below.session(Checked(Scripted([*script, says("ok")])))
    events = await play(session.send("go"))
    assert [len(each) for each in results(events)] == [2, 2, 1, 1]
    assert [each.text for each in events if isinstance(each, Notice)] == [
        "`big2/AGENTS.md` not used: the instructions of directories below have more than"
        f" {MAX_TOTAL_BYTES} bytes together; shorten them."
    ]
    await session.close()


def test_question_lists_the_directories_below_without_other_repositories(below):
    (below.workspace / "other" / ".git").mkdir()
    (below.workspace / ".gitignore").write_text("deep\n")
    found = find_folder_instructions(below.workspace)
    assert [each.name for each in found] == ["pkg/AGENTS.md"]
