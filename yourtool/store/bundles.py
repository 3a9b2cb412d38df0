"""Portable file of a session.

`manifest.json` names every other file with its size and SHA-256. `session.jsonl` has the lines of
an export, `blobs/<sha256>` the attachments, and `prices.json` the prices of the session's models
when it was exported. A bundle in which anything differs from the manifest is refused.
"""

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.errors import UsageError
from yourtool.events.catalog import AnyFact
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import canonical_json
from yourtool.store.exports import from_jsonl, read_lines, to_jsonl
from yourtool.store.texts import TextTransform, get_attachments, read_shared

BUNDLE_VERSION = 1
MAX_BYTES = 512 * 2**20
"""Maximum bytes of a bundle, also of all its files when they are unpacked."""
_MANIFEST, _SESSION, _PRICES = "manifest.json", "session.jsonl", "prices.json"
_BLOBS = "blobs/"
_MAGIC = b"PK\x03\x04"
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time of every file, so that equal sessions are equal bundles."""
_DAMAGES = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, KeyError, IndexError, OverflowError),
)
"""What `zipfile` raises for archives that are damaged, encrypted or of an unknown kind."""


class BundledFile(Struct, frozen=True):
    """A file of a bundle in its manifest."""

    sha256: str
    bytes: int


class Manifest(Struct, frozen=True, kw_only=True, tag_field="type", tag="yourtool.bundle"):
    """The first file of a bundle."""

    version: int
    session_id: str
    files: Mapping[str, BundledFile]


def to_bundle(
    facts: Sequence[AnyFact], mask: TextTransform, blobs: Path, prices: Mapping[str, Any]
) -> Iterator[bytes]:
    """Yield the bytes of a bundle; blocks on the file system.

    `mask` removes secrets from a string; an attachment that is missing or has one is omitted.
    `prices`: the price of each model. Equal sessions give equal bytes.
    """
    files = {_SESSION: b"".join(to_jsonl(facts, mask)), _PRICES: canonical_json(prices)}
    for reference in dict.fromkeys(each for fact in facts for each in get_attachments(fact)):
        if content := read_shared(blobs, reference, mask):
            files[_BLOBS + reference.removeprefix("sha256:")] = content
    manifest = Manifest(
        version=BUNDLE_VERSION,
        session_id=facts[0].session_id,
        files={name: BundledFile(_digest(each), len(each)) for name, each in files.items()},
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        for name, content in {_MANIFEST: canonical_json(manifest), **files}.items():
            info = zipfile.ZipInfo(name, _OLDEST)
            bundle.writestr(info, content, zipfile.ZIP_DEFLATED)
    yield archive.getvalue()


def is_bundle(start: bytes) -> bool:
    """Return whether the first bytes of a file are those of a bundle."""
    return start.startswith(_MAGIC)


def read_bundle(content: bytes, blobs: Path) -> tuple[AnyFact, ...]:
    """Return the facts of a bundle and store its attachments; blocks on the file system.

    Raises:
        UsageError: the bundle is damaged or of a newer version; the message names the file in it.
            Nothing was stored.
        BlobError: an attachment cannot be stored.
    """
    if len(content) > MAX_BYTES:
        raise UsageError(f"it is larger than {MAX_BYTES // 2**20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _read_files(archive)
    except _DAMAGES as error:
        raise UsageError(f"the bundle is damaged: {error or type(error).__name__}") from error
    facts = from_jsonl(read_lines(io.BytesIO(files[_SESSION])), blobs)
    for reference in dict.fromkeys(each for fact in facts for each in get_attachments(fact)):
        if found := files.get(_BLOBS + reference.removeprefix("sha256:")):
            store_blob(blobs, found)
    return facts


def _read_files(archive: zipfile.ZipFile) -> Mapping[str, bytes]:
    """Return the files that the manifest names, all of which match it."""
    manifest = _read_manifest(archive)
    present = set(archive.namelist()) - {_MANIFEST}
    if missing := sorted({_SESSION, *manifest.files} - present):
        raise UsageError(f"the bundle is damaged: `{missing[0]}` is missing")
    if foreign := sorted(present - manifest.files.keys()):
        raise UsageError(f"the bundle is damaged: `{foreign[0]}` is not in its `{_MANIFEST}`")
    if sum(each.bytes for each in manifest.files.values()) > MAX_BYTES:
        raise UsageError(f"the bundle unpacks to more than {MAX_BYTES // 2**20} MiB")
    files = dict[str, bytes]()
    for name, expected in manifest.files.items():
        content = _read_file(archive, name, expected.bytes)
        if len(content) != expected.bytes or _digest(content) != expected.sha256:
            raise UsageError(f"the bundle is damaged: `{name}` does not match its checksum")
        files[name] = content
    return files


def _read_manifest(archive: zipfile.ZipFile) -> Manifest:
    try:
        raw = _read_file(archive, _MANIFEST, 2**24)
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (KeyError, msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"it is no bundle of yourtool: `{_MANIFEST}`: {error}") from error
    if manifest.version > BUNDLE_VERSION:
        raise UsageError(
            f"version {manifest.version} was written by a newer yourtool; update yours"
        )
    return manifest


def _read_file(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a file, read only until it exceeds its limit.

    Raises:
        UsageError: it is damaged.
        KeyError: it does not exist.
    """
    try:
        with archive.open(name) as file:
            return file.read(limit + 1)
    except KeyError:
        raise
    except _DAMAGES as error:
        raise UsageError(f"the bundle is damaged: `{name}`: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
