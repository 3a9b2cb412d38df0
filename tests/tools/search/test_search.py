import asyncio
import contextlib
import os
import random
import re
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.contexts import Contexts, answer, get_refusal
from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.masking import Mask
from yourtool.tools.search import file_matcher
from yourtool.tools.search.search import glob, grep, search
from yourtool.tools.workspace.directory_walk import Folder, iter_files


def plant(root, **texts):
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


TREE = (
    "a.py",
    "src/b.py",
    "src/deep/c.py",
    "src/d.ts",
    "src/gen/g.py",
    "src/gen/keep.py",
    "build/e.py",
    "keep/build/f.py",
    "node_modules/x/h.py",
    ".git/i.py",
)


@pytest.fixture
def tree(root):
    for name in TREE:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name = '{name}'\nx = 1\n")
    (root / ".gitignore").write_text("/build/\n*.log\n")
    (root / "src" / ".gitignore").write_text("gen/*\n!gen/keep.py\n")
    (root / "src" / "x.log").write_text("name")
    return root


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", "a.py keep/build/f.py src/b.py src/deep/c.py src/gen/keep.py"),
        ("src/*.py", "src/b.py"),
        ("src/**/*.py", "src/b.py src/deep/c.py src/gen/keep.py"),
        ("*.{ts,md}", "src/d.ts"),
        ("./a.?y", "a.py"),
    ],
)
@pytest.mark.req("R-TOOL-11")
async def test_glob_skips_ignored_files(context, tree, pattern, found):
    assert sorted((await answer(glob, context, pattern=pattern)).split("\n")) == found.split()


@pytest.mark.req("R-TOOL-11")
async def test_glob_below_the_root_applies_the_rules_of_parent_directories(context, tree):
    assert await answer(glob, context, pattern="*.py", path="src/gen") == "src/gen/keep.py"
    assert await answer(glob, context, pattern="*.py", path="build") == "build/e.py"
    assert "No file matches" in await answer(glob, context, pattern="*.log")


@pytest.mark.req("R-TOOL-11")
async def test_glob_reports_the_total(context, tree):
    said = await answer(glob, context, pattern="*.py", limit=2)
    assert said.endswith("[5 files match; the first 2 are shown]")


async def test_hostile_gitignore_costs_limited_time_per_name(context, root):
    (root / ".gitignore").write_text("*.log\n" + ("*" + "[a]" * 60 + "b\n") * 5_000)
    plant(root, **{"x.log": "1", "y.py": "1"}, **{"a" * 250 + f"{n:05}": "" for n in range(5)})
    started = time.process_time()
    found = await answer(glob, context, pattern="*.py")
    assert time.process_time() - started < 3
    assert found == (
        "y.py\n[too many ignore patterns: only the first ones of `.gitignore` were applied]"
    )
    assert "y.py:1: 1\n" in (found := await answer(grep, context, pattern="1"))
    assert "[1 lines match in 1 files; too many ignore patterns: only the first ones" in found


async def test_patterns_of_nested_directories_cost_limited_time(context, root):
    folder = root
    for _ in range(3):
        (folder / ".gitignore").write_text(("*" + "[a]" * 60 + "b\n") * 50)
        folder /= "d"
        folder.mkdir()
    assert await answer(glob, context, pattern="*.py") == (
        "No file matches `*.py` in `.`. Files ignored by `.gitignore` are skipped; list"
        " their directory with `list_dir`.\n"
        "[too many ignore patterns: only the first ones of `d/d/.gitignore` were applied]"
    )


async def test_every_pattern_of_a_long_ordinary_gitignore_is_applied(context, root):
    lines = [f"generated/{n}/*.o\n/built_{n}\n" for n in range(2_000)]
    (root / ".gitignore").write_text("".join(lines))
    plant(root, built_0="", built_1999="", built_2000="", generated__1999__x__o="")
    assert await answer(glob, context, pattern="built*") == "built_2000"


def test_cancelled_walk_stops_within_a_directory(contexts, root):
    plant(root, **dict.fromkeys("abcdefgh", ""), **{".gitignore": "*.log\n"})

    class SetAtTheThirdLook(threading.Event):
        looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks >= 3

    cancelled = SetAtTheThirdLook()
    assert list(iter_files(contexts().workspace, ".", cancelled)) == [".gitignore", "a"]


async def test_search_does_not_follow_links(context, tree, tmp_path):
    (tmp_path / "out.py").write_text("secret = 1")
    (tree / "link.py").symlink_to(tmp_path / "out.py")
    (tree / "up").symlink_to("..")
    assert "link.py" not in await answer(glob, context, pattern="*.py")
    assert "No line matches" in await answer(grep, context, pattern="secret")


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "~/*", "a/../../*"])
@pytest.mark.req("R-TOOL-02")
async def test_pattern_that_leaves_the_workspace_is_rejected(context, pattern):
    await get_refusal(glob, context, pattern, "`path`", pattern=pattern,
                  failure=ToolFailure.PERMISSION_DENIED)  # fmt: skip


@pytest.mark.req("R-TOOL-02")
async def test_invalid_search_reports_the_reason(context, root):
    await get_refusal(glob, context, "alternatives", pattern="{a,b}" * 8)
    await get_refusal(glob, context, "does not exist", pattern="*", path="none")
    await get_refusal(
        grep, context, "`(` is not a valid regular expression", "backslash", pattern="("
    )
    await get_refusal(grep, context, "does not exist", pattern="x", path="none")


@pytest.mark.req("R-TOOL-11")
async def test_grep_finds_lines_and_reports_the_total(context, tree):
    said = await answer(grep, context, pattern="NAME.*[bc]", ignore_case=True, path="src")
    assert said == (
        "src/b.py:1: name = 'src/b.py'\nsrc/d.ts:1: name = 'src/d.ts'\n"
        "src/deep/c.py:1: name = 'src/deep/c.py'\nsrc/gen/keep.py:1: name = 'src/gen/keep.py'\n"
        "[4 lines match in 4 files]"
    )
    said = await answer(grep, context, pattern="x = ", limit=2)
    assert said.endswith("[6 lines match in 6 files; the first 2 are shown]")
    assert await answer(grep, context, pattern="x =", path="a.py") == (
        "a.py:2: x = 1\n[1 lines match in 1 files]"
    )
    assert (await answer(grep, context, pattern="x =", files="*.ts")).startswith("src/d.ts:2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"context": 1},
            "a-1- 1\na:2: x\na-3- 3\n--\na-5- 5\na:6: x\na:7: x\na-8- 8\n--\nb:1: x\nb-2- 2\n"
            "[4 lines match in 2 files]",
        ),
        (
            {"context": 1, "limit": 2},
            "a-1- 1\na:2: x\na-3- 3\n--\na-5- 5\na:6: x\n"
            "[4 lines match in 2 files; the first 2 are shown]",
        ),
        ({"files_only": True}, "a: 3\nb: 1\n[4 lines match in 2 files]"),
        (
            {"files_only": True, "limit": 1},
            "a: 3\n[4 lines match in 2 files; the first 1 are shown]",
        ),
    ],
)
async def test_grep_shows_the_lines_around_matches_or_only_files(context, root, arguments, said):
    plant(root, a="1\nx\n3\n4\n5\nx\nx\n8\n9\n", b="x\n2\n")
    assert await answer(grep, context, pattern="x", **arguments) == said


async def test_literal_pattern_is_searched_as_it_is_written(context, root):
    plant(root, a="f(a)+\nfa\n", b="f(a\n")
    said = await answer(grep, context, pattern="f(a", literal=True)
    assert said == "a:1: f(a)+\nb:1: f(a\n[2 lines match in 2 files]"
    folded = await answer(grep, context, pattern="F(A)+", literal=True, ignore_case=True)
    assert folded.startswith("a:1: f(a)+\n[1 ")


async def test_newest_files_come_first_on_request(context, tree):
    for at, name in enumerate(("src/b.py", "a.py", "src/deep/c.py"), 1):
        os.utime(tree / name, (at, at))
    for name in ("keep/build/f.py", "src/gen/keep.py"):
        os.utime(tree / name, (2, 2))
    ordered = ["src/deep/c.py", "a.py", "keep/build/f.py", "src/gen/keep.py", "src/b.py"]
    said = await answer(glob, context, pattern="*.py", newest_first=True)
    assert said.splitlines() == ordered
    found = await answer(grep, context, pattern="x", files="*.py", newest_first=True)
    assert [line.partition(":")[0] for line in found.splitlines()[:-1]] == ordered
    limited = await answer(
        grep, context, pattern="x", files="*.py", newest_first=True, files_only=True, limit=2
    )
    assert limited.splitlines()[:2] == [f"{path}: 1" for path in ordered[:2]]


async def test_lines_of_a_search_have_a_maximum_size(context, root):
    plant(root, **{f"file{n}": f"{'y' * 250} x\n" * 20 for n in range(20)})
    said = await answer(grep, context, pattern="x$", limit=500, context=1)
    assert len(said) < 50_200
    assert "[400 lines match in 20 files; the first " in said


async def test_grep_skips_binary_files_and_reports_them(context, root):
    (root / "binary").write_bytes(b"name\0")
    with (root / "large").open("wb") as file:
        file.truncate(file_matcher.MAX_FILE_BYTES + 1)
    assert await answer(grep, context, pattern="name") == (
        "No line matches `name` in `.` (0 files searched;"
        " 2 binary or large files were skipped; `.gitignore` is respected)."
    )


async def test_grep_shows_the_matching_part_of_a_long_line(context, root):
    plant(root, long="a" * 5000 + "needle" + "b" * 5000)
    said = await answer(grep, context, pattern="needle")
    assert "needle" in said
    assert len(said) < 400


async def test_pattern_is_never_parsed_as_an_option(context, root):
    plant(root, file="--version")
    assert "file:1: --version" in await answer(grep, context, pattern="--version")


SLOW = {"pattern": "[ab]*a[ab]{200}c"}
"""RE2 needs some seconds for the largest files, which is as slow as it gets."""


@pytest.fixture
def slow_file(root):
    choose = random.Random(4711).choice
    line = "".join(choose("ab") for _ in range(10_000)) + "\n"
    (root / "z").write_text(line * 400)


@pytest.mark.req("R-TOOL-11")
async def test_slow_search_is_stopped_at_the_timeout(context, slow_file):
    with pytest.raises(ToolError, match=r"stopped after 0\.3 s, in `z`") as caught:
        await search(grep.parse(SLOW), context, seconds=0.3)
    assert caught.value.failure is ToolFailure.TIMEOUT
    assert not context.cancelled.is_set()


async def test_pattern_that_is_slow_elsewhere_takes_linear_time(context, root):
    plant(root, file="a" * 1_000_000 + "!")
    assert "No line matches" in await answer(grep, context, pattern="(a+)+$")


@pytest.mark.req("R-TOOL-11")
async def test_cancelled_walk_stops(context, root):
    plant(root, **{f"d{at}__f": "" for at in range(300)})
    context.cancelled.set()
    assert "No file matches" in await answer(glob, context, pattern="*")


@pytest.mark.req("R-TOOL-12")
async def test_search_does_not_block_the_loop(context, slow_file):
    task = asyncio.ensure_future(search(grep.parse(SLOW), context, seconds=0.3))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert task.exception() is not None
    assert turns > 3


@pytest.mark.req("R-TOOL-11")
def test_repository_cannot_make_a_search_run_a_program(contexts, root, tmp_path):
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    evil.chmod(0o755)
    plant(root, file="x", **{".git__config": f"[core]\nfsmonitor = {evil}\n"})
    plant(root, **{"re.py": f"open({str(tmp_path / 'pwned')!r}, 'w')"})
    with contextlib.chdir(root):
        for tool, pattern in ((glob, "*"), (grep, "x")):
            asyncio.run(answer(tool, contexts(), pattern=pattern))
    assert not (tmp_path / "pwned").exists()


@pytest.mark.remaining
async def test_stopped_search_returns_the_matches_found_so_far(context, slow_file, root):
    plant(root, **{f"f{at:04}": "needle" for at in range(400)})
    found = await search(grep.parse({"pattern": "[ab]*a[ab]{200}c|needle"}), context, seconds=1)
    said = found.content[0].text
    assert said.startswith("f0000:1: needle\nf0001:1: needle")
    assert "the search was stopped after 1 s, in the" in said
    assert "to `z`, after" in said
    assert "the rest were not searched: narrow `path`" in said


LINES = st.lists(
    st.sampled_from(
        ["a", "b", "K", "7", "_", " ", ".", "\n", "\r\n", "é", "É", "\u212a", "\x1c", "\t"]
    ),
    max_size=12,
).map("".join)
PIECES = st.sampled_from(
    ["a", "K", "é", "_", "7", " ", r"\.", ".", ".*", "[a-k]", "[^a]", "[éa]", "a{2,3}", "(a|b)",
     "(?:ab)+", "^", "$", "(?i:k)", "a?", "b*?", "|", "x+"]
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(PIECES, min_size=1, max_size=6).map("".join), LINES, st.booleans())
def test_lines_that_match_are_those_of_the_standard_library(pattern, text, ignore_case):
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else re.NOFLAG)
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    expected = [at for at, line in enumerate(lines, 1) if compiled.search(line)]
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "file").write_bytes(text.encode())
        start = os.open(directory, os.O_RDONLY)
        wanted = file_matcher.SearchPattern(pattern, ignore_case)
        matcher = file_matcher.FileMatcher(wanted, file_matcher.SearchRoot(start), Mask())
        found = matcher.search([Folder("", ["file"])]).found
        os.close(start)
    assert [line.number for _, _, quoted in found for line in quoted] == expected


async def test_line_with_bytes_of_another_encoding_is_searched(context, root):
    (root / "file").write_bytes(b"caf\xe9 noir\n")
    assert await answer(grep, context, pattern="caf. noir") == (
        "file:1: café noir\n[1 lines match in 1 files]"
    )


async def test_large_directory_is_searched_in_order(context, root):
    (root / "sub").mkdir()
    for at in range(1_000):
        (root / "sub" / f"f{at:03}").write_text(f"line {at}\nx\n")
    said = await answer(grep, context, pattern=r"line \d*7\b", limit=500)
    numbers = [at for at in range(1_000) if at % 10 == 7]
    assert said.split("\n") == [
        *(f"sub/f{at:03}:1: line {at}" for at in numbers),
        "[100 lines match in 100 files]",
    ]


async def test_files_with_undecodable_names_are_searched(context, root):
    (root / "\udcff.txt").write_text("needle")
    (root / "-e").write_text("needle")
    (root / "a\nb").write_text("needle")
    said = await answer(grep, context, pattern="n[e]+dle")
    assert said == (
        "-e:1: needle\n'a\\nb':1: needle\n'\\udcff.txt':1: needle\n[3 lines match in 3 files]"
    )


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "**/" * 30 + "*b", "{a,b}*[!a]" * 2 + "*a" * 30]
)
async def test_hostile_glob_is_matched_quickly(context, root, pattern):
    plant(root, **{"a" * 60: "x"})
    assert "No file matches" in await answer(glob, context, pattern=pattern)
    assert "No line matches" in await answer(grep, context, pattern="x", files=pattern)
    plant(root, **{".gitignore": f"{pattern}\n"})
    assert await answer(glob, context, pattern="a*") == "a" * 60


async def test_glob_with_too_many_alternatives_is_rejected_immediately(context):
    pattern = "{" + "," * 500_000 + "}" + "x" * 500_000
    await get_refusal(glob, context, "use at most 1,000", pattern=pattern)


async def test_matching_directory_lists_its_content(context, tree):
    assert await answer(glob, context, pattern="deep") == "src/deep/c.py"
    assert await answer(glob, context, pattern="src/deep/") == "src/deep/c.py"
    await get_refusal(glob, context, "is not a valid glob", pattern="[a")


@pytest.mark.parametrize(
    ("workspace", "file"),
    [(".kube", "config"), (".docker", "config.json"), (".config", "gh/hosts.yml")],
)
async def test_directories_above_a_workspace_determine_its_credential_files(
    tmp_path, workspace, file
):
    root = tmp_path / workspace
    plant(root, **{file: "secret"})
    context = Contexts(root, tmp_path)()
    found = await answer(grep, context, pattern="secret")
    assert found.startswith("No line matches")
    assert f"1 file that may contain credentials was skipped (`{file}`)" in found
    if workspace == ".kube":
        assert "config:1: secret" in await answer(grep, context, pattern="secret", path="config")


async def test_keys_of_dependencies_and_certificates_are_not_withheld(context, root):
    certificates = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    plant(root, **{"src/app.py": "MIIB", "env/pyvenv.cfg": "", "env/x/test.key": "MIIB"})
    plant(root, **{"lib/site-packages/a/server.key": "MIIB", "certs/ca.pem": certificates})
    found = await answer(grep, context, pattern="MIIB")
    assert "[4 lines match in 4 files]" in found
    plant(root, **{"certs/key.pem": certificates.replace("CERTIFICATE", "PRIVATE KEY")})
    found = await answer(grep, context, pattern="MIIB")
    assert "1 file that may contain credentials was skipped (`certs/key.pem`)" in found


def test_search_of_short_lines_is_stopped_between_its_matches(root):
    """Else a small file with a match in each line would last, and its matches fill the memory."""

    class StopsAfterTenLooks(threading.Event):
        looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks > 10

    (root / "lines").write_bytes(b"\n" * 10_000)
    descriptor = os.open(root, os.O_RDONLY)
    matcher = file_matcher.FileMatcher(
        file_matcher.SearchPattern(""), file_matcher.SearchRoot(descriptor), Mask()
    )
    assert matcher.search([Folder("", ("lines",))]).found[0][1] == 10_000
    matcher.stopped = StopsAfterTenLooks()
    with pytest.raises(file_matcher.SearchStoppedError):
        matcher.search([Folder("", ("lines",))])
    assert matcher.stopped.looks < 20
    os.close(descriptor)
