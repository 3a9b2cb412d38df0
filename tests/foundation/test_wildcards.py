import re
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.regexes import overlaps, parse
from yourtool.foundation.wildcards import Wildcards, parse_ignore_file, parse_wildcard

LINES = st.one_of(
    st.text(st.sampled_from("ab/*?[]!^-\\ #.é"), min_size=1, max_size=9),
    st.lists(
        st.sampled_from(
            ["a", "b", "*", "**", "?", "/", "/", "!", "\\", "[ab]", "[!a]", "[^a-b]", "[a-]",
             "[]a]", "[[:alpha:]]", "[[:x:]]", "[z-a]", "[\\]a]", "[[:]", "[a-\\b]", " ", "\\ ",
             "\r", "é", "["]
        ),
        min_size=1, max_size=8,
    ).map("".join),
)  # fmt: skip
NAMES = st.text(st.sampled_from("ab-]!^ \\[é"), min_size=1, max_size=4).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=path, check=True)
    return path


def ignored_by_git(repository, text, paths):
    (repository / ".gitignore").write_bytes(text.encode())
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(paths).encode(), cwd=repository, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return {path for path in done.stdout.decode().split("\0") if path}


def ignored_by_us(text, paths):
    wildcards = Wildcards(parse_ignore_file(as_bytes(text)))
    return {path for path in paths if is_ignored(wildcards, as_bytes(path))}


def as_bytes(text):
    return text.encode().decode("latin-1")


def is_ignored(wildcards, path):
    names = path.split("/")
    for depth, name in enumerate(names, 1):
        last = depth == len(names)
        if wildcards.verdict("/".join(names[:depth]), name, is_directory=not last):
            return True
    return False


@settings(deadline=None, max_examples=60)
@given(
    st.lists(LINES, min_size=1, max_size=4), st.lists(PATHS, min_size=1, max_size=30, unique=True)
)
@example(["foo**/bar", "a/b**"], ["foobar", "foo/bar", "foox/bar", "foo/x/bar", "a/b", "a/bc/d"])
@example(["**/a/**/b"], ["a/b", "x/a/b", "a/x/y/b", "ab", "a/bx"])
@example(["/a", "b/", "!b/a"], ["a", "x/a", "b", "b/a", "x/b/c"])
@example(["a/**\\/b", "\\#a", "a\\ ", "x  "], ["a/b", "a/x/b", "#a", "a ", "a", "x", "x  "])
def test_same_paths_are_ignored_as_by_git(repository, lines, paths):
    text = "\n".join(lines)
    assert ignored_by_us(text, paths) == ignored_by_git(repository, text, paths)


@pytest.mark.soak
@settings(deadline=None, max_examples=5_000)
@given(
    st.lists(LINES, min_size=1, max_size=3), st.lists(PATHS, min_size=1, max_size=40, unique=True)
)
def test_generated_paths_are_ignored_as_by_git(repository, lines, paths):
    text = "\n".join(lines)
    assert ignored_by_us(text, paths) == ignored_by_git(repository, text, paths)


@settings(deadline=None)
@given(LINES)
def test_wildcards_are_not_translated_to_ambiguous_repetitions(line):
    if (wildcard := parse_wildcard(line)) is not None:
        assert not list(overlaps(parse(wildcard.regex, re.DOTALL)))


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 30 + "b", "**/a" * 30 + "/b", "x/" + "*a" * 30 + "b", "[ab]*" * 20 + "c",
     "**/" * 30 + "b", "**/*a*/*a*b", "*" * 30 + "b", "?*" * 30 + "b"],
)  # fmt: skip
@pytest.mark.parametrize("unit", ["a", "a/", "aa/", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"])
def test_wildcard_matches_in_linear_time(pattern, unit):
    wildcard = parse_wildcard(pattern)
    wildcards = Wildcards([wildcard] if wildcard else [])

    def match(path_and_name):
        return wildcards.verdict(*path_and_name, is_directory=False)

    def sized(size):
        path = "x/" + unit * (size // len(unit))
        return path, path.replace("/", "a")

    assert growth(match, sized) < LINEAR


@pytest.mark.remaining
def test_last_of_thousands_of_patterns_decides():
    text = "*.o\n" + "".join(f"*{n}x*y\nd/{n}/*\n!{n}.o\n" for n in range(1_500))
    wildcards = Wildcards(parse_ignore_file(text))
    for name, verdict in {"a.o": True, "0.o": False, "1499.o": False, "17xy": True}.items():
        assert wildcards.verdict(f"d/{name}", name, is_directory=False) is verdict
    assert wildcards.verdict("d/700/z", "z", is_directory=False) is True
    assert wildcards.verdict("d/700/0.o", "0.o", is_directory=False) is True
    assert wildcards.verdict("d/z", "z", is_directory=False) is None


def test_pattern_longer_than_any_path_is_skipped():
    assert not list(parse_ignore_file("*a" * 3_000 + "\n" + "[[:" * 300_000 + "]"))
