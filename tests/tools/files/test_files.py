import base64
import os

import pytest

from tests.tools.contexts import answer, call, get_refusal
from yourtool.messages.blocks import ImageBlock
from yourtool.tools.files import files
from yourtool.tools.files.files import list_dir, read_file
from yourtool.tools.guidance.plan import update_plan
from yourtool.tools.workspace.replacing import digest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.req("R-TOOL-10")
async def test_lines_are_numbered(context, root):
    (root / "file").write_bytes(b"one\ntwo\n")
    assert await answer(read_file, context, path="file") == (
        "`file`, lines 1–2 of 2\n     1\tone\n     2\ttwo"
    )
    assert context.reads.last_digest("file") == digest(b"one\ntwo\n")


@pytest.mark.req("R-TOOL-10")
async def test_long_file_is_read_by_range(context, root):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 3001)))
    first = await answer(read_file, context, path="file")
    assert first.startswith("`file`, lines 1–2000 of 3,000\n")
    assert first.endswith("  2000\tline 2000\n[more lines follow; continue with `offset` 2001]")
    rest = await answer(read_file, context, path="file", offset=2001, limit=1000)
    assert rest.startswith("`file`, lines 2001–3000 of 3,000\n  2001\tline 2001\n")
    assert rest.endswith("  3000\tline 3000")
    beyond = await answer(read_file, context, path="file", offset=3001)
    assert beyond == "`file` has 3,000 lines; use an `offset` below 3001."


async def test_reading_on_in_small_steps_is_answered_with_the_largest_one(context, root):
    (root / "file").write_text("line\n" * 1000)
    for offset, limit, is_small in ((1, 20, False), (21, 20, True), (41, 500, False)):
        said = await answer(read_file, context, path="file", offset=offset, limit=limit)
        assert said.endswith("; one call reads up to 2,000 lines]") == is_small


@pytest.mark.req("R-TOOL-10")
async def test_result_is_limited_to_fifty_kilobytes(context, root):
    (root / "file").write_text(("x" * 999 + "\n") * 100)
    said = await answer(read_file, context, path="file")
    assert 40_000 < len(said) < 52_000
    assert said.endswith("[more lines follow; continue with `offset` 50]")


@pytest.mark.req("R-TOOL-10")
async def test_very_long_line_is_truncated_with_a_note(context, root):
    (root / "file").write_text("x" * 100_000)
    said = await answer(read_file, context, path="file")
    assert len(said) < 3_000
    assert "[98,000 more characters in this line]" in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "`file` is empty."),
        (b"a\r\nb\r\n", "`file`, lines 1–2 of 2; with CRLF line endings\n     1\ta\n     2\tb"),
        (b"a", "`file`, lines 1–1 of 1; no newline at the end\n     1\ta"),
        (b"\xef\xbb\xbfa\n", "`file`, lines 1–1 of 1\n     1\ta"),
        (
            b"\xff\xfe" + "é\n".encode("utf-16-le"),
            "`file`, lines 1–1 of 1; encoded as UTF-16-LE\n     1\té",
        ),
        (
            "é\n".encode("utf-16-be"),
            "`file`, lines 1–1 of 1; encoded as UTF-16-BE\n     1\té",
        ),
        (
            b"caf\xe9\n",
            "`file`, lines 1–1 of 1; read as Windows-1252 (a guess)\n     1\tcafé",
        ),
        (
            "é".encode() + b"\xe9\n",
            "`file`, lines 1–1 of 1; not valid UTF-8: invalid bytes are shown as \ufffd, and edits"
            " keep them\n     1\té\ufffd",
        ),
        (b"a\rb\r", "`file`, lines 1–2 of 2; with CR line endings\n     1\ta\n     2\tb"),
    ],
)
@pytest.mark.req("R-TOOL-10")
async def test_text_in_any_encoding_is_shown(context, root, data, said):
    (root / "file").write_bytes(data)
    assert await answer(read_file, context, path="file") == said


@pytest.mark.req("R-TOOL-10")
@pytest.mark.parametrize(
    ("ranges", "header", "shown"),
    [
        ("2-3,9", "lines 2–3, 9–9 of 10", [2, 3, "…", 9]),
        ("9, 2–3, 3-4", "lines 2–4, 9–9 of 10", [2, 3, 4, "…", 9]),
        ("8-", "lines 8–10 of 10", [8, 9, 10]),
        ("1:2,20-30", "lines 1–2 of 10", [1, 2]),
    ],
)
async def test_several_parts_of_a_file_are_read_at_once(context, root, ranges, header, shown):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    first, *lines = (await answer(read_file, context, path="file", ranges=ranges)).splitlines()
    assert first == f"`file`, {header}"
    assert lines == [n if n == "…" else f"{n:>6}\tline {n}" for n in shown]


async def test_parts_that_are_too_long_are_continued_with_the_rest_of_them(context, root):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 6001)))
    ranges, numbers = "10-1500,2000-3500,5990-", list[int]()
    while ranges:
        said = await answer(read_file, context, path="file", ranges=ranges)
        numbers += [int(line.split("\t")[0]) for line in said.splitlines() if "\t" in line]
        ranges = said.partition("continue with `ranges` ")[2].rstrip("]")
    assert numbers == [*range(10, 1501), *range(2000, 3501), *range(5990, 6001)]


@pytest.mark.parametrize(
    ("ranges", "problem"),
    [
        ("a-b", "`a-b` is no range of lines"),
        ("5-3", "it ends before it begins"),
        ("0-3", "it ends before it begins"),
        ("1-2,,3", "`` is no range"),
        (",".join(["1"] * 60), "more than 50 parts"),
    ],
)
async def test_ranges_that_name_no_lines_are_explained(context, root, ranges, problem):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    await get_refusal(read_file, context, problem, path="file", ranges=ranges)
    beyond = await answer(read_file, context, path="file", ranges="20-30")
    assert beyond == "`file` has 10 lines; use an `offset` below 20."


async def test_file_too_large_to_edit_is_read_by_range(context, root, monkeypatch):
    monkeypatch.setattr(files, "MAX_EDITABLE_BYTES", 9_000)
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 1501)))
    said = await answer(read_file, context, path="file", offset=500, limit=2)
    assert said == (
        "`file`, lines 500–501; too large for `edit_file`\n   500\tline 500\n"
        "   501\tline 501\n[more lines follow; continue with `offset` 502;"
        " one call reads up to 2,000 lines]"
    )
    assert "has 1,500 lines" in await answer(read_file, context, path="file", offset=2000)
    (root / "file").write_bytes(b"\0" * 10_000)
    await get_refusal(read_file, context, "binary", path="file")


@pytest.mark.req("R-TOOL-10")
async def test_binary_file_is_rejected_with_its_size(context, root):
    (root / "file").write_bytes(b"\x7fELF\0\xff" * 10)
    await get_refusal(
        read_file, context, "`file` is a binary file (60 bytes)", "`shell`", path="file"
    )


@pytest.mark.req("R-TOOL-10")
async def test_image_is_an_image_block_for_models_with_image_input(contexts, root):
    (root / "a.txt").write_bytes(PNG)
    output = await call(read_file, contexts(image_limit=2**20), path="a.txt")
    [image] = [block for block in output.content if isinstance(block, ImageBlock)]
    assert image.media_type == "image/png"
    assert base64.b64decode(image.source.data) == PNG
    await get_refusal(
        read_file, contexts(), "image/png", "switch to a model that does", path="a.txt"
    )


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF0000WEBP", "image/webp"),
    ],
)
@pytest.mark.req("R-TOOL-10")
async def test_images_are_recognized_by_their_bytes(contexts, root, data, media_type):
    (root / "picture").write_bytes(data)
    output = await call(read_file, contexts(image_limit=2**20), path="picture")
    assert output.content[1].media_type == media_type


@pytest.mark.req("R-TOOL-02")
async def test_image_too_large_for_the_model_is_rejected(contexts, root):
    (root / "a.png").write_bytes(PNG + b"\0" * 2**18)
    said = ("more than 0.25 MiB, the limit of this model", "smaller copy")
    await get_refusal(read_file, contexts(image_limit=2**18), *said, path="a.png")


@pytest.mark.req("R-TOOL-02")
async def test_unreadable_file_error_suggests_a_fix(context, root):
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("x")
    await get_refusal(read_file, context, "is a directory", "`list_dir`", path="src")
    await get_refusal(read_file, context, "similar names: `src/main.py`", path="src/mian.py")
    os.mkfifo(root / "pipe")
    await get_refusal(read_file, context, "named pipe", path="pipe")


async def test_listing_has_directories_first(context, root):
    (root / "b").mkdir()
    (root / "a.txt").write_text("12345")
    (root / "c").symlink_to("b")
    (root / "evil\nname").write_text("")
    assert await answer(list_dir, context) == "b/\na.txt\t5\nc -> b\n'evil\\nname'\t0"
    assert await answer(list_dir, context, path="b") == "`b` is an empty directory."


async def test_long_listing_reports_the_total(context, root, monkeypatch):
    monkeypatch.setattr(files, "_MAX_ENTRIES", 2)
    for name in "abc":
        (root / name).write_text("")
    assert (await answer(list_dir, context)).endswith(
        "[3 entries; the first 2 are shown; use `glob` to find more]"
    )


@pytest.mark.req("R-TOOL-02")
async def test_unlistable_directory_error_suggests_a_fix(context, root):
    (root / "file").write_text("")
    await get_refusal(list_dir, context, "`file` is a file", "`read_file`", path="file")
    await get_refusal(list_dir, context, "does not exist", path="nowhere")


async def test_plan_is_stored_for_the_interface(context):
    steps = [{"text": "look", "status": "completed"}, {"text": "leap", "status": "in_progress"}]
    output = await call(update_plan, context, steps=[*steps, {"text": "rest"}])
    assert output.details == {"plan": [*steps, {"text": "rest", "status": "pending"}]}
    assert output.content[0].text == "Plan updated: 1 of 3 steps completed; now: leap."
