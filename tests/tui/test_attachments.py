"""Attachments: `/attach`, `/paste`, and files dropped on the terminal."""

import base64

import pytest
from msgspec.structs import replace
from textual import events

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import press, say, screen_text, settle, until
from yourtool.agent.commands.table import CORE
from yourtool.agent.input.attachments import attachment_from_bytes, read_attachment
from yourtool.errors import UsageError
from yourtool.messages.blobs import read_blob
from yourtool.messages.blocks import AudioBlock, DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.messages.message import PromptMessage, now
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.completer import Completer
from yourtool.tui.input.pending_attachments import describe_attachments

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Listening(FakeSession):
    """A session that records the content of prompts and counts server queries."""

    learned = 0

    async def load_model_description(self):
        self.learned += 1

    async def send(self, content):
        self.content = content
        text = content if isinstance(content, str) else content[0].text
        async for event in super().send(text):
            yield event


class Attaching(FakeRuntime):
    """Reads real files and a fake clipboard."""

    attach = staticmethod(read_attachment)
    clipboard: bytes | str | None = None

    def read_clipboard(self):
        if self.clipboard is None:
            raise UsageError("There is no image and no text in the clipboard.")
        if isinstance(self.clipboard, str):
            return self.clipboard
        return attachment_from_bytes(self.clipboard, "clipboard")


@pytest.fixture
async def chat(tmp_path):
    """The interface in a directory with `cat.png`."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "cat.png").write_bytes(PIXEL)
    session = Listening(turn("hello", "Hello."), workspace=work)
    runtime = Attaching(tmp_path / "home", session)

    async def opens():
        return runtime

    app = YourtoolApp(opens)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        yield pilot, session, runtime


@pytest.mark.req("R-TUI-04")
async def test_file_is_sent_with_the_next_prompt_only(chat):
    pilot, session, _ = chat
    await say(pilot, f"/attach {session.workspace / 'cat.png'}")
    await until(pilot, lambda: "Attached to the next prompt: cat.png" in screen_text(pilot.app))
    await say(pilot, "what is it?")
    await until(pilot, lambda: session.sent == ["what is it?"])
    text, picture = session.content
    assert (text, type(picture)) == (TextBlock("what is it?"), ImageBlock)
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)
    assert "Goes with" not in screen_text(pilot.app)
    await say(pilot, "sure?")
    await until(pilot, lambda: session.content == "sure?")


async def test_failed_command_does_not_restore_sent_attachments(chat):
    pilot, session, _ = chat
    await say(pilot, "/attach cat.png")
    await until(pilot, lambda: pilot.app.chat.attachments.names == ("cat.png",))
    await say(pilot, "what is it?")
    await until(pilot, lambda: session.sent and not pilot.app.chat.runner.is_running)
    await say(pilot, "/attach missing.png")
    await until(pilot, lambda: "cannot be attached" in screen_text(pilot.app))
    assert not pilot.app.chat.attachments.names


async def test_attachment_can_be_removed(chat):
    pilot, _, _ = chat
    await say(pilot, "/attach cat.png")
    await until(pilot, lambda: pilot.app.chat.attachments.names == ("cat.png",))
    await say(pilot, "/attach -")
    await until(pilot, lambda: not pilot.app.chat.attachments.names)
    await say(pilot, "/attach")
    await until(pilot, lambda: "Attached to the next prompt: nothing." in screen_text(pilot.app))


async def test_unusable_file_is_reported_and_the_command_is_restored(chat):
    pilot, _, _ = chat
    await say(pilot, "/attach missing.png")
    await until(pilot, lambda: "cannot be attached: No such file" in screen_text(pilot.app))
    assert pilot.app.chat.prompt.text == "/attach missing.png"


async def test_unsupported_file_is_reported_immediately(chat):
    pilot, session, _ = chat
    (session.workspace / "paper.pdf").write_bytes(b"%PDF-1.7 words")
    await say(pilot, "/attach paper.pdf")
    told = "paper.pdf: `anthropic:claude-sonnet-4-6` takes no documents. Switch models"
    await until(pilot, lambda: told in " ".join(screen_text(pilot.app).split()))
    assert pilot.app.chat.attachments.names == ("paper.pdf",)
    assert session.sent == []


@pytest.mark.req("R-SWP-03")
async def test_model_without_support_for_attachments_is_reported_immediately(chat):
    pilot, session, _ = chat
    blind, sees = session._models[:2]
    can = replace(sees.capabilities, supports_documents=True)
    session._models = [blind, replace(sees, capabilities=can)]
    session.model = session._models[1]
    for name in ("paper.pdf", "letter.pdf"):
        (session.workspace / name).write_bytes(b"%PDF-1.7 words")
        await say(pilot, f"/attach {name}")
        await until(pilot, lambda name=name: name in pilot.app.chat.attachments.names)
    assert "takes no documents" not in screen_text(pilot.app)
    assert session.learned == 2
    await say(pilot, f"/model {blind.id}")
    told = f"paper.pdf, letter.pdf: `{blind.id}` takes no documents. Switch models"
    await until(pilot, lambda: told in " ".join(screen_text(pilot.app).split()))
    await say(pilot, f"/model {sees.id}")
    await until(pilot, lambda: session.model.id == sees.id)
    await say(pilot, "/attach")
    await until(pilot, lambda: screen_text(pilot.app).count("Attached to the next prompt") == 2)
    assert " ".join(screen_text(pilot.app).split()).count("takes no documents") == 1
    assert session.learned == 4  # once per choice, however many attachments are pending


async def test_rejected_prompt_keeps_its_attachments(chat):
    pilot, session, _ = chat
    await say(pilot, f"/attach {session.workspace / 'cat.png'}")
    await until(pilot, lambda: pilot.app.chat.attachments.names == ("cat.png",))
    await say(pilot, "@nobody look")
    await until(pilot, lambda: "neither a model nor a file" in screen_text(pilot.app))
    assert pilot.app.chat.attachments.names == ("cat.png",)


CLIPBOARD_CHIP = "[Image #1: clipboard, 1x1, 70 bytes]"


@pytest.mark.parametrize("way", ["/paste", "ctrl+v"])
async def test_clipboard_image_is_a_chip_of_the_prompt(chat, way):
    pilot, session, runtime = chat
    runtime.clipboard = PIXEL
    await (press(pilot, way) if way == "ctrl+v" else say(pilot, way))
    await until(pilot, lambda: pilot.app.chat.prompt.text == f"{CLIPBOARD_CHIP} ")
    await press(pilot, *"what?")
    await press(pilot, "enter")
    await until(pilot, lambda: session.sent == [f"{CLIPBOARD_CHIP} what?"])
    _, picture = session.content
    assert picture.source.kind == "file_ref"
    assert read_blob(runtime.paths.blobs, picture.source.data) == PIXEL


async def test_clipboard_text_is_pasted_as_text(chat):
    pilot, _, runtime = chat
    runtime.clipboard = "two\nlines"
    await press(pilot, "a", "ctrl+v")
    await until(pilot, lambda: pilot.app.chat.prompt.text == "atwo\nlines")


async def test_empty_clipboard_is_reported(chat):
    pilot, _, _ = chat
    await press(pilot, "ctrl+v")
    await until(pilot, lambda: "no image and no text in the clipboard" in screen_text(pilot.app))
    assert pilot.app.chat.prompt.text == ""


async def test_dropped_image_becomes_a_chip_and_is_sent(chat):
    pilot, session, _ = chat
    path = session.workspace / "cat.png"
    pilot.app.post_message(events.Paste(f"'{path}' "))
    chip = "[Image #1: cat.png, 1x1, 70 bytes]"
    await until(pilot, lambda: pilot.app.chat.prompt.text == f"{chip} ")
    assert session.sent == []
    path.unlink()  # as the screenshots of macOS, which are moved a moment later
    await press(pilot, "enter")
    await until(pilot, lambda: session.sent == [f"{chip} "])
    assert isinstance(session.content[1], ImageBlock)


@pytest.mark.req("R-TUI-04")
async def test_image_paths_in_the_middle_of_a_message_become_chips(chat):
    pilot, session, _ = chat
    path = session.workspace / "cat.png"
    (session.workspace / "a dog.png").write_bytes(PIXEL)
    await press(pilot, *"see ")
    dog = str(session.workspace / "a dog.png").replace(" ", "\\ ")
    pilot.app.post_message(events.Paste(f"{path}, {dog} and {session.workspace}/notes.txt."))
    chips = "[Image #1: cat.png, 1x1, 70 bytes], [Image #2: a dog.png, 1x1, 70 bytes]"
    text = f"see {chips} and {session.workspace}/notes.txt."
    await until(pilot, lambda: pilot.app.chat.prompt.text == text)


async def test_deleted_chip_is_not_sent(chat):
    pilot, session, runtime = chat
    runtime.clipboard = PIXEL
    await press(pilot, "ctrl+v")
    await until(pilot, lambda: pilot.app.chat.prompt.text == f"{CLIPBOARD_CHIP} ")
    await press(pilot, "backspace", "backspace")
    assert pilot.app.chat.prompt.text == ""
    await press(pilot, "h", "i", "enter")
    await until(pilot, lambda: session.content == "hi")


async def test_recalled_prompt_still_has_its_image(chat):
    pilot, session, runtime = chat
    runtime.clipboard = PIXEL
    await press(pilot, "ctrl+v")
    await until(pilot, lambda: pilot.app.chat.prompt.text == f"{CLIPBOARD_CHIP} ")
    await press(pilot, "enter")
    await until(pilot, lambda: session.sent and not pilot.app.chat.runner.is_running)
    session.content = None
    await press(pilot, "up", "enter")
    await until(pilot, lambda: session.content and isinstance(session.content[1], ImageBlock))


async def test_path_in_a_shell_command_stays_a_path(chat):
    pilot, session, _ = chat
    await press(pilot, *"!ls ")
    pilot.app.post_message(events.Paste(f"{session.workspace}/cat.png"))
    await until(pilot, lambda: pilot.app.chat.prompt.text == f"!ls {session.workspace}/cat.png")
    await settle(pilot)
    assert pilot.app.chat.prompt.draft.attachments == ()


async def test_model_without_images_is_reported_with_the_chip(chat):
    pilot, session, runtime = chat
    session.model = session._models[0]
    runtime.clipboard = b"%PDF-1.7 words"
    await press(pilot, "ctrl+v")
    chip = "[Document #1: clipboard, 14 bytes]"
    await until(pilot, lambda: chip in pilot.app.chat.prompt.text)
    told = "takes no documents. Switch models with `/model`, or remove it"
    await until(pilot, lambda: told in " ".join(screen_text(pilot.app).split()))


async def test_mentioned_file_is_shown_and_sent_with_the_prompt(chat):
    pilot, session, _ = chat
    (session.workspace / "tally.py").write_text("[bold]print[/bold]\n")
    (session.workspace / ".env").write_text("KEY=1")
    await press(pilot, *"fix @tally.py @.env")
    told = "With the prompt: tally.py, 19 bytes · .env, only mentioned: it may contain credentials"
    await until(pilot, lambda: told in " ".join(screen_text(pilot.app).split()))
    await press(pilot, "escape", "enter")
    await until(pilot, lambda: session.sent == ["fix @tally.py @.env"])
    assert session.content[1:] == (TextBlock("The file tally.py:\n\n[bold]print[/bold]\n"),)
    await until(pilot, lambda: "With the prompt" not in screen_text(pilot.app))


async def test_mentions_in_a_folded_paste_and_in_commands_are_text(chat):
    pilot, session, _ = chat
    (session.workspace / "tally.py").write_text("print()\n")
    prompt = pilot.app.chat.prompt
    prompt.paste("@tally.py\n" * 20)
    await press(pilot, "enter")
    await until(pilot, lambda: session.content == "@tally.py\n" * 20)
    await until(pilot, lambda: not pilot.app.chat.runner.is_running)
    preview = pilot.app.chat.mention_preview
    for text in ("!cat @tally.py", "/attach @tally.py"):
        preview.update(session, text, CORE)
        await settle(pilot)
        assert "With the prompt" not in screen_text(pilot.app)
    preview.update(session, "see @tally.py", CORE)
    await until(pilot, lambda: "With the prompt: tally.py" in screen_text(pilot.app))
    preview.update(session, "see", CORE)
    await until(pilot, lambda: "With the prompt" not in screen_text(pilot.app))


async def test_typed_path_of_an_image_is_sent_as_image(chat):
    pilot, session, _ = chat
    await say(pilot, f"what is on {session.workspace}/cat.png?")
    await until(pilot, lambda: session.sent)
    assert [type(block) for block in session.content] == [TextBlock, ImageBlock]


def test_attached_files_are_not_part_of_the_shown_text():
    content = (TextBlock("fix @a.py"), TextBlock("The file a.py:\n\nprint()\n"), TextBlock(" now"))
    prompt = PromptMessage(id="1", session_id="s", content=content, created_at=now())
    assert prompt.text_without_files == "fix @a.py now"
    assert describe_attachments(content) == "a.py (8 bytes)"
    alone = (TextBlock("The file a.py:\n\nis broken"),)
    assert describe_attachments(alone) == ""
    pasted = PromptMessage(id="1", session_id="s", content=alone, created_at=now())
    assert pasted.text_without_files == alone[0].text


def test_attach_completes_files():
    completer = Completer()
    assert completer.needs_files("/attach c")
    completer.files = ["art/cat.png", "notes.md"]
    assert not completer.needs_files("/attach c")
    assert [each.text for each in completer.suggest("/attach ca").candidates] == ["art/cat.png"]


def test_attachments_are_counted_by_kind():
    source = ImageSource("url", "https://example.org/a")
    picture = ImageBlock(source, "image/png")
    assert describe_attachments((TextBlock("x"),)) == ""
    assert describe_attachments((picture, DocumentBlock(source, "application/pdf"), picture)) == (
        "2 images, 1 document"
    )
    assert describe_attachments((AudioBlock(source, "audio/wav"),)) == "1 audio file"
