"""Diffs that are built from the recorded hunks of a change."""

import re

from hypothesis import given
from hypothesis import strategies as st

from yourtool.foundation.file_images import find_hunks, format_diff

NAMES = ("a/x", "b/x")
TEXTS = st.tuples(st.lists(st.sampled_from("abc "), max_size=30), st.booleans()).map(
    lambda made: "".join(f"{line}\n" for line in made[0])[: None if made[1] else -1].encode()
)
HEAD = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def build(before, after):
    return format_diff(NAMES, before, after, find_hunks(before, after))


def apply(diff, before):
    """Return the lines after a unified diff, checking each line and range of it."""
    old, new, at = before.decode().splitlines(), [], 0
    for line in diff.split("\n")[2:]:
        if head := HEAD.fullmatch(line):
            first, removed, start, added = map(int, head.groups())
            first -= 1 if removed else 0
            new += old[at:first]
            at = first
            assert len(new) == start - (1 if added else 0)
            continue
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            new.append(line[1:])
    return new + old[at:]


@given(TEXTS, TEXTS)
def test_diff_changes_the_old_lines_into_the_new_ones(before, after):
    if hunks := find_hunks(before, after):
        diff = format_diff(NAMES, before, after, hunks)
        assert apply(diff, before) == after.decode().splitlines()


def test_near_changes_share_their_context_and_far_ones_do_not():
    old = [f"{number}\n" for number in range(1, 31)]
    new = [*old]
    new[4], new[11], new[25] = "five\n", "twelve\n", "26!\n"
    found = HEAD.findall(build("".join(old).encode(), "".join(new).encode()))
    assert found == [("2", "14", "2", "14"), ("23", "7", "23", "7")]
