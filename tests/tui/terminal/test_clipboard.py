"""A copied text reaches the clipboard in the first way that works, and the user learns which."""

import base64
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from yourtool.paths import resolve_paths
from yourtool.tui.terminal.clipboard import MAX_SEQUENCE_BYTES, Clipboard

TEXT = "naïve\n日本語\n"
LONG = "x" * 75_000
"""More than a terminal accepts."""


def add_program(directory, name, script):
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)


class Desk:
    """A clipboard with programs in a directory, and what was written and reported."""

    def __init__(self, directory: Path, **environ: str):
        self.programs = directory / "programs"
        self.copied = directory / "copied"
        self.sent, self.notes = "", []
        path = f"{self.programs}:/usr/bin:/bin"
        self.environ = {"PATH": path, "TERM": "xterm-256color", "HOME": str(directory), **environ}

    def add(self, name, script=""):
        add_program(self.programs, name, script or f"cat > {self.copied}")
        return self

    async def copy(self, text=TEXT):
        def write(sequence):
            self.sent += sequence

        await Clipboard(write, lambda *note: self.notes.append(note), self.environ).copy(text)
        [note] = self.notes
        return note


def decode_sequence(sequence):
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    return base64.b64decode(found[1]).decode()


@pytest.mark.req("R-TUI-25")
@pytest.mark.parametrize(
    ("variable", "program", "encoding"),
    [
        ("WAYLAND_DISPLAY", "wl-copy", "utf-8"),
        ("DISPLAY", "xclip", "utf-8"),
        ("DISPLAY", "xsel", "utf-8"),
        ("__CF_USER_TEXT_ENCODING", "pbcopy", "utf-8"),
        ("WSL_DISTRO_NAME", "clip.exe", "utf-16-le"),
    ],
)
async def test_program_of_the_desktop_is_used_where_it_works(tmp_path, variable, program, encoding):
    desk = Desk(tmp_path, **{variable: "x"}).add(program)
    assert await desk.copy() == ("info", f"Copied {len(TEXT)} characters with `{program}`.")
    assert desk.copied.read_bytes() == TEXT.encode(encoding)
    assert desk.sent == ""


async def test_program_without_its_display_is_not_used(tmp_path):
    desk = Desk(tmp_path).add("wl-copy").add("xclip").add("pbcopy").add("clip.exe")
    level, text = await desk.copy()
    assert (level, text) == (
        "info",
        f"Copied {len(TEXT)} characters through the terminal (OSC 52).",
    )
    assert decode_sequence(desk.sent) == TEXT
    assert not desk.copied.exists()


async def test_next_way_is_used_if_a_program_fails(tmp_path):
    desk = Desk(tmp_path, WAYLAND_DISPLAY="x", DISPLAY="x").add("wl-copy", "exit 1").add("xclip")
    assert (await desk.copy())[1].endswith("with `xclip`.")
    desk = Desk(tmp_path, WAYLAND_DISPLAY="x").add("wl-copy", "exit 1")
    assert (await desk.copy())[1].endswith("through the terminal (OSC 52).")


async def test_process_that_serves_the_clipboard_is_not_awaited(tmp_path):
    desk = Desk(tmp_path, WAYLAND_DISPLAY="x")
    desk.add("wl-copy", f"cat > {desk.copied}; sleep 30 & echo $! > {tmp_path}/server")
    assert (await desk.copy())[1].endswith("with `wl-copy`.")
    os.kill(int((tmp_path / "server").read_text()), 9)  # it still runs


async def test_programs_get_no_keys(tmp_path):
    desk = Desk(tmp_path, WAYLAND_DISPLAY="x", ANTHROPIC_API_KEY="sk-1")
    await desk.add("wl-copy", f"env > {desk.copied}").copy()
    assert "WAYLAND_DISPLAY" in desk.copied.read_text()
    assert "ANTHROPIC" not in desk.copied.read_text()


async def test_terminal_comes_first_over_ssh(tmp_path):
    desk = Desk(tmp_path, DISPLAY="x", SSH_CONNECTION="a b").add("xclip")
    assert (await desk.copy())[1].endswith("through the terminal (OSC 52).")
    assert decode_sequence(desk.sent) == TEXT


async def test_text_that_is_too_long_for_a_terminal_takes_another_way(tmp_path):
    longest = LONG[: (MAX_SEQUENCE_BYTES - len("\x1b]52;c;\x07")) // 4 * 3]
    desk = Desk(tmp_path, DISPLAY="x", SSH_TTY="x").add("xclip")
    assert (await desk.copy(longest))[1].endswith("through the terminal (OSC 52).")
    assert len(desk.sent) <= MAX_SEQUENCE_BYTES
    desk = Desk(tmp_path, DISPLAY="x", SSH_TTY="x").add("xclip")
    note = await desk.copy(f"{longest}x")
    assert note == ("info", f"Copied {len(longest) + 1:,} characters with `xclip`.")
    assert desk.sent == ""


async def test_private_file_is_the_last_resort(tmp_path):
    file = resolve_paths().copied_text
    desk = Desk(tmp_path)
    level, text = await desk.copy(LONG)
    told = f"The text is too long for the terminal. Wrote 75,000 characters to {file}."
    assert (level, text) == ("warning", told)
    assert file.read_text() == LONG
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    desk = Desk(tmp_path, TERM="linux")
    assert (await desk.copy())[1] == f"No clipboard. Wrote {len(TEXT)} characters to {file}."
    assert file.read_text() == TEXT


async def test_file_that_cannot_be_written_is_an_error(tmp_path):
    state = resolve_paths().state
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("not a directory")
    level, text = await Desk(tmp_path, TERM="dumb").copy()
    assert level == "error" and "cannot be written" in text


async def test_screen_gets_strings_that_it_passes_on(tmp_path):
    desk = Desk(tmp_path, STY="1.x", TERM="screen")
    text = "y" * 5_000
    assert (await desk.copy(text))[1].endswith("through screen to the terminal (OSC 52).")
    strings = re.findall(r"\x1bP(.*?)\x1b\\", desk.sent, re.DOTALL)
    assert "".join(f"\x1bP{each}\x1b\\" for each in strings) == desk.sent
    assert max(map(len, strings)) <= 256
    assert decode_sequence("".join(strings)) == text


@pytest.fixture
def tmux(tmp_path):
    """Run tmux commands on a server of the test's own."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    server = ("tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null")

    def run(*command):
        return subprocess.run((*server, *command), check=True, capture_output=True).stdout.decode()

    run("new-session", "-d", "sleep 60")
    yield run
    run("kill-server")


def in_tmux(tmp_path):
    return Desk(tmp_path, TMUX=f"{tmp_path}/tmux,1,0", TERM="tmux-256color")


async def test_tmux_copies_by_its_own_command_unless_it_accepts_sequences(tmp_path, tmux):
    desk = in_tmux(tmp_path)
    note = await desk.copy()
    told = "to tmux, which sets the clipboard of the terminal"
    assert note == ("info", f"Copied {len(TEXT)} characters {told}.")
    assert tmux("show-buffer") == TEXT and desk.sent == ""


async def test_tmux_that_accepts_text_gets_the_plain_sequence(tmp_path, tmux):
    tmux("set", "-g", "set-clipboard", "on")
    desk = in_tmux(tmp_path)
    assert (await desk.copy())[1].endswith("to tmux and the terminal (OSC 52).")
    assert decode_sequence(desk.sent) == TEXT


async def test_tmux_that_passes_sequences_gets_the_wrapped_one(tmp_path, tmux):
    tmux("set", "-g", "allow-passthrough", "on")
    desk = in_tmux(tmp_path)
    assert (await desk.copy())[1].endswith("through tmux to the terminal (OSC 52).")
    inner = re.fullmatch(r"\x1bPtmux;(.*)\x1b\\", desk.sent, re.DOTALL)[1]
    assert decode_sequence(inner.replace("\x1b\x1b", "\x1b")) == TEXT


async def test_long_text_is_in_a_buffer_of_tmux(tmp_path, tmux):
    tmux("set", "-g", "set-clipboard", "on")
    tmux("set", "-g", "allow-passthrough", "on")
    desk = in_tmux(tmp_path)
    assert "to a buffer of tmux" in (await desk.copy(LONG))[1]
    assert tmux("show-buffer") == LONG and desk.sent == ""


async def test_tmux_without_a_server_is_no_clipboard(tmp_path):
    assert (await in_tmux(tmp_path).copy())[0] == "warning"
