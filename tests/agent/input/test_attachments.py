import base64
import io
import os
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st
from PIL import Image

from yourtool.agent.input.attachments import MAX_FILE_BYTES, attachment_from_bytes, read_attachment
from yourtool.errors import UsageError
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, TextBlock
from yourtool.models import AdapterCapabilities
from yourtool.providers.media_types import dimensions, orientation

WAV = b"RIFF\x24\0\0\0WAVEfmt "
PDF = b"%PDF-1.7\n\xe2\xe3\xcf\xd3"


def encode_image(kind, size=(30, 20), **options):
    buffer = io.BytesIO()
    Image.new("RGB", size, "navy").save(buffer, kind, **options)
    return buffer.getvalue()


def noise(side):
    """A PNG that hardly gets smaller."""
    return encode_from(Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)), "PNG")


def encode_from(picture, kind, **options):
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def content(attachment):
    return base64.b64decode(attachment.block.source.data)


@pytest.mark.parametrize(
    ("magic", "media_type"),
    [
        (WAV, "audio/wav"),
        (b"ID3\x04 tag", "audio/mpeg"),
        (b"\xff\xfb\x90\x64 frame", "audio/mpeg"),
        (b"\xff\xf3\x90\x64 frame", "audio/mpeg"),
        (b"\xff\xf2\x90\x64 frame", "audio/mpeg"),
        (b"OggS\0\x02", "audio/ogg"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
    ],
)
@pytest.mark.req("D14")
def test_audio_is_detected_by_its_first_bytes(tmp_path, magic, media_type):
    (tmp_path / "said").write_bytes(magic)
    attached = read_attachment(tmp_path / "said")
    assert isinstance(attached.block, AudioBlock)
    assert (attached.block.media_type, content(attached)) == (media_type, magic)


@pytest.mark.req("D14")
def test_pdf_has_its_file_name(tmp_path):
    (tmp_path / "plan.pdf").write_bytes(PDF)
    attached = read_attachment(str(tmp_path / "plan.pdf"))
    assert isinstance(attached.block, DocumentBlock)
    assert (attached.block.media_type, attached.block.name) == ("application/pdf", "plan.pdf")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_image_within_the_limits_is_unchanged(kind):
    picture = encode_image(kind)
    attached = attachment_from_bytes(picture, f"a.{kind.lower()}")
    assert isinstance(attached.block, ImageBlock)
    assert (content(attached), attached.notice) == (picture, "")


@pytest.mark.req("D14")
def test_detected_type_overrides_the_file_name_with_a_warning():
    attached = attachment_from_bytes(encode_image("JPEG"), "a.png")
    assert attached.block.media_type == "image/jpeg"
    assert attached.notice == "`a.png` is really image/jpeg, and is sent as that."
    assert (
        attachment_from_bytes(WAV, "a.mp3").notice
        == "`a.mp3` is really audio/wav, and is sent as that."
    )


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "AVIF"])
def test_image_of_an_unsupported_type_is_converted(kind):
    attached = attachment_from_bytes(encode_image(kind), f"a.{kind.lower()}")
    assert attached.block.media_type in ("image/png", "image/jpeg")
    assert f"converted from {kind} to" in attached.notice
    assert Image.open(io.BytesIO(content(attached))).size == (30, 20)


@pytest.mark.remaining
def test_image_with_too_many_bytes_is_scaled_down_deterministically():
    large, limit = noise(1_180), AdapterCapabilities().max_image_bytes
    assert len(large) > limit
    first, second = attachment_from_bytes(large, "a.png"), attachment_from_bytes(large, "a.png")
    assert content(first) == content(second)
    assert len(content(first)) <= limit
    assert first.notice == "`a.png` was scaled down to the limits of models."


@pytest.mark.req("R-CRD-02")
def test_image_is_decoded_in_another_process_that_has_no_key(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nenv > {tmp_path}/told\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    attachment_from_bytes(encode_image("PNG"), "small.png")
    assert not (tmp_path / "told").exists(), "an image that needs no change is not decoded"
    for large, name in ((noise(1_180), "a.png"), (encode_image("BMP"), "a.bmp")):
        with pytest.raises(UsageError, match="cannot be decoded"):
            attachment_from_bytes(large, name)
        assert "canary" not in (tmp_path / "told").read_text()
        (tmp_path / "told").unlink()


def test_image_with_too_many_pixels_is_scaled_down_and_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn to the right
    attached = attachment_from_bytes(
        encode_image("JPEG", (8_100, 30), exif=exif.tobytes()), "a.jpg"
    )
    width, height = dimensions(content(attached))
    assert height == 2_000
    assert width < height


def test_image_has_its_dimensions():
    assert attachment_from_bytes(encode_image("PNG"), "a.png").block.pixels == (30, 20)


@pytest.mark.parametrize("turn", range(1, 9))
def test_photo_within_the_limits_is_rotated_upright(turn):
    """A red corner marks the orientation; odd ones have the other byte order."""
    upright = Image.new("RGB", (48, 32), "white")
    upright.paste("red", (0, 0, 16, 16))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    stored = upright if turn == 1 else upright.transpose(Image.Transpose(undo[turn]))
    exif = Image.Exif()
    exif.endian = "<>"[turn % 2]
    exif[0x0112] = turn
    buffer = io.BytesIO()
    stored.save(buffer, "JPEG", quality=95, exif=exif.tobytes())
    attached = attachment_from_bytes(buffer.getvalue(), "a.jpg")
    decoded = Image.open(io.BytesIO(content(attached))).convert("RGB")
    assert decoded.size == (48, 32)
    red, green, _ = decoded.getpixel((4, 4))
    assert red > 200 > 60 > green
    assert attached.notice == ("" if turn == 1 else "`a.jpg` was rotated upright.")


@generated(st.binary(max_size=60))
def test_orientation_of_a_damaged_photo_is_ignored(rest):
    size = (len(rest) + 8).to_bytes(2, "big")
    assert 1 <= orientation(b"\xff\xd8\xff\xe1" + size + b"Exif\0\0" + rest) <= 8
    assert 1 <= orientation(b"\xff\xd8\xff" + rest) <= 8


@pytest.mark.parametrize(
    ("given", "name", "why"),
    [
        (b"", "a.png", "`a.png` is empty"),
        (b"\0\0\0\x18ftypheic", "a.heic", "HEIC image, which models do not accept"),
        (b"BM\0\0\0\0\0\0\0\0 broken", "a.bmp", "cannot be decoded"),
        (b"\x7fELF\0", "a.out", "audio .WAV, MP3, Ogg, FLAC., PDFs and text"),
        (PDF + b"\0" * MAX_FILE_BYTES, "a.pdf", "`a.pdf` is larger than 64 MiB"),
        (WAV + b"\0" * MAX_FILE_BYTES, "a.wav", "`a.wav` is larger than 64 MiB"),
        (b"x" * 2**19, "a.txt", "`a.txt` is larger than 256 KiB"),
    ],
    ids=["empty", "heic", "broken", "program", "large-pdf", "large-wav", "large-text"],
)
@pytest.mark.req("D14")
def test_unsupported_attachment_is_rejected_with_a_reason(given, name, why):
    with pytest.raises(UsageError, match=why):
        attachment_from_bytes(given, name)


def test_huge_image_is_rejected_before_decoding():
    head = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    rows = b"IDAT" + zlib.compress(b"")
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (head, rows, b"IEND")
    )
    with pytest.raises(UsageError, match="more than 100,000,000 pixels"):
        attachment_from_bytes(bomb, "bomb.png")


def test_rejection_without_pillow_explains_how_to_install_it(tmp_path):
    script = (
        "import sys; sys.modules['PIL'] = None\n"
        "import importlib.util as u; u.find_spec = lambda name: None\n"
        "from yourtool.agent.input.attachments import attachment_from_bytes\n"
        "from yourtool.errors import UsageError\n"
        "try: attachment_from_bytes(b'BM' + bytes(20), 'a.bmp')\n"
        "except UsageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "[images]'` to have it converted" in done.stdout


def test_photo_is_unchanged_without_pillow_and_the_user_is_warned():
    script = (
        "import importlib.util as u; u.find_spec = lambda name: None\n"
        "import sys; from yourtool.agent.input.attachments import attachment_from_bytes\n"
        "print(attachment_from_bytes(sys.stdin.buffer.read(), 'a.jpg').notice)\n"
    )
    exif = Image.Exif()
    exif[0x0112] = 6
    photograph = encode_image("JPEG", exif=exif.tobytes())
    done = subprocess.run(
        [sys.executable, "-c", script], input=photograph, capture_output=True, check=True
    )
    assert done.stdout.decode().startswith("`a.jpg` is rotated; run `")
    assert "[images]'` to have it rotated upright." in done.stdout.decode()


def test_large_image_is_unchanged_without_pillow_and_the_user_is_warned():
    script = (
        "import importlib.util as u; u.find_spec = lambda name: None\n"
        "import sys; from yourtool.agent.input.attachments import attachment_from_bytes\n"
        "print(attachment_from_bytes(sys.stdin.buffer.read(), 'a.png').notice)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=noise(1_180), capture_output=True, check=True
    )
    assert done.stdout.decode().startswith("`a.png` is too large for many models; run `")


def test_image_url_is_passed_on_and_never_fetched():
    attached = read_attachment("https://example.org/cat.webp?size=2")
    assert isinstance(attached.block, ImageBlock)
    assert attached.block.source.kind == "url"
    assert attached.block.media_type == "image/webp"
    assert isinstance(read_attachment("https://example.org/a.pdf").block, DocumentBlock)
    with pytest.raises(UsageError, match="is audio, which cannot be sent as a URL"):
        read_attachment("https://example.org/a.mp3")


def test_data_url_is_decoded_to_bytes():
    encoded = base64.b64encode(PDF).decode()
    assert content(read_attachment(f"data:application/pdf;base64,{encoded}")) == PDF
    with pytest.raises(UsageError, match="does not contain valid base64"):
        read_attachment("data:image/png;base64,!")


def test_hostile_names_are_harmless(tmp_path):
    (tmp_path / "a\x1b[2J\n.txt").write_text("hi")
    attached = read_attachment(tmp_path / "a\x1b[2J\n.txt")
    assert isinstance(attached.block, TextBlock)
    assert "\x1b" not in attached.name
    assert "\x1b" not in attached.block.text
    for name in ("a\0b", "~nobody-here/a", "x" * 5_000, "missing.png"):
        with pytest.raises(UsageError, match="cannot be attached"):
            read_attachment(name)
