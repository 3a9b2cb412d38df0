import base64
import os

import pytest

from tests.providers.histories import PNG, image
from tests.providers.recorded_exchanges import model, request
from tests.strategies import Writer
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageSource
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities
from yourtool.providers.base import FileRoots
from yourtool.providers.requests.media_parts import Media, prepare_media

SEES = model("openai", "gpt-4o")
LIMIT = SEES.capabilities.max_image_bytes
RAW = base64.b64decode(PNG)


@pytest.fixture
def send(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "art").mkdir()
    (workspace / "art" / "cat.png").write_bytes(RAW)
    (tmp_path / "secret.png").write_bytes(RAW)
    (workspace / "link.png").symlink_to(tmp_path / "secret.png")
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "empty.png").touch()
    (workspace / "large.png").write_bytes(RAW + b"\0" * LIMIT)
    os.mkfifo(workspace / "pipe.png")

    def run(picture, target=SEES):
        message = Writer().message(Role.USER, [picture])
        return prepare_media(
            picture, message, request(target, file_roots=FileRoots(workspace, workspace))
        )

    return run


@pytest.mark.parametrize("picture", [image(), image("art/cat.png", "file_ref")])
@pytest.mark.req("R-ADP-15")
def test_an_image_is_sent_as_bytes(send, picture):
    assert send(picture) == Media("image/png", PNG)


def test_file_reference_without_places_is_dropped(caplog):
    picture = image("art/cat.png", "file_ref")
    message = Writer().message(Role.USER, [picture])
    assert prepare_media(picture, message, request(SEES)) is None
    assert "this request has no access to files" in caplog.text


def test_image_url_is_sent_unchanged(send):
    url = "https://example.org/cat.png"
    assert send(image(url, "url")) == Media("image/png", "", url)


def test_detected_media_type_overrides_the_declared_one(send):
    assert send(image(media_type="image/jpeg")).media_type == "image/png"


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (image("link.png", "file_ref"), "cannot be read"),
        (image("out/secret.png", "file_ref"), "cannot be read"),
        (image("../secret.png", "file_ref"), "not a path inside the workspace"),
        (image("/etc/passwd", "file_ref"), "not a path inside the workspace"),
        (image("", "file_ref"), "not a path inside the workspace"),
        (image("a\0b", "file_ref"), "its name is not a path"),
        (image("missing.png", "file_ref"), "No such file"),
        (image("art", "file_ref"), "not a regular file"),
        (image("pipe.png", "file_ref"), "not a regular file"),
        (image("empty.png", "file_ref"), "it is empty"),
        (image("large.png", "file_ref"), "larger than 3.75 MiB"),
        (image("A" * (LIMIT * 2)), "larger than 3.75 MiB"),
        (image("data:image/png;base64,AAAA"), "not base64"),
        (image(""), "it is empty"),
        (image("AAAA", media_type="image/tiff"), "is not one of the accepted types of images"),
        (image("file:///etc/passwd", "url"), "not an HTTP URL"),
        (image("https://", "url"), "not an HTTP URL with a host"),
        (image("https://:80/a.png", "url"), "not an HTTP URL with a host"),
        (image("https:// a b", "url"), "not an HTTP URL with a host"),
        (image("https://x/a b.png", "url"), "not an HTTP URL with a host"),
        (image("https://x/\n", "url"), "not an HTTP URL with a host"),
        (image("https://x/\u2028\ud800", "url"), "not an HTTP URL with a host"),
        (image("https://[x/a.png", "url"), "not an HTTP URL with a host"),
    ],
)
@pytest.mark.req("R-ADP-05")
def test_unsendable_image_is_dropped_with_one_warning(send, caplog, picture, reason):
    assert send(picture) is None
    [record] = caplog.records
    assert reason in record.reason
    assert record.block_type == "image"


@pytest.mark.parametrize(
    "content",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<html>404</html>",
        b"BM" + bytes(60),
        b"\x00\x00\x00\x18ftypheic" + bytes(20),
        RAW[:10],
        RAW[:16] + bytes(40),
        b"GIF89a" + bytes(40),
        b"\xff\xd8\xff\xe0",
        b"RIFF\0\0\0\0WEBP",
    ],
)
@pytest.mark.parametrize("kind", ["file_ref", "base64"])
@pytest.mark.req("R-ADP-15")
def test_data_that_is_not_an_image_is_not_sent(send, tmp_path, caplog, content, kind):
    (tmp_path / "workspace" / "a.png").write_bytes(content)
    data = "a.png" if kind == "file_ref" else base64.b64encode(content).decode()
    assert send(image(data, kind)) is None
    [record] = caplog.records
    assert "its content is not one of the accepted types of images" in record.reason


@pytest.mark.parametrize(
    ("media_type", "content", "sent_as"),
    [
        ("application/pdf", b"hello, no PDF", None),
        ("application/pdf", b"%PDF-1.7\n", "application/pdf"),
        ("text/plain", b"hello, no PDF", "text/plain"),
        ("text/plain", b"ID3 is how many recordings begin", "text/plain"),
        ("text/plain", b"GIF89a", "text/plain"),
        ("text/plain", b"%PDF-1.7\n", "application/pdf"),
    ],
)
@pytest.mark.req("R-ADP-15")
def test_document_type_is_detected_from_its_content_or_is_text(send, media_type, content, sent_as):
    source = ImageSource("base64", base64.b64encode(content).decode())
    reads = model("openai", capabilities=AdapterCapabilities(supports_documents=True))
    media = send(DocumentBlock(source, media_type), reads)
    assert (media and media.media_type) == sent_as


@pytest.mark.parametrize("content", [b"RIFF\0\0\0\0WEBPVP8 ", b"hello", RAW])
@pytest.mark.req("R-ADP-15")
def test_data_that_is_not_audio_is_not_sent(send, content):
    source = ImageSource("base64", base64.b64encode(content).decode())
    hears = model("openai", capabilities=AdapterCapabilities(supports_audio=True))
    assert send(AudioBlock(source, "audio/wav"), hears) is None


def test_only_accepted_media_types_are_sent(send, caplog):
    capabilities = SEES.capabilities
    target = model(
        "openai",
        capabilities=type(capabilities)(
            supports_images=True, accepted_image_media_types=("image/jpeg",)
        ),
    )
    assert send(image(), target) is None
    assert "image/png are not accepted" in caplog.text
