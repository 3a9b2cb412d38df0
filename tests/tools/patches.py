"""Patches made from two versions of files, and patches spoilt the way models spoil them."""

import random
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from tests.tools.spoilt_edits import SpoiltEdit, edits_with_a_changed_word, spoilt_edits

CONTEXT = 3


def build_patch(files: Sequence[tuple[str, str, str]], context: int = CONTEXT) -> str:
    """Return the patch that turns the first text of each path into the second one."""
    parts = [part for path, before, after in files for part in build_update(
        path, before.splitlines(), after.splitlines(), context)]  # fmt: skip
    return "\n".join(("*** Begin Patch", *parts, "*** End Patch"))


def build_update(
    path: str, before: Sequence[str], after: Sequence[str], context: int = CONTEXT
) -> Iterator[str]:
    """Yield the section that updates a file."""
    yield f"*** Update File: {path}"
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        yield "@@"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[old_start:old_end])
            else:
                yield from (f"-{line}" for line in before[old_start:old_end])
                yield from (f"+{line}" for line in after[new_start:new_end])


class SpoiltPatch(Struct, frozen=True):
    """A patch whose lines differ from the file in what does not matter, or in what does."""

    kind: str
    patch: str
    edit: SpoiltEdit


def spoilt_patches(seed: int, files: int, per_file: int) -> Iterator[SpoiltPatch]:
    """Yield a patch for each spoilt edit, in one of the forms that models write."""
    chance = random.Random(seed)
    for edit in spoilt_edits(seed, files, per_file):
        yield SpoiltPatch(edit.kind, to_patch(chance, edit), edit)


def to_patch(chance: random.Random, edit: SpoiltEdit) -> str:
    """Return an edit of the file `file` as a patch."""
    old, new = (text.removesuffix("\n").split("\n") for text in (edit.old, edit.new))
    lines = [line for line in build_update("file", old, new, len(old)) if line != "@@"]
    head, body = lines[0], lines[1:]
    if chance.random() < 0.3:  # no space before an empty line
        body = [line if line.strip() else "" for line in body]
    if chance.random() < 0.2:
        head = "--- a/file\n+++ b/file"
        mark = "@@ -1,3 +1,4 @@"
    else:
        mark = chance.choice(("@@", f"@@ {anchor}" if (anchor := _find_anchor(edit)) else "@@"))
    text = "\n".join((head, mark, *body))
    match chance.randrange(4):
        case 0:
            text = f"*** Begin Patch\n{text}\n*** End Patch"
        case 1:
            text = f"apply_patch <<'EOF'\n*** Begin Patch\n{text}\n*** End Patch\nEOF"
        case 2:
            text = f"```diff\n{text}\n```"
        case _:
            pass
    return text.replace("\n", "\r\n") if chance.random() < 0.2 else text


def _find_anchor(edit: SpoiltEdit) -> str:
    """Return the head of the function around an edit; empty without one."""
    lines = edit.before.replace("\r\n", "\n").split("\n")
    place = lines[edit.line - 1]
    width = len(place) - len(place.lstrip())
    for line in reversed(lines[: edit.line - 1]):
        if line.strip() and len(line) - len(line.lstrip()) < width:
            return line
    return ""


def patches_with_a_changed_word(seed: int, files: int, per_file: int) -> Iterator[tuple[str, str]]:
    """Yield patches with a line that is not in the file, each with the text of the file."""
    chance = random.Random(seed)
    for edit in edits_with_a_changed_word(seed, files, per_file):
        yield to_patch(chance, edit), edit.before
