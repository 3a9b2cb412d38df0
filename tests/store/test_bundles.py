"""A bundle is a session in one file, with checksums (issue 13, point 5)."""

import io
import json
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.test_forks import messages_of, store_conversation
from tests.store.turns import FactBuilder, changed
from tests.strategies import examples
from yourtool.errors import UsageError
from yourtool.messages.blobs import read_blob, store_blob
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.store.bundles import is_bundle, read_bundle, to_bundle
from yourtool.store.forks import import_session
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

PRICES = {"pricing_version": "2026-05-08", "models": {"a:b": {"input_per_mtok_usd": "3"}}}
PICTURE = b"\x89PNG..."


def bundle_of(facts, blobs, mask=str):
    return b"".join(to_bundle(facts, mask, blobs, PRICES))


def session_with_picture(blobs):
    builder = FactBuilder()
    start, asked = builder.session_start(), builder.turn_start("look")
    picture = ImageBlock(ImageSource("file_ref", store_blob(blobs, PICTURE)), "image/png")
    content = (TextBlock("look"), picture)
    return [
        start,
        changed(asked, message=changed(asked.message, content=content)),
    ]


def repacked(content, changes):
    """The bundle with other contents of files; None: without the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()} | changes
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, each in files.items():
            if each is not None:
                archive.writestr(name, each)
    return target.getvalue()


@pytest.mark.req("R-PER-08")
async def test_import_elsewhere_gives_an_equal_session(store, tmp_path):
    session_id, facts = await store_conversation(store, "one", "two")
    content = bundle_of(await store.read(session_id), tmp_path / "blobs")
    assert is_bundle(content)
    elsewhere = Database(tmp_path / "elsewhere" / "sessions.db")
    other = SqliteStore(elsewhere)
    read = read_bundle(content, tmp_path / "there")
    assert await import_session(other, read, tmp_path) == session_id
    copy = await other.read(session_id)
    assert messages_of(copy) == messages_of(facts)
    assert [fact.id for fact in copy[:-1]] == [fact.id for fact in facts]
    assert (await other.list())[0].cost_usd == 0, "the session elsewhere paid for it"
    await elsewhere.close()


def test_bundle_has_attachments_and_prices_and_equal_sessions_have_equal_bundles(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    facts = session_with_picture(here)
    content = bundle_of(facts, here)
    assert content == bundle_of(facts, here)
    assert list(read_bundle(content, there)) == facts
    assert read_blob(there, facts[1].message.content[1].source.data) == PICTURE
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert json.loads(archive.read("prices.json")) == PRICES
        assert json.loads(archive.read("manifest.json"))["session_id"] == facts[0].session_id


def test_bundle_contains_no_secret(tmp_path):
    facts = session_with_picture(tmp_path)
    content = bundle_of(
        facts, tmp_path, lambda text: text.replace("look", "***").replace("PNG", "")
    )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert not any(b"look" in each or PICTURE in each for each in files.values())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"session.jsonl": b"other"}, "`session.jsonl` does not match"),
        ({"prices.json": None}, "`prices.json` is missing"),
        ({"../evil": b""}, "`../evil` is not in its `manifest.json`"),
        ({"manifest.json": None}, "no bundle of yourtool"),
        ({"manifest.json": b"{"}, "no bundle of yourtool"),
        (
            {"manifest.json": b'{"type":"yourtool.bundle","version":2,"session_id":"","files":{}}'},
            "newer yourtool",
        ),
    ],
)
def test_changed_bundle_is_refused_with_the_place(changes, words, tmp_path):
    content = repacked(bundle_of(session_with_picture(tmp_path), tmp_path), changes)
    with pytest.raises(UsageError, match=words):
        read_bundle(content, tmp_path / "there")
    assert not (tmp_path / "there").exists()


@settings(max_examples=examples(200), deadline=None)
@given(place=st.floats(0, 0.999), cut=st.integers(0, 9) | st.just(10**6), new=st.binary(max_size=4))
def test_damaged_bundle_is_refused_or_read_unchanged(place, cut, new, tmp_path_factory):
    blobs = tmp_path_factory.getbasetemp() / "bundle_blobs"
    facts = session_with_picture(blobs)
    content = bundle_of(facts, blobs)
    at = int(place * len(content))
    damaged = content[:at] + new + content[at + cut :]
    try:
        assert list(read_bundle(damaged, blobs)) == facts
    except UsageError as error:
        assert "bundle" in str(error)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(content):
    with pytest.raises(UsageError, match="bundle"):
        read_bundle(b"PK\x03\x04" + content, None)


def test_file_that_unpacks_to_more_than_its_size_is_refused(tmp_path):
    content = bundle_of(session_with_picture(tmp_path), tmp_path)
    bomb = repacked(content, {"prices.json": b" " * 2**24})
    with pytest.raises(UsageError, match=r"`prices.json` does not match"):
        read_bundle(bomb, tmp_path)
