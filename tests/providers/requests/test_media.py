import base64
import os

import pytest

from tests.providers.exchanges import model, request
from tests.providers.histories import PNG, image
from tests.strategies import Writer
from yourtool.messages import Role
from yourtool.providers.base import Places
from yourtool.providers.requests.media import sendable

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
        return sendable(picture, message, request(target, places=Places(workspace, workspace)))

    return run


@pytest.mark.parametrize("picture", [image(), image("art/cat.png", "file_ref")])
def test_an_image_is_sent_as_bytes_r_adp_15(send, picture):
    assert send(picture) == ("image/png", PNG, None)


def test_a_file_is_not_looked_for_where_there_are_none(caplog):
    picture = image("art/cat.png", "file_ref")
    message = Writer().message(Role.USER, [picture])
    assert sendable(picture, message, request(SEES)) is None
    assert "there are no files here" in caplog.text


def test_an_address_is_sent_as_it_is(send):
    url = "https://example.org/cat.png"
    assert send(image(url, "url")) == ("image/png", "", url)


def test_what_an_image_really_is_beats_what_it_is_said_to_be(send):
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
        (image("AAAA", media_type="image/tiff"), "image/tiff are not accepted"),
        (image("file:///etc/passwd", "url"), "not an http address"),
    ],
)
def test_an_image_that_cannot_be_sent_is_dropped_with_one_warning_r_adp_05(
    send, caplog, picture, reason
):
    assert send(picture) is None
    [record] = caplog.records
    assert reason in record.reason
    assert record.block_type == "image"


def test_a_model_gets_only_the_types_it_takes(send, caplog):
    capabilities = SEES.capabilities
    target = model(
        "openai",
        capabilities=type(capabilities)(
            supports_images=True, accepted_image_media_types=("image/jpeg",)
        ),
    )
    assert send(image(), target) is None
    assert "image/png are not accepted" in caplog.text
