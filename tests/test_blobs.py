import base64
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import few
from yourtool.blobs import by_hash, fetch, has_bytes, is_blob, keep
from yourtool.errors import BlobError
from yourtool.messages import (
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
def test_what_is_kept_is_had_again(tmp_path_factory, content):
    directory = tmp_path_factory.mktemp("blobs")
    assert fetch(directory, keep(directory, content)) == content


@pytest.mark.req("D14")
def test_the_same_bytes_are_kept_once_for_their_owner_alone(tmp_path):
    directory = tmp_path / "data" / "blobs"
    assert keep(directory, CAT) == keep(directory, CAT)
    [kept] = directory.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


@pytest.mark.req("D14")
def test_bytes_and_the_names_that_lead_to_them_are_on_the_disk_before_a_message_is(
    tmp_path, monkeypatch
):
    synced = []
    sync = os.fsync

    def noted(handle):
        synced.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    directory = tmp_path / "blobs"
    keep(directory, CAT)
    [kept] = directory.iterdir()
    above, file, names = (path.stat().st_ino for path in (tmp_path, kept, directory))
    assert synced == [above, file, names]
    synced.clear()
    keep(directory, CAT)  # which another process may have put there a moment ago
    assert synced == [names]


def test_a_kept_file_that_was_changed_is_refused_and_mended_by_keeping_it_again(tmp_path):
    reference = keep(tmp_path, CAT)
    [kept] = tmp_path.iterdir()
    kept.write_bytes(b"a dog")
    with pytest.raises(BlobError, match="was changed"):
        fetch(tmp_path, reference)
    assert keep(tmp_path, CAT) == reference
    assert fetch(tmp_path, reference) == CAT


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (f"sha256:{'0' * 64}", "cannot be read: No such file"),
        ("sha256:../../etc/passwd", "64 hexadecimal digits"),
        (f"sha256:{'0' * 64}\n", "64 hexadecimal digits"),
        ("", "64 hexadecimal digits"),
    ],
)
def test_what_was_never_kept_is_refused_in_words(tmp_path, reference, why):
    with pytest.raises(BlobError, match=why):
        fetch(tmp_path, reference)


def test_no_more_is_read_than_was_asked_for(tmp_path):
    with pytest.raises(BlobError, match="larger than"):
        fetch(tmp_path, keep(tmp_path, CAT), limit=3)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BlobError, match=r"file/blobs.*Not a directory"):
        keep(tmp_path / "file" / "blobs", CAT)


@pytest.mark.req("D14")
def test_messages_refer_to_their_bytes_wherever_these_stand(tmp_path):
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
    stored = by_hash(tmp_path, content)
    assert not has_bytes(stored)
    reference = keep(tmp_path, CAT)
    assert len(list(tmp_path.iterdir())) == 1
    assert [block.source.data for block in stored[1:4]] == [reference] * 3
    assert stored[3].name == "a.pdf"
    assert stored[4].content[0].source.data == reference
    assert (stored[0], *stored[5:]) == (content[0], *content[5:])
    assert [is_blob(block.source) for block in (stored[1], *stored[5:])] == [True, False, False]


def test_what_is_not_base64_at_all_stays_as_it_came(tmp_path):
    broken = ImageBlock(ImageSource("base64", "no base64"), "image/png")
    assert by_hash(tmp_path, (broken,)) == (broken,)
