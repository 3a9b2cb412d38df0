"""Ctrl+G edits the prompt in the user's editor."""

import os
import stat
import sys
from pathlib import Path

import pytest

from tests.tui.fakes import FakeRuntime, FakeSession, turn
from tests.tui.pilot_helpers import burst, press, screen_text, settle, until
from yourtool.messages.blocks import ImageBlock, ImageSource
from yourtool.tui.app import YourtoolApp
from yourtool.tui.input.drafts import ChipAttachment, Draft

IMAGE = ImageBlock(ImageSource("url", "https://example.org/a.png"), "image/png")


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("VISUAL", raising=False)
    for name in ("work", "tmp"):
        (tmp_path / name).mkdir()
    session = FakeSession(turn("hello", "Hello to you."), workspace=tmp_path / "work")
    runtime = FakeRuntime(tmp_path / "home", session)

    async def opens():
        return runtime

    return YourtoolApp(opens)


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Return a function that makes Python code the editor; `file` is its path argument."""

    def set_editor(code, *arguments):
        script = tmp_path / "the editor.py"
        script.write_text(f"import os, sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\n{code}\n")
        command = f"{sys.executable} '{script}' {' '.join(arguments)}"
        monkeypatch.setenv("EDITOR", command)

    return set_editor


async def edit(pilot):
    await press(pilot, "ctrl+g")
    await until(pilot, lambda: not pilot.app._editing.is_running)
    await settle(pilot)


async def test_edited_text_replaces_the_prompt_and_undo_restores_it(app, editor):
    editor("file.write_text(file.read_text().upper() + 'more\\n')")
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"one")
        await edit(pilot)
        assert app.chat.prompt.text == "ONE\nmore"
        assert app.chat.prompt.cursor_location == (1, 4)
        await press(pilot, "ctrl+underscore")
        assert app.chat.prompt.text == "one"


async def test_editor_gets_its_arguments_and_the_workspace(app, editor, tmp_path):
    editor("file.write_text(f'{sys.argv[1:-1]} {os.getcwd()}')", "--wait", "'two words'")
    async with app.run_test() as pilot:
        await settle(pilot)
        await edit(pilot)
        assert app.chat.prompt.text == f"['--wait', 'two words'] {tmp_path / 'work'}"


async def test_visual_has_priority_over_editor(app, editor, monkeypatch):
    editor("file.write_text('visual')")
    monkeypatch.setenv("VISUAL", os.environ["EDITOR"])
    monkeypatch.setenv("EDITOR", "false")
    async with app.run_test() as pilot:
        await settle(pilot)
        await edit(pilot)
        assert app.chat.prompt.text == "visual"


async def test_temporary_file_is_private_and_removed(app, editor, tmp_path):
    editor("file.write_text(f'{file} {file.stat().st_mode} {file.parent.stat().st_mode}')")
    async with app.run_test() as pilot:
        await settle(pilot)
        await edit(pilot)
        path, _, directory_mode = app.chat.prompt.text.split()
        assert Path(path).is_relative_to(tmp_path / "tmp")
        assert stat.S_IMODE(int(directory_mode)) == 0o700
        assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.remaining
async def test_editor_gets_no_api_key(app, editor, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("XDG_SESSION_TYPE", "wayland")
    editor(
        "names = 'ANTHROPIC_API_KEY', 'XDG_SESSION_TYPE'\n"
        "file.write_text(str([os.environ.get(name) for name in names]))"
    )
    async with app.run_test() as pilot:
        await settle(pilot)
        await edit(pilot)
        assert app.chat.prompt.text == "[None, 'wayland']"


async def test_pastes_and_attachments_survive_the_editor(app, editor):
    paste = "\n".join(f"line {n}" for n in range(30))
    editor("file.write_text('before ' + file.read_text())")
    async with app.run_test() as pilot:
        await settle(pilot)
        chat = app.chat
        chat.prompt.paste(paste)
        await edit(pilot)
        assert chat.prompt.text == "before [Pasted text #1: 30 lines]"
        assert chat.prompt.draft.full_text == f"before {paste}"


async def test_attachment_whose_chip_stays_in_the_text_survives_the_editor(app, editor):
    editor("file.write_text('look at ' + file.read_text())")
    image = ChipAttachment("[Image #1: a.png]", IMAGE)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.chat.prompt.load(Draft(image.chip, (), (image,)))
        await edit(pilot)
        assert app.chat.prompt.text == "look at [Image #1: a.png]"
        assert app.chat.prompt.draft.visible_attachments == (image,)


async def test_very_long_text_from_the_editor_is_folded(app, editor):
    editor("file.write_text('x' * 30_000)")
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"ab")
        await edit(pilot)
        assert app.chat.prompt.text == "[Pasted text #1: 1 line]"
        assert app.chat.prompt.draft.full_text == "x" * 30_000
        await press(pilot, "ctrl+underscore")
        assert app.chat.prompt.text == "ab"


async def test_control_characters_from_the_editor_are_folded(app, editor):
    editor("file.write_text('\\x1b[31mred')")
    async with app.run_test() as pilot:
        await settle(pilot)
        await edit(pilot)
        assert app.chat.prompt.text == "[Pasted text #1: 1 line]"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (None, "No editor is set"),
        ("  ", "No editor is set"),
        ("no-such-editor --wait", "`no-such-editor` could not be started: No such file"),
        ("'unbalanced", "`EDITOR` is not a command"),
        ("false", "`false` ended with status 1; nothing changed"),
        ("rm", "cannot be read"),
    ],
)
async def test_an_editor_that_fails_leaves_the_prompt_as_it_was(app, monkeypatch, command, problem):
    monkeypatch.delenv("EDITOR", raising=False)
    if command is not None:
        monkeypatch.setenv("EDITOR", command)
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"a draft")
        await edit(pilot)
        assert app.chat.prompt.text == "a draft"
        assert problem in " ".join(screen_text(app).split())


async def test_saved_text_of_a_killed_editor_is_used_and_up_recalls_the_draft(app, editor):
    editor("file.write_text('saved'); os.kill(os.getpid(), 9)")
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"first")
        await edit(pilot)
        assert app.chat.prompt.text == "saved"
        assert "was ended: Killed" in screen_text(app)
        await press(pilot, "up")
        assert app.chat.prompt.text == "first"


async def test_draft_stays_if_the_editor_was_killed_while_it_wrote(app, editor):
    editor("file.write_text(''); os.kill(os.getpid(), 9)")
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, *"first")
        await edit(pilot)
        assert app.chat.prompt.text == "first"


@pytest.mark.remaining
async def test_keys_after_ctrl_g_do_not_change_or_send_the_draft(app, editor, tmp_path):
    editor(
        "import time\n"
        f"while not pathlib.Path({str(tmp_path)!r}, 'go').exists(): time.sleep(0.01)\n"
        "file.write_text('edited')"
    )
    async with app.run_test() as pilot:
        await settle(pilot)
        await burst(pilot, *"draft", "ctrl+g", *"abc", "enter")
        assert app.chat.prompt.text == "draft"
        (tmp_path / "go").touch()
        await until(pilot, lambda: not app._editing.is_running)
        assert app.chat.prompt.text == "edited"
        assert app.chat.session.sent == []


@pytest.mark.remaining
async def test_quitting_ends_the_editor(app, editor, tmp_path):
    editor(
        "import signal, time\n"
        f"place = pathlib.Path({str(tmp_path)!r})\n"
        "def end(*_):\n (place / 'ended').touch()\n sys.exit(1)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "(place / 'started').touch()\n"
        "while True: time.sleep(0.05)"
    )
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "ctrl+g")
        await until(pilot, (tmp_path / "started").exists)
        await app.shut_down()
        await until(pilot, (tmp_path / "ended").exists)
        await until(pilot, lambda: not app._editing.is_running)
    assert list((tmp_path / "tmp").iterdir()) == []
