import os
import stat
from contextlib import nullcontext

import pytest

from tests.tools.contexts import answer, call, get_refusal
from yourtool.effects import Preview, Subject
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.judging import CallSubjects
from yourtool.tools.edits.file_changes import MAX_EDITABLE_BYTES
from yourtool.tools.edits.patch import apply_patch
from yourtool.tools.files.files import read_file
from yourtool.tools.toolset import resolve_subjects

UPDATE = "*** Update File: a.py\n@@\n one\n-two\n+2\n"
PATCH = f"""\
*** Begin Patch
{UPDATE}*** Add File: new/b.py
+b
*** Delete File: c.py
*** Update File: d.py
*** Move to: moved/e.py
@@
-d
+e
*** End Patch
"""


@pytest.fixture
def files(root):
    (root / "a.py").write_bytes(b"one\r\ntwo\r\nthree")
    (root / "c.py").write_bytes(b"c\n")
    (root / "d.py").write_bytes(b"d\n")
    (root / "d.py").chmod(0o751)
    return root


def snapshot(root):
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def refused(context, root, patch, *said, failure=ToolFailure.EXECUTION_ERROR):
    """Return the error for a patch that changes nothing."""
    before = snapshot(root)
    text = await get_refusal(apply_patch, context, *said, failure=failure, patch=patch)
    with pytest.raises(ToolError):
        await apply_patch.preview(apply_patch.parse({"patch": patch}), context)
    assert snapshot(root) == before
    return text


@pytest.mark.req("R-TOOL-09")
async def test_patch_updates_creates_deletes_and_moves_files(context, files):
    output = await call(apply_patch, context, patch=PATCH)
    assert snapshot(files) == {
        "a.py": b"one\r\n2\r\nthree", "moved/e.py": b"e\n", "new/b.py": b"b\n",
    }  # fmt: skip
    assert stat.S_IMODE((files / "moved/e.py").stat().st_mode) == 0o751
    assert output.files_modified == ("a.py", "new/b.py", "moved/e.py", "c.py", "d.py")
    assert [block.text for block in output.content] == [
        "Edited `a.py`, line 2.\nCreated `new/b.py` (2 bytes).\n"
        "Moved `d.py` to `moved/e.py`, line 1.\nDeleted `c.py`."
    ]


async def test_preview_is_one_diff_of_all_files_and_changes_nothing(context, files):
    before = snapshot(files)
    preview = await apply_patch.preview(apply_patch.parse({"patch": PATCH}), context)
    assert preview.paths == ("a.py", "new/b.py", "moved/e.py", "c.py", "d.py")
    assert preview.body == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        "\\ No newline at end of file\n"
        "--- /dev/null\n+++ b/new/b.py\n@@ -0,0 +1 @@\n+b\n"
        "--- a/d.py\n+++ b/moved/e.py\n@@ -1 +1 @@\n-d\n+e\n"
        "--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-c"
    )
    assert not preview.protected
    assert snapshot(files) == before


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (f"{UPDATE}*** Update File: c.py\n@@\n-x\n+y", "hunk 1 of `c.py` (line 7 of the patch)"),
        (f"{UPDATE}*** Add File: c.py\n+x", "`c.py` exists, so nothing was changed"),
        (f"{UPDATE}*** Delete File: no.py", "`no.py` does not exist"),
        (f"{UPDATE}*** Update File: no.py\n@@\n-x", "`no.py` does not exist"),
        (f"{UPDATE}*** Update File: c.py\n*** Move to: d.py", "cannot be moved to `d.py`"),
        (f"{UPDATE}*** Update File: c.py\n@@\n-c\n+c", "does not change `c.py` (line 6 of the"),
        (f"{UPDATE}*** Delete File: c.py\n*** Update File: c.py\n@@\n-c", "is deleted before line"),
        ("*** Delete File: c.py\n*** Add File: c.py\n+c", "does not change any file"),
        (f"*** Update File: d.py\n*** Move to: x\n{UPDATE}*** Delete File: x", "moved before line"),
        (f"{UPDATE}*** Delete File: sub", "is a directory"),
        (f"{UPDATE}*** Add File: sub\n+x", "is a directory"),
        (f"{UPDATE}*** Delete File: link", "`link` is a symbolic link"),
        (f"{UPDATE}*** Update File: link\n*** Move to: x", "`link` is a symbolic link"),
        (f"{UPDATE}*** Update File: binary\n@@\n-x\n+y", "is not text"),
        (f"{UPDATE}*** Add File: c.py/x\n+x", "`c.py/x`"),
        (f"{UPDATE}*** Add File: \0\n+x", "contains a NUL character"),
        (f"{UPDATE}*** Add File: {'x' * 300}\n+x", "name too long"),
    ],
)
@pytest.mark.req("R-TOOL-09")
async def test_patch_that_cannot_be_applied_changes_no_file(context, files, patch, said):
    (files / "sub").mkdir()
    (files / "link").symlink_to("c.py")
    (files / "binary").write_bytes(b"\xff\0x\n")
    await refused(context, files, patch, said)


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "up/x", "sub/../../out"])
@pytest.mark.parametrize("section", ["*** Add File: {}\n+x", "*** Delete File: {}",
    "*** Update File: {}\n@@\n-x\n+y", "*** Update File: c.py\n*** Move to: {}"])  # fmt: skip
@pytest.mark.req("R-TOOL-03")
async def test_path_outside_the_workspace_refuses_the_whole_patch(
    context, files, tmp_path, path, section
):
    (files / "up").symlink_to(tmp_path)
    (tmp_path / "out").write_text("x\n")
    patch = UPDATE + section.format(path)
    before = snapshot(files)
    failure = ToolFailure.PERMISSION_DENIED
    await get_refusal(apply_patch, context, failure=failure, patch=patch)
    with pytest.raises(ToolError) as caught:
        resolve_subjects(apply_patch, apply_patch.parse({"patch": patch}), context.workspace)
    assert caught.value.failure is failure
    assert snapshot(files) == before
    assert (tmp_path / "out").read_text() == "x\n"


async def test_subjects_are_the_old_and_the_new_paths(context, files):
    (files / "link").symlink_to("c.py")
    args = apply_patch.parse({"patch": f"{PATCH}*** Update File: ./link\n@@\n-c\n+d"})
    assert resolve_subjects(apply_patch, args, context.workspace) == CallSubjects(
        tuple(
            Subject("path", path)
            for path in ("a.py", "new/b.py", "c.py", "d.py", "moved/e.py", "c.py")
        )
    )


def test_text_that_is_no_patch_is_an_invalid_argument():
    with pytest.raises(ToolError, match="line 1 is") as caught:
        apply_patch.subjects(apply_patch.parse({"patch": "hello"}))
    assert caught.value.failure is ToolFailure.VALIDATION_ERROR


@pytest.mark.parametrize("change", [b"one\r\ntwo\r\nfour", None])
@pytest.mark.req("R-TOOL-09")
async def test_file_changed_since_it_was_read_refuses_the_whole_patch(context, files, change):
    await answer(read_file, context, path="c.py")
    (files / "c.py").unlink()
    if change:
        (files / "c.py").write_bytes(change)
    await refused(context, files, f"{UPDATE}*** Delete File: c.py", "changed since you last read")


async def test_result_of_a_patch_counts_as_read(context, files):
    await call(apply_patch, context, patch=PATCH)
    again = "*** Update File: a.py\n@@\n-2\n+3\n*** Add File: c.py\n+c\n"
    await call(apply_patch, context, patch=again)
    assert (files / "a.py").read_bytes() == b"one\r\n3\r\nthree"


async def test_several_sections_of_a_file_are_applied_in_order(context, files):
    patch = f"{UPDATE}*** Update File: ./a.py\n@@\n-2\n+3\n*** Delete File: c.py\n"
    await call(apply_patch, context, patch=f"{patch}*** Add File: c.py\n+new")
    assert (files / "a.py").read_bytes() == b"one\r\n3\r\nthree"
    assert (files / "c.py").read_bytes() == b"new\n"


@pytest.mark.parametrize("name", ["a.py", "c.py", "d.py", "new/b.py", "moved/e.py"])
async def test_approval_covers_the_exact_bytes_of_every_file(contexts, files, name):
    preview = await apply_patch.preview(apply_patch.parse({"patch": PATCH}), contexts())
    (files / name).parent.mkdir(exist_ok=True)
    (files / name).write_bytes(b"one\r\ntwo\r\nthree\r\nfour" if name == "a.py" else b"d\n\n")
    before = snapshot(files)
    with pytest.raises(ToolError):
        await call(apply_patch, contexts(approved=preview), patch=PATCH)
    assert snapshot(files) == before


async def test_approved_patch_is_applied(contexts, files):
    preview = await apply_patch.preview(apply_patch.parse({"patch": PATCH}), contexts())
    assert "Edited" in await answer(apply_patch, contexts(approved=preview), patch=PATCH)


async def test_approval_of_another_patch_covers_nothing(contexts, files):
    other = Preview(kind="diff", body="", guard="0" * 64)
    before = snapshot(files)
    said = await get_refusal(apply_patch, contexts(approved=other), patch=PATCH)
    assert "changed after this edit was approved" in said
    assert snapshot(files) == before


@pytest.mark.parametrize(
    "section",
    [
        "*** Add File: .git/hooks/x\n+x",
        "*** Delete File: .gitattributes",
        "*** Update File: c.py\n*** Move to: .github/../.vscode/tasks.json",
        "*** Update File: .gitattributes\n*** Move to: x",
    ],
)
async def test_preview_with_a_protected_path_is_labelled(context, files, section):
    (files / ".gitattributes").write_text("x\n")
    preview = await apply_patch.preview(apply_patch.parse({"patch": UPDATE + section}), context)
    assert preview.protected


async def test_unread_credential_file_cannot_be_patched(context, files):
    (files / ".env").write_text("KEY=1\n")
    for section in ("*** Delete File: .env", "*** Update File: .env\n@@\n-KEY=2\n+x"):
        said = await refused(context, files, UPDATE + section, "may contain credentials")
        assert "KEY=1" not in said


class FullDisk:
    """A journal that cannot store the content of one file."""

    def changing(self, path, before, after, directories=()):
        del before, after, directories
        if path == "moved/e.py":
            raise ToolError(f"`{path}` was not changed: no space")
        return nullcontext()


async def test_failure_in_the_middle_lists_what_was_changed(contexts, files):
    said = await get_refusal(apply_patch, contexts(journal=FullDisk()), patch=PATCH)
    assert (
        "no space. Changed: `a.py`, `new/b.py`. Not changed: `moved/e.py`, `c.py`, `d.py`." in said
    )
    assert snapshot(files).keys() == {"a.py", "new/b.py", "c.py", "d.py"}


async def test_patch_of_very_many_bytes_is_refused(context, files):
    for number in range(5):
        (files / f"large{number}").write_bytes(b"")
        os.truncate(files / f"large{number}", MAX_EDITABLE_BYTES)
    patch = "".join(f"*** Delete File: large{number}\n" for number in range(5))
    await get_refusal(
        apply_patch, context, "more than 67,108,864 bytes up to `large4`", patch=patch
    )
    assert len(list(files.glob("large*"))) == 5


async def test_user_can_change_the_patch_of_one_file(contexts, files):
    preview = await apply_patch.preview(apply_patch.parse({"patch": PATCH}), contexts())
    assert preview.editable is None, "several files"
    for patch, name, text in (
        (UPDATE, "a.py", "one\n2\nthree"),
        ("*** Add File: n.py\n+x", "n.py", "x\n"),
    ):
        preview = await apply_patch.preview(apply_patch.parse({"patch": patch}), contexts())
        assert preview.editable.text == text
        changed = preview.editable.build_input(f"zero\n{text}")
        await call(apply_patch, contexts(), **changed)
        assert (files / name).read_bytes().replace(b"\r\n", b"\n") == f"zero\n{text}".encode()
