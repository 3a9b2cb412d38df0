"""The content of prompts, from blocks of the protocol."""

import base64
from pathlib import Path

import pytest
from acp import embedded_text_resource, resource_block, resource_link_block, text_block
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
)

from yourtool.errors import UsageError
from yourtool.extensions.editors.content import get_path, to_blocks
from yourtool.messages.blocks import DocumentBlock, ImageBlock, TextBlock, parse_file_block

WORK = Path("/work")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def convert(*blocks):
    return to_blocks(blocks, WORK, lambda text: text.replace("sk-secret", "[key]"))


def link(uri):
    return resource_link_block(name="a", uri=uri)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("file:///work/src/a.py", "@src/a.py"),
        ("file:///work/a%C3%A9.py", "@aé.py"),
        ("/work/a.py", "@a.py"),
        ("file:///etc/passwd", "<file:///etc/passwd>"),
        ("file:///work/a%20b.py", "<file:///work/a%20b.py>"),
        ("file://elsewhere/work/a.py", "<file://elsewhere/work/a.py>"),
        ("https://example.org/x", "<https://example.org/x>"),
        ("http://[", "<http://[>"),
    ],
)
def test_link_is_a_mention_or_an_address(uri, text):
    assert convert(text_block("see "), link(uri)) == (TextBlock(f"see {text}"),)


def test_embedded_text_is_an_attached_file_with_keys_masked():
    resource = resource_block(embedded_text_resource("file:///work/a.py", "key = sk-secret\n"))
    text, attached = convert(text_block("look"), resource)
    assert text == TextBlock("look")
    assert isinstance(attached, TextBlock) and "[key]" in attached.text
    assert (found := parse_file_block(attached)) is not None and found[0] == "a.py"


def test_images_and_files_are_known_by_their_content():
    data = base64.b64encode(PNG).decode()
    [image] = convert(ImageContentBlock(type="image", data=data, mime_type="image/jpeg"))
    assert isinstance(image, ImageBlock) and image.media_type == "image/png"
    pdf = base64.b64encode(b"%PDF-1.7\n%%EOF\n").decode()
    blob = BlobResourceContents(blob=pdf, uri="file:///work/a.pdf")
    [document] = convert(EmbeddedResourceContentBlock(type="resource", resource=blob))
    assert isinstance(document, DocumentBlock) and document.name == "a.pdf"


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (text_block(" \n"), "empty"),
        (ImageContentBlock(type="image", data="%", mime_type="image/png"), "base64"),
        (ImageContentBlock(type="image", data="AAAA", mime_type="image/png"), "the image"),
        (AudioContentBlock(type="audio", data="", mime_type="audio/wav"), "the audio"),
        (resource_block(embedded_text_resource("file:///work/a", "x" * 2**19)), "link to the file"),
    ],
)
def test_content_that_cannot_be_sent_is_named(block, problem):
    with pytest.raises(UsageError, match=problem):
        convert(block)


def test_paths_are_read_from_file_addresses_only():
    assert get_path("file://localhost/a b") == Path("/a b")
    assert get_path("zed:///agent/x") is None and get_path("a.py") is None
