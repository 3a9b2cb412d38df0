"""Attachments in a session: stored by hash, sent unchanged, refused if unsupported."""

import base64

import pytest

from tests.agent.harness import MODEL, play
from yourtool.errors import BlobError, UsageError
from yourtool.messages.blobs import read_blob
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.providers.dialects.messages.dialect import MessagesDialect
from yourtool.providers.scripted import Scripted, calls, says

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def inline(content):
    return ImageSource("base64", base64.b64encode(content).decode())


IMAGE = (TextBlock("what is this?"), ImageBlock(inline(PIXEL), "image/png"))


@pytest.mark.req("D14")
async def test_image_of_the_user_is_stored_by_its_hash_and_sent_as_bytes(bench):
    adapter = Scripted([says("A pixel.")])
    session = await bench.session(adapter)
    await play(session.send(IMAGE))
    [message, _] = session.state.messages
    reference = message.content[1].source
    assert reference.kind == "file_ref"
    assert read_blob(bench.root / "blobs", reference.data) == PIXEL
    assert base64.b64encode(PIXEL) in MessagesDialect().to_wire(adapter.requests[0]).body
    await session.close()
    stored = b"".join(path.read_bytes() for path in bench.root.rglob("*.db*"))
    assert base64.b64encode(PIXEL)[:60] not in stored
    assert reference.data.encode() in stored


@pytest.mark.req("D14")
async def test_image_from_a_tool_is_stored_by_its_hash(bench):
    (bench.workspace / "dot.png").write_bytes(PIXEL)
    adapter = Scripted([calls("read_file", path="dot.png"), says("A pixel.")])
    session = await bench.session(adapter)
    await play(session.send("look"))
    [_, picture] = session.state.messages[2].result.content
    assert read_blob(bench.root / "blobs", picture.source.data) == PIXEL
    assert base64.b64encode(PIXEL) in MessagesDialect().to_wire(adapter.requests[1]).body
    await session.close()


@pytest.mark.req("D14")
async def test_resumed_session_continues_without_its_attachments(bench, caplog):
    adapter = Scripted([says("A pixel."), says("I cannot see it any more.")])
    session = await bench.session(adapter)
    await play(session.send(IMAGE))
    await session.close()
    for blob in (bench.root / "blobs").iterdir():
        blob.unlink()
    session = await bench.session(adapter, resume=session.id)
    await play(session.send("and now?"))
    assert session.state.messages[-1].text == "I cannot see it any more."
    body = MessagesDialect().to_wire(adapter.requests[1]).body
    assert b"an image that could not be shown to you" in body
    assert "stored attachment cannot be read" in caplog.text
    await session.close()


@pytest.mark.req("D14")
async def test_unstorable_attachment_stores_nothing(bench):
    (bench.root / "blobs").write_text("in the way")
    session = await bench.session(Scripted([says("never")]))
    with pytest.raises(BlobError, match="cannot be stored"):
        await play(session.send(IMAGE))
    assert not session.state.messages
    await session.close()


@pytest.mark.parametrize(
    ("block", "kind", "name"),
    [
        (AudioBlock(inline(b"RIFF\0\0\0\0WAVE"), "audio/wav"), "audio", "audio file"),
        (DocumentBlock(inline(b"%PDF-1.7"), "application/pdf"), "documents", "document"),
    ],
)
@pytest.mark.req("D14")
async def test_model_without_support_for_the_attachment_is_rejected(bench, block, kind, name):
    session = await bench.session(Scripted([says("never")]))
    events = await play(session.send((TextBlock("hm"), block)))
    assert any(f"`{MODEL.id}` takes no {kind}" in str(event) for event in events)
    with pytest.raises(UsageError) as refusal:
        await play(session.select_model("other"))
    assert str(refusal.value) == (
        f"Cannot swap to openai:other: session contains {kind} that this model can't process."
        f" Active model unchanged. The first {name} is in message 1 of 1."
    )
    await session.close()
