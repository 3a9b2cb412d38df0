import asyncio
import codecs
import contextlib
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.doubling import LINEAR, growth
from tests.tools.contexts import Contexts, answer, call, get_refusal
from yourtool.effects import Preview
from yourtool.errors import ToolFailure
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.edits.file_changes import MAX_EDITABLE_BYTES
from yourtool.tools.files.files import read_file
from yourtool.tools.workspace.encoding import detect_encoding


def edits(*pairs, **options):
    return [{"old": old, "new": new, **options} for old, new in pairs]


async def test_edit_replaces_one_occurrence(context, root):
    (root / "a.py").write_bytes(b"one\ntwo\nthree\n")
    output = await call(edit_file, context, path="a.py", edits=edits(("two", "2\n2.5")))
    assert (root / "a.py").read_bytes() == b"one\n2\n2.5\nthree\n"
    assert output.files_modified == ("a.py",)
    assert output.details["diff"] == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nX\r\nY\r\nc\r\n"),
        (b"a\nb\nc", b"a\nX\nY\nc"),
        (codecs.BOM_UTF8 + b"a\nb\n", codecs.BOM_UTF8 + b"a\nX\nY\n"),
        (b"a\r\nb\nc\r\n", b"a\r\nX\r\nY\nc\r\n"),
        (
            codecs.BOM_UTF16_LE + "a\r\nb\r\n".encode("utf-16-le"),
            codecs.BOM_UTF16_LE + "a\r\nX\r\nY\r\n".encode("utf-16-le"),
        ),
        (
            codecs.BOM_UTF16_BE + "a\nb\né".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "a\nX\nY\né".encode("utf-16-be"),
        ),
    ],
)
@pytest.mark.req("R-TOOL-08")
async def test_edit_preserves_line_endings_bom_encoding_and_final_newline(
    context, root, before, after
):
    (root / "file").write_bytes(before)
    await call(edit_file, context, path="file", edits=edits(("b", "X\nY")))
    assert (root / "file").read_bytes() == after


@pytest.mark.req("R-TOOL-08")
async def test_multiline_edit_matches_either_line_ending(context, root):
    (root / "file").write_bytes(b"a\r\nb\r\nc\r\n")
    await call(edit_file, context, path="file", edits=edits(("\nb\n", "\nB\nB\n")))
    assert (root / "file").read_bytes() == b"a\r\nB\r\nB\r\nc\r\n"


TEXTS = st.text(st.sampled_from("ab \té\U0001f600\r\n"), max_size=30)
CODECS = st.sampled_from(
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ]
)


@settings(deadline=None, max_examples=40)
@given(TEXTS, TEXTS, CODECS)
@pytest.mark.req("R-TOOL-08")
def test_only_the_matched_bytes_change(tmp_path_factory, start, end, codec):
    mark, name = codec
    root = tmp_path_factory.mktemp("ws", numbered=True)
    before, after = (mark + start.encode(name)), end.encode(name)
    (root / "file").write_bytes(before + "<old>".encode(name) + after)
    context = Contexts(root, root)()
    asyncio.run(call(edit_file, context, path="file", edits=edits(("<old>", "new"))))
    assert (root / "file").read_bytes() == before + "new".encode(name) + after


@settings(deadline=None)
@given(st.builds(lambda codec, text: codec[0] + text.encode(codec[1]), CODECS, TEXTS))
def test_recognized_text_is_reproduced_byte_for_byte(data):
    encoding = detect_encoding(data)
    assert encoding is not None
    assert encoding.encode(encoding.decode(data)) == data


@pytest.mark.req("R-TOOL-08")
async def test_rewritten_file_preserves_encoding_and_line_endings(context, root):
    (root / "file").write_bytes(codecs.BOM_UTF8 + b"a\r\nb\r\n")
    await call(write_file, context, path="file", content="x\ny")
    assert (root / "file").read_bytes() == codecs.BOM_UTF8 + b"x\r\ny\r\n"


async def test_new_file_is_written_unchanged(context, root):
    said = await answer(write_file, context, path="new/dir/file", content="x\r\ny")
    assert (root / "new" / "dir" / "file").read_bytes() == b"x\r\ny"
    assert said == "Created `new/dir/file` (4 bytes)."


async def test_binary_file_can_be_replaced_completely(context, root):
    (root / "file").write_bytes(b"\xff\0")
    said = await answer(write_file, context, path="file", content="x")
    assert said == "Edited `file` (1 bytes); it was not text, and is UTF-8 now."
    assert (root / "file").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("a\nb\n", "`file` is unchanged: it had this content."),
        ("a\nB\n", "Edited `file`, line 2."),
        ("A\nb\nc\nd\n", "Edited `file`, lines 1, 3–4."),
        ("b\n", "Edited `file`, line 1."),
    ],
)
async def test_answer_to_a_replaced_file_names_the_changed_lines(context, root, after, said):
    (root / "file").write_text("a\nb\n")
    assert await answer(write_file, context, path="file", content=after) == said


async def test_answer_to_many_changes_names_the_first_ones(context, root):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(100)))
    pairs = ((f"line {n}\n", f"changed {n}\n") for n in range(0, 100, 4))
    said = await answer(edit_file, context, path="file", edits=edits(*pairs))
    assert said == "Edited `file`, lines 1, 5, 9, 13, 17, 21, 25, 29, 33, 37, …."


async def test_long_diff_of_a_tolerated_edit_is_not_in_its_answer(context, root):
    (root / "file").write_text("".join(f"  line {n}\n" for n in range(50)))
    old, new = ("".join(f"{word} {n}\n" for n in range(50)) for word in ("line", "other"))
    said = await answer(edit_file, context, path="file", edits=edits((old, new)))
    assert said.startswith("Edited `file`, lines 1–50. `old` of the edit was matched")
    assert "\n" not in said


@pytest.mark.req("R-TOOL-09")
async def test_ambiguous_edit_reports_the_count_and_lines_of_matches(context, root):
    (root / "file").write_bytes(b"x\ny\nx\n")
    await get_refusal(
        edit_file, context, "occurs 2 times in `file` (lines 1, 3)", "`replace_all`",
        path="file", edits=edits(("x", "z")),
    )  # fmt: skip
    assert (root / "file").read_bytes() == b"x\ny\nx\n"
    await call(edit_file, context, path="file", edits=edits(("x", "z"), replace_all=True))
    assert (root / "file").read_bytes() == b"z\ny\nz\n"


@pytest.mark.req("R-TOOL-09")
async def test_overlapping_occurrences_are_ambiguous(context, root):
    (root / "file").write_bytes(b"aaa")
    await get_refusal(edit_file, context, "2 times", path="file", edits=edits(("aa", "b")))


@pytest.mark.req("R-TOOL-09")
async def test_missing_text_error_suggests_similar_lines(context, root):
    (root / "file").write_bytes(b"def one():\n    return 1\n")
    said = await get_refusal(
        edit_file, context, "does not occur in `file`", path="file",
        edits=edits(("def  one():\n  return 1", "x")),
    )  # fmt: skip
    assert "     1\tdef one():" in said
    await get_refusal(edit_file, context, "read_file", path="file", edits=edits(("@@@@@", "x")))


@pytest.mark.req("R-TOOL-08", "R-TOOL-09")
async def test_near_miss_is_previewed_and_written_the_same_and_the_result_names_it(contexts, root):
    before = codecs.BOM_UTF8 + "if x:\r\n\ta “b”\r\n\tc  ".encode()
    (root / "file").write_bytes(before)
    arguments = {"path": "file", "edits": edits(('a "b"\nc', 'a "b"\nd'), ("if x: ", "if y: "))}
    preview = await preview_of(edit_file, contexts(), **arguments)
    assert (root / "file").read_bytes() == before
    said = await answer(edit_file, contexts(approved=preview), **arguments)
    after = codecs.BOM_UTF8 + "if y:\r\n\ta “b”\r\n\td  ".encode()
    assert (root / "file").read_bytes() == after
    assert preview.body.splitlines()[3:] == [
        "-if x:", "+if y:", " \ta “b”",
        "-\tc  ", "\\ No newline at end of file", "+\td  ", "\\ No newline at end of file",
    ]  # fmt: skip
    assert said == (
        "Edited `file`, lines 1, 3. `old` of edit 1 of 2 was matched with its indentation shifted"
        " by +4 columns, with typographic characters taken as plain ones. `old` of edit 2 of 2 was"
        " matched without regard to trailing space.\n@@ -1 +1 @@\n-if x:\n+if y:\n@@ -3 +3 @@\n"
        "-\tc  \n\\ No newline at end of file\n+\td  \n\\ No newline at end of file"
    )


@pytest.mark.req("R-TOOL-09")
async def test_near_miss_in_a_file_that_changed_since_it_was_read_is_not_applied(context, root):
    (root / "file").write_bytes(b"  a\n  b\n")
    await call(read_file, context, path="file")
    (root / "file").write_bytes(b"    a\n    b\n")
    await get_refusal(
        edit_file, context, "changed since you last read it", path="file",
        edits=edits(("a\nb", "c")),
    )  # fmt: skip
    assert (root / "file").read_bytes() == b"    a\n    b\n"


@pytest.mark.req("R-TOOL-09")
async def test_multiple_edits_are_atomic(context, root):
    (root / "file").write_bytes(b"a b c")
    await get_refusal(
        edit_file, context, "edit 2 of 2", path="file", edits=edits(("a", "A"), ("x", "X"))
    )
    assert (root / "file").read_bytes() == b"a b c"
    await call(edit_file, context, path="file", edits=edits(("a", "A"), ("A b", "B")))
    assert (root / "file").read_bytes() == b"B c"


@pytest.mark.req("R-TOOL-09")
async def test_file_changed_since_it_was_read_is_not_edited(context, root):
    (root / "file").write_bytes(b"a")
    await call(read_file, context, path="file")
    (root / "file").write_bytes(b"a and more")
    for tool, more in ((edit_file, {"edits": edits(("a", "b"))}), (write_file, {"content": "b"})):
        await get_refusal(tool, context, "changed since you last read it", "read_file", path="file",
                      **more)  # fmt: skip
    await call(read_file, context, path="file")
    await call(edit_file, context, path="file", edits=edits(("more", "less")))
    await call(edit_file, context, path="file", edits=edits(("less", "least")))
    assert (root / "file").read_bytes() == b"a and least"


@pytest.mark.req("R-TOOL-02")
async def test_failed_edit_reports_the_reason(context, root, tmp_path):
    (root / "same").write_bytes(b"a")
    await get_refusal(
        edit_file, context, "do not change `same`", path="same", edits=edits(("a", "a"))
    )
    await get_refusal(edit_file, context, "does not exist", path="none", edits=edits(("a", "b")))
    (root / "bin").write_bytes(b"c\0\1")
    await get_refusal(edit_file, context, "is not text", path="bin", edits=edits(("c", "b")))
    await get_refusal(
        edit_file, context, "unpaired surrogate", path="same", edits=edits(("a", "\ud800"))
    )
    await get_refusal(edit_file, context, "is a directory", path=".", edits=edits(("a", "b")))
    await get_refusal(write_file, context, "is a directory", path=".", content="")
    await get_refusal(
        write_file, context, "outside the workspace", path=str(tmp_path / "x"), content="",
        failure=ToolFailure.PERMISSION_DENIED,
    )  # fmt: skip
    with (root / "huge").open("wb") as file:
        file.truncate(MAX_EDITABLE_BYTES + 1)
    await get_refusal(edit_file, context, "larger than", path="huge", edits=edits(("a", "b")))


async def preview_of(tool, context, **arguments):
    return await tool.preview(tool.parse(arguments), context)


async def test_preview_shows_the_complete_diff_and_changes_nothing(context, root):
    (root / "file").write_bytes(b"a\nb")
    preview = await preview_of(write_file, context, path="./file", content="a\nc\n")
    assert preview.body == (
        "--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c"
    )
    assert (preview.kind, preview.paths, preview.protected) == ("diff", ("file",), False)
    assert (root / "file").read_bytes() == b"a\nb"
    new = await preview_of(write_file, context, path="new", content="x\n")
    assert new.body == "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x"
    assert not (root / "new").exists()
    empty = await preview_of(write_file, context, path="new", content="")
    assert empty.body == "--- /dev/null\n+++ b/new\n"


async def test_file_name_cannot_forge_a_diff_line(context):
    preview = await preview_of(write_file, context, path="a\n+++ b/other", content="x\n")
    assert "\n+++ b/other" not in preview.body


@pytest.mark.req("R-TOOL-07")
async def test_preview_of_a_protected_path_is_labelled(context, root):
    (root / "link").symlink_to(".git")
    for path in (".git/config", "sub/.GIT/hooks/x", "link/config", ".yourtool/config.toml"):
        assert (await preview_of(write_file, context, path=path, content="x")).protected


async def test_approved_content_is_what_is_written(contexts, root):
    (root / "file").write_bytes(b"a")
    arguments = {"path": "file", "edits": edits(("a", "b"))}
    preview = await preview_of(edit_file, contexts(), **arguments)
    other = {"path": "file", "edits": edits(("a", "c"))}
    await get_refusal(
        edit_file, contexts(approved=preview), "changed after this edit was approved", **other
    )
    (root / "file").write_bytes(b"a!")
    await get_refusal(edit_file, contexts(approved=preview), "read_file", **arguments)
    assert (root / "file").read_bytes() == b"a!"
    (root / "file").write_bytes(b"a")
    await call(edit_file, contexts(approved=preview), **arguments)
    assert (root / "file").read_bytes() == b"b"


async def test_approval_without_a_guard_covers_nothing(contexts):
    empty = Preview(kind="diff", body="")
    await get_refusal(write_file, contexts(approved=empty), "nothing was", path="x", content="")


@pytest.mark.req("R-TOOL-13")
async def test_writes_to_the_same_file_are_serialized(contexts, root):
    names = [f"<{number}>" for number in range(12)]
    (root / "file").write_text(" ".join(names))
    (root / "link").symlink_to("file")
    await asyncio.gather(
        *(
            call(
                edit_file, contexts(), path=["file", "link"][at % 2], edits=edits((name, f"[{at}]"))
            )
            for at, name in enumerate(names)
        )
    )
    assert (root / "file").read_text() == " ".join(f"[{at}]" for at in range(12))


@pytest.mark.req("R-TOOL-14")
async def test_cancelled_write_is_complete_or_not_started(contexts, root):
    (root / "file").write_bytes(b"a" * 1_000_000)
    for _ in range(5):
        task = asyncio.ensure_future(
            call(write_file, contexts(), path="file", content="b" * 1_000_000)
        )
        await asyncio.sleep(0.003)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        found = hashlib.sha256((root / "file").read_bytes()).hexdigest()
        assert found in {hashlib.sha256(char * 1_000_000).hexdigest() for char in (b"a", b"b")}
    assert [path.name for path in root.iterdir()] == ["file"]


@pytest.mark.parametrize("end", ["b", ""])
def test_search_for_the_old_text_takes_linear_time(contexts, root, end):
    def edit(size):
        (root / "file").write_text("a" * size)
        pairs = edits(("a" * (size // 2) + end, "x"))
        return asyncio.run(get_refusal(edit_file, contexts(), "changed", path="file", edits=pairs))

    assert growth(edit, lambda size: size, 50_000) < LINEAR


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab\r\n"), max_size=12),
    st.text(st.sampled_from("ab\n"), min_size=1, max_size=3),
)
def test_replace_all_is_independent_of_line_endings(tmp_path_factory, text, old):
    text = text.replace("\r\n", "\n").replace("\r", "").replace("\n", "\r\n")
    root = tmp_path_factory.mktemp("edits")
    (root / "file").write_bytes(text.encode())
    if old.replace("\n", "\r\n") not in text:
        return
    context = Contexts(root, root)()
    asyncio.run(call(edit_file, context, path="file", edits=edits((old, "X"), replace_all=True)))
    expected = text.replace("\r\n", "\n").replace(old, "X").replace("\n", "\r\n")
    assert (root / "file").read_bytes() == expected.encode()
