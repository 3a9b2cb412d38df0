"""The content of the clipboard is read with the programs of the desktop, real ones in a shell."""

import base64

import pytest

from yourtool.agent.input import clipboard
from yourtool.agent.input.clipboard import read_clipboard_content
from yourtool.errors import UsageError
from yourtool.messages.blocks import ImageBlock

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
MACOS, WSL = "__CF_USER_TEXT_ENCODING", "WSL_DISTRO_NAME"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Add programs to a desktop that has none."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    (tmp_path / "image").write_bytes(PIXEL)

    def add(variable, name, script):
        monkeypatch.setenv(variable, "x")
        path = programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)

    return add


IMAGE_SCRIPTS = [
    ("WAYLAND_DISPLAY", "wl-paste", 'case "$*" in *image/png*) cat {image};; esac'),
    ("DISPLAY", "xclip", 'case "$*" in *image/png*) cat {image};; esac'),
    (MACOS, "pngpaste", "cat {image}"),
    (MACOS, "osascript", "printf '\\302\\253data PNGf{hex}\\302\\273\\n'"),
    (WSL, "powershell.exe", 'case "$*" in *GetImage*) base64 {image};; esac'),
]


@pytest.mark.parametrize(("variable", "name", "script"), IMAGE_SCRIPTS)
def test_image_is_read_with_the_program_of_the_desktop(desk, tmp_path, variable, name, script):
    desk(variable, name, script.format(image=tmp_path / "image", hex=PIXEL.hex().upper()))
    attachment = read_clipboard_content()
    assert isinstance(attachment.block, ImageBlock) and attachment.name == "clipboard"
    assert base64.b64decode(attachment.block.source.data) == PIXEL


TEXT_SCRIPTS = [
    (
        "WAYLAND_DISPLAY",
        "wl-paste",
        'case "$*" in *text) printf "na\\303\\257ve";; *) exit 1;; esac',
    ),
    ("DISPLAY", "xclip", 'case "$*" in *image*) exit 1;; *) printf "na\\303\\257ve";; esac'),
    ("DISPLAY", "xsel", 'printf "na\\303\\257ve"'),
    (MACOS, "pbpaste", 'printf "na\\303\\257ve"'),
    (WSL, "powershell.exe", 'case "$*" in *Get-Clipboard*) printf "na\\303\\257ve";; esac'),
]


@pytest.mark.parametrize(("variable", "name", "script"), TEXT_SCRIPTS)
def test_text_is_read_if_there_is_no_image(desk, variable, name, script):
    desk(variable, name, script)
    assert read_clipboard_content() == "naïve"


def test_next_program_is_used_if_one_fails_or_writes_nonsense(desk, tmp_path):
    desk("WAYLAND_DISPLAY", "wl-paste", "exit 1")
    desk(MACOS, "osascript", "echo oops")
    desk(WSL, "powershell.exe", f'case "$*" in *GetImage*) base64 {tmp_path}/image;; esac')
    assert isinstance(read_clipboard_content().block, ImageBlock)


@pytest.mark.req("R-CRD-02")
def test_programs_get_no_keys(desk, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    desk("DISPLAY", "xsel", "env")
    assert "DISPLAY" in read_clipboard_content()
    assert "ANTHROPIC" not in read_clipboard_content()


def test_empty_clipboard_and_missing_programs_are_different_errors(desk, monkeypatch):
    with pytest.raises(UsageError, match=r"needs `wl-paste`.*`xclip`.*`/attach FILE`"):
        read_clipboard_content()
    monkeypatch.setenv("SSH_CONNECTION", "x")
    with pytest.raises(UsageError, match="cannot be read over SSH"):
        read_clipboard_content()
    desk("WAYLAND_DISPLAY", "wl-paste", "exit 1")
    with pytest.raises(UsageError, match="no image and no text"):
        read_clipboard_content()


def test_content_that_never_ends_is_too_large(desk, monkeypatch):
    monkeypatch.setattr(clipboard, "MAX_FILE_BYTES", 100_000)
    desk("WAYLAND_DISPLAY", "wl-paste", "yes")
    with pytest.raises(UsageError, match="too large"):
        read_clipboard_content()


def test_program_that_hangs_is_killed_with_its_children(desk, monkeypatch):
    monkeypatch.setattr("yourtool.agent.input.clipboard_tools._READ_SECONDS", 0.05)
    desk("WAYLAND_DISPLAY", "wl-paste", "sleep 60; echo late")
    with pytest.raises(UsageError, match="no image and no text"):
        read_clipboard_content()
