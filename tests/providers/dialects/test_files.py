"""Recordings and documents on every wire: the form of each, and what stands for the others."""

import base64
import json

import pytest

from tests.providers.histories import PNG
from tests.providers.recorded_exchanges import problems, request
from tests.strategies import Writer
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.messages.message import Role
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import FileRoots
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.dialects.generate_content.dialect import GenerateContentDialect
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.dialects.ollama.dialect import OllamaDialect
from yourtool.providers.dialects.responses.dialect import ResponsesDialect

RAW = {
    "application/pdf": b"%PDF-1.7\n",
    "text/plain": "a plän".encode(),
    "audio/wav": b"RIFF\0\0\0\0WAVE",
    "audio/mpeg": b"ID3\x04",
    "audio/ogg": b"OggS\0",
    "audio/flac": b"fLaC\0",
}
IN_BASE64 = {kind: base64.b64encode(raw).decode() for kind, raw in RAW.items()}
PDF, WAV = IN_BASE64["application/pdf"], IN_BASE64["audio/wav"]
ADDRESS = "https://example.org/a.pdf"
EVERYTHING = AdapterCapabilities(supports_images=True, supports_audio=True, supports_documents=True)
DIALECTS = {
    "anthropic": (MessagesDialect(), "anthropic", "messages"),
    "chat": (ChatDialect(), "openai-compat", "chat"),
    "openrouter": (ChatDialect({"more_media": True}), "openrouter", "chat"),
    "responses": (ResponsesDialect(), "openai", "responses"),
    "google": (GenerateContentDialect(), "gemini", "generateContent"),
    "ollama": (OllamaDialect(), "ollama", "chat"),
}


def document(data=PDF, kind="base64", media_type="application/pdf", name="plan.pdf"):
    return DocumentBlock(ImageSource(kind, data), media_type, name)


def sound(media_type="audio/wav"):
    return AudioBlock(ImageSource("base64", IN_BASE64[media_type]), media_type)


def encode_block(dialect, block, capabilities=EVERYTHING, **where):
    """Return the wire form of a block that follows the text `look`."""
    speaks, provider, api = DIALECTS[dialect]
    target = Model(id=f"{provider}:some-model", wire_name="some-model", capabilities=capabilities)
    prompt = Writer().message(Role.USER, [TextBlock("look"), block])
    body = speaks.to_wire(request(target, [prompt], **where)).body
    assert not problems(provider, api, body)
    wire = json.loads(body)
    turns = wire.get("messages") or wire.get("input") or wire.get("contents")
    content = turns[-1].get("content") or turns[-1].get("parts")
    return content if isinstance(content, str) else content[-1]


FORMS = {
    ("anthropic", "pdf"): {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        "title": "plan.pdf",
    },
    ("chat", "pdf"): {
        "type": "file",
        "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    },
    ("responses", "pdf"): {
        "type": "input_file",
        "filename": "plan.pdf",
        "file_data": f"data:application/pdf;base64,{PDF}",
    },
    ("google", "pdf"): {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
    ("anthropic", "address"): {
        "type": "document",
        "source": {"type": "url", "url": ADDRESS},
        "title": "plan.pdf",
    },
    ("openrouter", "address"): {
        "type": "file",
        "file": {"filename": "plan.pdf", "file_data": ADDRESS},
    },
    ("responses", "address"): {"type": "input_file", "file_url": ADDRESS},
    ("google", "address"): {"fileData": {"mimeType": "application/pdf", "fileUri": ADDRESS}},
    ("anthropic", "plain"): {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "a plän"},
        "title": "plan.txt",
    },
    ("chat", "plain"): {"type": "text", "text": "The file plan.txt:\n\na plän"},
    ("responses", "plain"): {"type": "input_text", "text": "The file plan.txt:\n\na plän"},
    ("chat", "sound"): {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    ("google", "sound"): {"inlineData": {"mimeType": "audio/wav", "data": WAV}},
}
BLOCKS = {
    "pdf": document(),
    "address": document(ADDRESS, "url"),
    "plain": document(IN_BASE64["text/plain"], media_type="text/plain", name="plan.txt"),
    "sound": sound(),
}


@pytest.mark.parametrize(("dialect", "what"), FORMS, ids="-".join)
@pytest.mark.req("D14")
def test_each_dialect_has_its_form_of_attachments(dialect, what):
    assert encode_block(dialect, BLOCKS[what]) == FORMS[dialect, what]


@pytest.mark.parametrize(
    ("dialect", "media_type", "file_name"),
    [
        ("chat", "audio/mpeg", "mp3"),
        ("openrouter", "audio/ogg", "ogg"),
        ("openrouter", "audio/flac", "flac"),
    ],
)
@pytest.mark.req("D14")
def test_chat_has_its_names_of_audio_formats(dialect, media_type, file_name):
    assert encode_block(dialect, sound(media_type))["input_audio"]["format"] == file_name


def test_mp3_has_another_name_at_google():
    assert encode_block("google", sound("audio/mpeg"))["inlineData"]["mimeType"] == "audio/mp3"


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        ("anthropic", sound()),
        ("chat", sound("audio/flac")),
        ("chat", BLOCKS["address"]),
        ("openrouter", AudioBlock(ImageSource("url", "https://example.org/a.wav"), "audio/wav")),
        ("responses", sound()),
        ("ollama", sound()),
        ("ollama", document()),
    ],
)
@pytest.mark.req("R-ADP-05")
def test_unsupported_attachment_becomes_a_placeholder_with_one_warning(dialect, block, caplog):
    words = "recording that could not be played" if isinstance(block, AudioBlock) else "document"
    assert words in str(encode_block(dialect, block))
    [record] = caplog.records
    assert record.block_type in ("audio", "document")
    assert {"session_id", "message_id", "adapter", "reason"} <= vars(record).keys()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("block", [sound(), document()], ids=["audio", "document"])
@pytest.mark.req("R-ADP-05")
def test_model_without_attachments_gets_placeholders(dialect, block, caplog):
    assert "could not be" in str(encode_block(dialect, block, AdapterCapabilities()))
    assert len(caplog.records) == 1


IMAGE = base64.b64decode(PNG)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.req("D14")
def test_stored_image_is_sent_unchanged(dialect, tmp_path):
    block = ImageBlock(ImageSource("file_ref", store_blob(tmp_path, IMAGE)), "image/png")
    speaks, provider, _ = DIALECTS[dialect]
    target = Model(id=f"{provider}:m", wire_name="m", capabilities=EVERYTHING)
    prompt = Writer().message(Role.USER, [block])
    body = speaks.to_wire(request(target, [prompt], file_roots=FileRoots(tmp_path, tmp_path))).body
    assert base64.b64encode(IMAGE) in body


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("harm", ["missing", "changed"])
@pytest.mark.req("D14")
def test_changed_stored_attachment_becomes_a_placeholder(dialect, harm, tmp_path, caplog):
    block = ImageBlock(ImageSource("file_ref", store_blob(tmp_path, IMAGE)), "image/png")
    [stored] = tmp_path.iterdir()
    if harm == "missing":
        stored.unlink()
    else:
        stored.write_bytes(b"\x89PNG\r\n\x1a\n a dog")
    body = encode_block(dialect, block, file_roots=FileRoots(tmp_path, tmp_path))
    assert "an image that could not be shown" in str(body)
    [record] = caplog.records
    assert "stored attachment" in record.reason
