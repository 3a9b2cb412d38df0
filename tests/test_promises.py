"""Each sentence about consent and privacy names the tests that show it, in `promises.toml`.

The table of a page has a row for each promise: the first words of the sentence, and its tests.
`facts` has the sentences that promise nothing, `open` those that no test shows yet.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.removable import find_needs
from yourtool.agent.session.project import project_files
from yourtool.permissions.shell.lines import syntax
from yourtool.process import guardian
from yourtool.settings.agent_config import UndoConfig
from yourtool.tools.changes import workspace_watch
from yourtool.tools.commands import expanded_targets
from yourtool.tools.git import git_files, git_object_store, git_restoring
from yourtool.tools.protection import places, reading, safety_copies
from yourtool.tools.sandbox.network import ports
from yourtool.tools.web import web
from yourtool.tools.workspace import file_states

ROOT = Path(__file__).parents[1]
PAGES = tomllib.loads((ROOT / "tests/promises.toml").read_text())
MIB = 2**20
NUMBERS = {
    "At most 32 KiB of a file count": project_files.MAX_BYTES == 32 * 2**10,
    "or a command of more than 4,096 characters": syntax.MAX_LENGTH == 4_096,
    "Its limits: 5,000 files, 64 MiB a file, 256 MiB, 20 seconds": (
        safety_copies.MAX_FILES,
        safety_copies.MAX_FILE_BYTES,
        safety_copies.MAX_BYTES,
        safety_copies.SECONDS,
    )
    == (5_000, 64 * MIB, 256 * MIB, 20),
    "it gets SIGTERM, and SIGKILL one second later": guardian.GRACE_SECONDS == 1,
    "which stays for 30 days": git_object_store.DAYS == 30,
    "and stay 30 days and 2 GiB from then on": (
        git_object_store.DAYS,
        git_object_store.MAX_SAVED_BYTES,
    )
    == (30, 2**31),
    "up to 64 MiB are copied": git_object_store.MAX_COPIED_BYTES == 64 * MIB,
    "during one `/undo` ends after 20 seconds": git_restoring.SECONDS == 20,
    "up to 20,000 files in `.git`": git_files.MAX_GIT_FILES == 20_000,
    "up to 16 MiB a file": file_states.MAX_STORED_BYTES == 16 * MIB,
    "files over 16 MiB": file_states.MAX_STORED_BYTES == 16 * MIB,
    "in the nearest 300 directories below": places._MAX_DIRECTORIES == 300,
    "of more than 1 MiB is noticed": reading.MAX_FILE_BYTES == MIB,
    "exceeds 2,000 files or 16 MiB in one": (reading.MAX_FILES, reading.MAX_BYTES)
    == (2_000, 16 * MIB),
    "or 20,000 files or 64 MiB in all of them": (reading.MAX_ALL_FILES, reading.MAX_ALL_BYTES)
    == (20_000, 64 * MIB),
    "up to 16 for a process": ports._MAX_OFFERS == 16,
    "Counting ends at 20,000 files": expanded_targets.MAX_COUNTED_FILES == 20_000,
    "more than 512 bytes after the host": web.MAX_TARGET_BYTES == 512,
    "the latest 5,000 of at most 16 MiB each and 64 MiB together": UndoConfig()
    == UndoConfig(max_files=5_000, max_file_bytes=16 * MIB, max_bytes=64 * MIB),
    "deletions beyond 5,000": workspace_watch.MAX_DELETED_FILES == 5_000,
    "Changes beyond 1,000 files of a command": workspace_watch.MAX_COMMAND_CHANGES == 1_000,
    "more than 100,000 files": workspace_watch.MAX_WATCHED_FILES == 100_000,
}
"""The limits on the pages, and whether the program has them."""
GENERATED = r"(?s)<!-- made by `make docs` -->.*?<!-- end -->"


def find_section(text: str, heading: str) -> str:
    """Return a section of a page with those below it; the whole page without a heading."""
    if not heading:
        return text
    start = text.index(f"\n{heading}\n")
    level = len(heading.split()[0])
    end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(text, start + len(heading) + 2)
    return text[start : end.start() if end else None]


def find_sentences(text: str) -> list[str]:
    """Return the sentences of a page, and the rows of its tables without their headings."""
    text = re.sub(r"(?s)```.*?```", "", re.sub(GENERATED, "", text))
    text = re.sub(r"(?m)^.*\n\|[-|]+\|$", "", text)
    blocks = re.split(r"\n\s*\n|\n(?=[-|#] ?)", text)
    sentences: list[str] = []
    for block in blocks:
        words = " ".join(block.split()).removeprefix("- ")
        if words and not words.startswith("#"):
            sentences += [words] if words[0] == "|" else re.split(r"(?<=[.?!]) (?=[A-Z`])", words)
    return sentences


def get_rows(page: dict[str, dict[str, list[str]]]) -> list[str]:
    return [*page["tests"], *page["facts"]["sentences"], *page["open"]["sentences"]]


@cache
def find_tests(path: Path) -> set[str]:
    """Return the names of the tests of a module."""
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("name", PAGES)
def test_every_sentence_has_one_row_and_every_row_a_sentence(name):
    path, _, heading = name.partition("#")
    heading = heading and f"#{heading}"
    sentences = find_sentences(find_section((ROOT / path).read_text(), heading))
    rows = get_rows(PAGES[name])
    assert len(rows) == len(set(rows))
    starts = {each: [row for row in rows if each.startswith(row)] for each in sentences}
    assert not {each for each, found in starts.items() if len(found) != 1}, "add or mend the row"
    assert not set(rows) - {found[0] for found in starts.values()}, "not on the page any more"


def find_nodes(name: str) -> set[str]:
    """Return the tests that the rows of a page name."""
    return {node for tests in PAGES[name]["tests"].values() for node in tests}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=find_needs(find_nodes(name))) for name in PAGES]
)
def test_every_promise_names_tests_that_exist(name):
    assert not [row for row, tests in PAGES[name]["tests"].items() if not tests]
    nodes = find_nodes(name)
    missing = set[str]()
    for node in nodes:
        path, _, test = node.partition("::")
        if not (ROOT / path).is_file() or test not in find_tests(ROOT / path):
            missing.add(node)
    assert not missing


@pytest.mark.parametrize("text", NUMBERS)
def test_limits_on_the_pages_are_those_of_the_program(text):
    pages = {name.partition("#")[0] for name in PAGES}
    words = " ".join(" ".join((ROOT / page).read_text() for page in pages).split())
    assert text in words
    assert NUMBERS[text]
