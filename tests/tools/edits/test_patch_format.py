import contextlib

import pytest

from tests.doubling import LINEAR, growth
from yourtool.errors import ToolError, ToolFailure
from yourtool.tools.edits.patch_format import (
    MAX_CHARACTERS,
    MAX_FILES,
    MAX_HUNKS,
    AddedFile,
    DeletedFile,
    UpdatedFile,
    parse_patch,
)

BODY = "@@ def f():\n a\n-b\n+c\n\n d"


def get_hunks(text):
    (file,) = parse_patch(text).files
    assert isinstance(file, UpdatedFile)
    return [(each.anchors, each.old, each.new) for each in file.hunks]


def test_patch_has_added_deleted_moved_and_updated_files():
    patch = parse_patch(
        "*** Begin Patch\n*** Add File: new.py\n+one\n+\n+two\n*** Delete File: old.py\n"
        "*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End of File\n*** End Patch\n"
    )
    added, deleted, updated = patch.files
    assert added == AddedFile(2, "new.py", "one\n\ntwo\n")
    assert deleted == DeletedFile(6, "old.py")
    assert isinstance(updated, UpdatedFile)
    assert (updated.path, updated.target) == ("a.py", "b.py")
    (hunk,) = updated.hunks
    assert (hunk.old, hunk.new, hunk.is_at_end) == (("x",), ("y",), True)
    assert patch.paths == ("new.py", "old.py", "a.py", "b.py")


@pytest.mark.parametrize(
    "text",
    [
        f"*** Begin Patch\n*** Update File: f\n{BODY}\n*** End Patch",
        f"*** Update File: f\n{BODY}",
        f"\n\n*** Update File: f\n{BODY}\n\n",
        f"*** Begin Patch\n*** Update File: f\n{BODY}\n*** End Patch".replace("\n", "\r\n"),
        f"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n{BODY}\n*** End Patch\nEOF\n",
        f"cat <<EOF | apply_patch\n*** Update File: f\n{BODY}\nEOF",
        f"```diff\n*** Begin Patch\n*** Update File: f\n{BODY}\n*** End Patch\n```",
        f"```bash\napply_patch <<'P'\n*** Update File: f\n{BODY}\nP\n```",
        f"*** Begin Patch\n*** Update File: f\n--- a/f\n+++ b/f\n{BODY}\n*** End Patch",
        f"*** begin patch\n***Update File: f\n{BODY}\n*** end patch",
        f"--- a/f\t2026-01-01\n+++ b/f\t2026-01-02\n{BODY}",
        f"diff --git a/f b/f\nindex 12ab..34cd 100644\n--- a/f\n+++ b/f\n{BODY}",
        f"--- f\n+++ f\n{BODY}".replace("@@ def", "@@ -1,3 +1,3 @@ def"),
    ],
)
def test_forms_that_models_write_mean_the_same(text):
    assert get_hunks(text) == [(("def f():",), ("a", "b", "", "d"), ("a", "c", "", "d"))]


@pytest.mark.parametrize(
    ("marks", "anchors"),
    [
        ("@@", ()),
        ("", ()),
        ("@@ -1,3 +1,4 @@", ()),
        ("@@ class A @@", ("class A",)),
        ("@@ class A\n@@     def f(self):", ("class A", "    def f(self):")),
    ],
)
def test_mark_of_a_hunk_names_the_lines_above_it(marks, anchors):
    ((found, old, _),) = get_hunks(f"*** Update File: f\n{marks}\n-x\n+y")
    assert (found, old) == (anchors, ("x",))


def test_unified_diff_creates_deletes_and_moves_files():
    added, deleted, moved = parse_patch(
        "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
        "--- a/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n"
        "--- a/x\n+++ b/y\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n"
    ).files
    assert added == AddedFile(1, "new", "a\nb")
    assert deleted == DeletedFile(7, "old")
    assert isinstance(moved, UpdatedFile)
    assert (moved.path, moved.target) == ("x", "y")
    assert (moved.hunks[0].old, moved.hunks[0].new) == (("-- x",), ("++ y",))


def test_lines_that_look_like_marks_of_another_file_are_lines_of_a_hunk():
    ((_, old, new),) = get_hunks(
        "*** Update File: f\n@@\n *** Delete File: g\n--- a\n+++ b\n@@\n-x\n+y"
    )[:1]
    assert (old, new) == (("*** Delete File: g", "-- a"), ("*** Delete File: g", "++ b"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it changes no file; expected `*** Add File: PATH`"),
        ("*** Begin Patch\n*** End Patch", "it changes no file"),
        ("hello", 'line 1 is "hello"; expected `*** Add File: PATH`'),
        ("*** Update File: f\n@@\n-a\nb", 'line 4 is "b"; expected ` `, `+` or `-`'),
        ("*** Update File: f\n*** End Patch", 'line 2 is "*** End Patch"; expected `@@`'),
        ("*** Update File: f", "it ends after line 1; expected `@@`"),
        ("*** Update File: f\n@@ def f", "it ends after line 2; expected lines with"),
        ("*** Update File:\n@@\n-a", 'line 1 is "*** Update File:"; expected a path'),
        ("*** Update File: f\n*** Move to:\n@@\n-a", "expected a path after `*** Move to:`"),
        ("*** Add File: f\n+a\nb", 'line 3 is "b"; expected `+` before each line'),
        ("*** Delete File: f\n+a", 'line 2 is "+a"; expected nothing after `*** Delete File`'),
        ("diff --git a/f b/f\nrename from f", 'line 2 is "rename from f"; expected `--- a/PATH`'),
        ("*** Rename File: f", "expected `*** Add File: PATH`"),
    ],
)
def test_error_names_the_line_of_the_patch_and_what_was_expected(text, said):
    with pytest.raises(ToolError) as caught:
        parse_patch(text)
    assert said in str(caught.value)
    assert "nothing was changed" in str(caught.value)
    assert caught.value.failure is ToolFailure.VALIDATION_ERROR


def test_long_line_is_not_repeated_in_an_error():
    with pytest.raises(ToolError, match="line 1 is this string of 5,002 characters"):
        parse_patch("x" * 5_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (MAX_CHARACTERS + 1), "more than 4,000,000 characters"),
        ("*** Delete File: f\n" * (MAX_FILES + 1), "more than 100 files"),
        ("*** Update File: f\n" + "@@\n-a\n+b\n" * (MAX_HUNKS + 1), "more than 1,000 hunks"),
    ],
)
def test_patch_beyond_a_limit_is_refused(text, said):
    with pytest.raises(ToolError, match=said):
        parse_patch(text)


@pytest.mark.parametrize(
    "build",
    [
        lambda size: "@@ x\n" * size,
        lambda size: "*** Update File: f\n@@\n" + " \n" * size,
        lambda size: "*** Update File: f\n@@\n" + "\n" * size,
        lambda size: "*** Update File: f\n" + "@@ x\n" * size + "-a",
        lambda size: "*** Update File: f\n@@\n" + "--- a\n+++ b\n" * size,
        lambda size: "*** Add File: f\n" + "\n" * size,
        lambda size: "*** " + " " * size,
        lambda size: "```\n" * size,
        lambda size: "x <<'" + "E" * size,
        lambda size: "@@ -" + "1" * size,
    ],
)
def test_hostile_patch_is_parsed_in_linear_time(build):
    def run(text):
        with contextlib.suppress(ToolError):
            parse_patch(text)

    assert growth(run, build, 2_000) < LINEAR
