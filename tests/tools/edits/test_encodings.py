"""Edits of files in old encodings, and of files with bytes that are no text."""

import asyncio
import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import examples
from tests.tools.contexts import Contexts, answer, call, get_refusal
from yourtool.errors import ToolError
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.edits.patch import apply_patch
from yourtool.tools.files.files import read_file
from yourtool.tools.search.search import grep
from yourtool.tools.workspace.encoding import detect_encoding

TEXTS = {
    "cp1252": "// configuração\r\nx := 1;\r\n",
    "shift_jis": "; 設定\nx := 1;\n",
    "gbk": "// 注释 这是\nx := 1;\n",
    "euc_kr": "// 주석입니다\nx := 1;\n",
    "big5": "// 註解 這是\nx := 1;\n",
    "euc_jp": "// 設定ファイル\nx := 1;\n",
    "cp1251": "// комментарий\nx := 1;\n",
    "koi8_r": "// комментарий\nx := 1;\n",
    "cp1250": "// Příliš žluťoučký kůň\nx := 1;\n",
    "iso8859_7": "// ελληνικά σχόλια\nx := 1;\n",
    "utf-16-le": "// é\r\nx := 1;\r\n",
    "utf-16-be": "// 설정\nx := 1;\n",
    "utf-16": "// é\nx := 1;\n",
    "utf-32": "// é\nx := 1;\n",
    "utf-8-sig": "// é\rx := 1;\r",
}
UPDATE = "*** Begin Patch\n*** Update File: file\n@@\n-x := 1;\n+x := 2;\n*** End Patch"


@pytest.fixture(params=TEXTS)
def encoded(request, root):
    """A file in an encoding: its text, and its bytes with another number."""
    text = TEXTS[request.param]
    (root / "file").write_bytes(text.encode(request.param))
    return text, text.replace("1;", "2;").encode(request.param)


async def test_file_in_an_old_encoding_is_read_and_searched(context, encoded):
    first = encoded[0].splitlines()[0]
    assert f"     1\t{first}\n     2\tx := 1;" in await answer(read_file, context, path="file")
    assert f"file:1: {first}\n" in await answer(grep, context, pattern=first, literal=True)


async def test_edit_keeps_the_encoding_of_a_file(context, root, encoded):
    edit = {"old": "x := 1;", "new": "x := 2;"}
    await call(edit_file, context, path="file", edits=[edit])
    assert (root / "file").read_bytes() == encoded[1]


async def test_patch_keeps_the_encoding_of_a_file(context, root, encoded):
    await call(apply_patch, context, patch=UPDATE)
    assert (root / "file").read_bytes() == encoded[1]


async def test_replaced_file_keeps_its_encoding(context, root, encoded):
    text = encoded[0].replace("1;", "2;").replace("\r\n", "\n").replace("\r", "\n")
    await call(write_file, context, path="file", content=text)
    assert (root / "file").read_bytes() == encoded[1]


async def test_answer_names_a_guessed_encoding(context, root):
    (root / "file").write_bytes(TEXTS["cp1252"].encode("cp1252"))
    arguments = {"path": "file", "edits": [{"old": "1", "new": "2"}]}
    preview = await edit_file.preview(edit_file.parse(arguments), context)
    assert " // configuração\n-x := 1;\n+x := 2;" in preview.body
    said = await answer(edit_file, context, **arguments)
    assert said == "Edited `file`, line 2; it is still Windows-1252 (a guess)."


async def test_character_that_the_encoding_lacks_is_refused(context, root):
    data = TEXTS["cp1252"].encode("cp1252")
    (root / "file").write_bytes(data)
    said = "`file` is Windows-1252 (a guess), which has no `→` (U+2192)"
    await get_refusal(edit_file, context, said, path="file", edits=[{"old": "1", "new": "→"}])
    await get_refusal(write_file, context, said, path="file", content="ç → x\n")
    assert (root / "file").read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        "naïve\n".encode("cp1252"),
        "naïve\n".encode(),
        "naïve\n".encode() + b"\xe9\n",
        "说明\n".encode("gb18030"),
        "naïve\n".encode("utf-16"),
    ],
)
async def test_replacement_character_never_replaces_a_character(context, root, data):
    (root / "file").write_bytes(data)
    await get_refusal(
        write_file,
        context,
        "has U+FFFD in place of characters",
        path="file",
        content="na\ufffdve\n",
    )
    assert (root / "file").read_bytes() == data


async def test_replacement_character_can_be_added_to_a_source_file(context, root):
    (root / "file").write_text("é = 1\n")
    await call(edit_file, context, path="file", edits=[{"old": "1", "new": "'\ufffd'"}])
    assert (root / "file").read_text() == "é = '\ufffd'\n"


async def test_byte_that_is_no_text_is_found_and_kept(context, root):
    (root / "file").write_bytes("é ".encode() + b"caf\xe9 one\nx\n")
    assert "\té caf\ufffd one" in await answer(read_file, context, path="file")
    edit = {"old": "caf\ufffd one", "new": "caf\ufffd two"}
    await call(edit_file, context, path="file", edits=[edit])
    assert (root / "file").read_bytes() == "é ".encode() + b"caf\xe9 two\nx\n"
    edit = {"old": "x", "new": "\ufffd"}
    await get_refusal(edit_file, context, "has U+FFFD", path="file", edits=[edit])
    edit = {"old": "x", "new": "\udce9"}
    await get_refusal(edit_file, context, "unpaired surrogate", path="file", edits=[edit])


async def test_line_is_added_to_a_file_with_carriage_returns(context, root):
    (root / "file").write_bytes(b"one\rtwo\r")
    edits = [{"old": "one\n", "new": "one\nmore\n"}, {"old": "more\ntwo", "new": "more\r\n2"}]
    await call(edit_file, context, path="file", edits=edits)
    assert (root / "file").read_bytes() == b"one\rmore\r2\r"
    await call(write_file, context, path="file", content="a\nb")
    assert (root / "file").read_bytes() == b"a\rb\r"


BYTES = st.one_of(
    st.binary(max_size=60),
    *(
        st.builds(lambda text, codec=codec: text.encode(codec, "ignore"), st.text(max_size=40))
        for codec in ("cp1252", "cp932", "gb18030", "cp949", "big5", "koi8_r", "utf-8", "utf-16-le")
    ),
)


@settings(deadline=None, max_examples=examples(300))
@given(BYTES, BYTES, st.sampled_from([b"", codecs.BOM_UTF8]))
def test_edit_changes_no_byte_outside_of_it(tmp_path_factory, start, end, mark):
    root = tmp_path_factory.mktemp("ws", numbered=True)
    data = mark + start + b"\nthe old text\n" + end
    (root / "file").write_bytes(data)
    edit = {"old": "the old text", "new": "something else"}
    try:
        asyncio.run(call(edit_file, Contexts(root, root)(), path="file", edits=[edit]))
    except ToolError:
        assert (root / "file").read_bytes() == data
        assert b"\0" in data or b"the old text" in start + end
    else:
        assert (root / "file").read_bytes() == data.replace(b"the old text", b"something else")


@settings(deadline=None, max_examples=examples(300))
@given(BYTES)
def test_decoded_file_is_encoded_as_it_was(data):
    if (encoding := detect_encoding(data)) is not None:
        assert encoding.encode(encoding.decode(data)) == data
