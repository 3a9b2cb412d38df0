import base64
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import few
from yourtool.errors import BlobError
from yourtool.messages.blobs import has_bytes, is_blob, read_blob, store_blob, store_media
from yourtool.messages.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    TextBlock,
    ToolResultBlock,
)

CAT = b"\x89PNG\r\n\x1a\n a cat"
INLINE = ImageSource("base64", base64.b64encode(CAT).decode())


@few
@given(content=st.binary(max_size=5_000))
@pytest.mark.req("D14")
def test_stored_content_can_be_read_back(tmp_path_factory, content):
    directory = tmp_path_factory.mktemp("blobs")
    assert read_blob(directory, store_blob(directory, content)) == content


@pytest.mark.req("D14")
def test_the_same_bytes_are_stored_once_and_readable_by_the_owner_only(tmp_path):
    directory = tmp_path / "data" / "blobs"
    assert store_blob(directory, CAT) == store_blob(directory, CAT)
    [stored] = directory.iterdir()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


@pytest.mark.req("D14")
def test_bytes_and_names_are_synced_before_a_message_refers_to_them(tmp_path, monkeypatch):
    synced = []
    sync = os.fsync

    def record_sync(handle):
        synced.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", record_sync)
    directory = tmp_path / "blobs"
    store_blob(directory, CAT)
    [stored] = directory.iterdir()
    above, file, names = (path.stat().st_ino for path in (tmp_path, stored, directory))
    assert synced == [above, file, names]
    synced.clear()
    store_blob(directory, CAT)  # another process may have stored it just now
    assert synced == [names]


def test_a_changed_file_is_refused_and_repaired_by_storing_it_again(tmp_path):
    reference = store_blob(tmp_path, CAT)
    [stored] = tmp_path.iterdir()
    stored.write_bytes(b"a dog")
    with pytest.raises(BlobError, match="has changed"):
        read_blob(tmp_path, reference)
    assert store_blob(tmp_path, CAT) == reference
    assert read_blob(tmp_path, reference) == CAT


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (f"sha256:{'0' * 64}", "cannot be read: No such file"),
        ("sha256:../../etc/passwd", "64 hexadecimal digits"),
        (f"sha256:{'0' * 64}\n", "64 hexadecimal digits"),
        ("", "64 hexadecimal digits"),
    ],
)
def test_an_invalid_or_unknown_reference_is_refused_with_the_reason(tmp_path, reference, why):
    with pytest.raises(BlobError, match=why):
        read_blob(tmp_path, reference)


def test_reading_stops_at_the_limit(tmp_path):
    with pytest.raises(BlobError, match="larger than"):
        read_blob(tmp_path, store_blob(tmp_path, CAT), limit=3)


def test_the_error_names_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BlobError, match=r"file/blobs.*Not a directory"):
        store_blob(tmp_path / "file" / "blobs", CAT)


@pytest.mark.req("D14")
def test_stored_messages_refer_to_their_bytes_in_every_kind_of_block(tmp_path):
    content = (
        TextBlock("look"),
        ImageBlock(INLINE, "image/png"),
        AudioBlock(INLINE, "audio/wav"),
        DocumentBlock(INLINE, "application/pdf", "a.pdf"),
        ToolResultBlock("tu_1", (ImageBlock(INLINE, "image/png"),)),
        ImageBlock(ImageSource("url", "https://example.org/a.png"), "image/png"),
        ImageBlock(ImageSource("file_ref", "art/cat.png"), "image/png"),
    )
    assert has_bytes(content)
    stored = store_media(tmp_path, content)
    assert not has_bytes(stored)
    reference = store_blob(tmp_path, CAT)
    assert len(list(tmp_path.iterdir())) == 1
    assert [block.source.data for block in stored[1:4]] == [reference] * 3
    assert stored[3].name == "a.pdf"
    assert stored[4].content[0].source.data == reference
    assert (stored[0], *stored[5:]) == (content[0], *content[5:])
    assert [is_blob(block.source) for block in (stored[1], *stored[5:])] == [True, False, False]


def test_invalid_base64_is_left_unchanged(tmp_path):
    broken = ImageBlock(ImageSource("base64", "no base64"), "image/png")
    assert store_media(tmp_path, (broken,)) == (broken,)
