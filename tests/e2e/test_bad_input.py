"""Mistakes and failures of real use: a clear message each, and no lost data."""

import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply

pytestmark = pytest.mark.remaining

READY = "Say what to do"
REFUSED = json.dumps(
    {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
).encode()


def quit_program(terminal):
    terminal.say("/quit")
    assert terminal.end() == 0


def test_a_wrong_key_is_an_error_block_with_the_remedy(work, home):
    with (
        ProviderServer([Reply(status=401, body=REFUSED)]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait(READY)
        terminal.say("hello")
        shown = terminal.wait("auth", "/key")
        assert "sk-ant-test" not in shown
        assert "Traceback" not in shown
        quit_program(terminal)


def test_an_unknown_model_is_refused_before_anything_starts(work, home):
    done = subprocess.run(
        [*YOURTOOL, "-p", "hi", "-m", "anthropc:x"],
        cwd=work,
        env={**os.environ, **home, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode in (2, 4)
    assert "anthropc" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_unreachable_server_is_named_and_the_prompt_can_be_retried(work, home):
    env = {
        **home,
        "ANTHROPIC_API_KEY": "sk-ant-test-0000000000000000",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    (Path(home["YOURTOOL_HOME"])).mkdir(parents=True)
    (Path(home["YOURTOOL_HOME"]) / "config.toml").write_text("[limits]\nmax_retries = 0\n")
    with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
        terminal.wait(READY)
        terminal.say("hello")
        terminal.wait("network")
        terminal.wait("127.0.0.1:9")
        quit_program(terminal)


def test_a_broken_stream_keeps_the_partial_reply_and_the_next_message_works(work, home):
    words = "one two three four five six seven eight nine ten eleven twelve"
    with ProviderServer([Reply(words, cut=True), Reply("Whole again.")]) as server:
        with Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal:
            terminal.wait(READY)
            terminal.say("count")
            terminal.wait("one two three")
            terminal.wait("network")
            terminal.say("go on")
            terminal.wait("Whole again")
            quit_program(terminal)
        assert server.problems() == []


def test_a_malformed_configuration_names_file_line_and_key(work, home):
    directory = Path(home["YOURTOOL_HOME"])
    directory.mkdir(parents=True)
    (directory / "config.toml").write_text('theme = "dark"\nmodle = "x"\n')
    done = subprocess.run(
        [*YOURTOOL, "-p", "hi"],
        cwd=work,
        env={**os.environ, **home, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode != 2, "it starts"
    assert "config.toml:2" in done.stderr
    assert "`modle`" in done.stderr and "did you mean" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_interface_reports_a_malformed_configuration(work, home):
    directory = Path(home["YOURTOOL_HOME"])
    directory.mkdir(parents=True)
    (directory / "config.toml").write_text("modle = 1\n")
    with Terminal(YOURTOOL, cwd=work, env=home) as terminal:
        terminal.read(2.5)
        code = None
        if terminal.process.isalive():
            terminal.wait("modle")
            terminal.send("\x03")
            terminal.send("\x03")
            code = terminal.end()
        seen = terminal.output.decode(errors="replace")
        assert "modle" in seen
        assert "Traceback" not in seen
        assert code in (None, 0, 2)


def test_a_binary_file_is_an_error_the_model_can_act_on(work, home):
    (work / "blob.bin").write_bytes(bytes(range(256)) * 40)
    script = [Reply("", [("read_file", {"path": "blob.bin"})]), Reply("It is binary.")]
    with ProviderServer(script) as server:
        with Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal:
            terminal.wait(READY)
            terminal.say("read the blob")
            terminal.wait("It is binary")
            quit_program(terminal)
        result = server.requests[1][1]["messages"][-1]["content"][0]
        assert result["is_error"] is True
        assert "binary" in json.dumps(result["content"])


def test_forty_columns_and_twelve_lines_are_enough(work, home):
    with ProviderServer([Reply("Small, but it fits on the screen.")]) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env, columns=40, rows=12) as terminal:
            terminal.wait(READY)
            terminal.say("hello")
            terminal.wait("it fits")
            quit_program(terminal)


def test_a_paste_of_ten_thousand_lines_is_complete(work, home):
    """R-TUI-01."""
    pasted = "\n".join(f"line {n} of the paste" for n in range(10_000))
    with ProviderServer([Reply("That was long.")]) as server:
        with Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal:
            terminal.wait(READY)
            terminal.paste(pasted)
            terminal.wait("10,000 lines")
            terminal.send("\r")
            terminal.wait("That was long", seconds=30)
            quit_program(terminal)
        said = server.requests[0][1]["messages"][0]["content"]
        text = said if isinstance(said, str) else "".join(part["text"] for part in said)
        assert pasted in text


def test_a_pasted_log_with_escape_sequences_triggers_no_key_and_is_sent_in_full(work, home):
    """R-TUI-01: the content of a paste is never a key, even if it starts like one."""
    pasted = "one\x1b[31mred\ntwo\x1b[0m\x1b\nthree\x1b[A"
    with ProviderServer([Reply("A colourful log.")]) as server:
        with Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal:
            terminal.wait(READY)
            terminal.paste(pasted)
            terminal.wait("three␛")
            assert server.requests == []
            terminal.send("\r")
            terminal.wait("A colourful log")
            quit_program(terminal)
        assert len(server.requests) == 1
        said = server.requests[0][1]["messages"][0]["content"]
        text = said if isinstance(said, str) else "".join(part["text"] for part in said)
        assert pasted.replace("\x1b", "␛") in text


def test_quitting_during_a_turn_stops_the_turn_and_its_children(work, home):
    """R-TUI-16."""
    script = [Reply("", [("shell", {"command": "sleep 987"})]), Reply("never")]
    with ProviderServer(script) as server:
        env = {**home, **server.environment}
        with Terminal((*YOURTOOL, "--mode", "auto"), cwd=work, env=env) as terminal:
            terminal.wait(READY)
            terminal.say("sleep")
            terminal.wait("sleep 987")
            terminal.read(0.3)
            terminal.say("/quit")
            terminal.end(6)
    running = subprocess.run(["pgrep", "-f", "^sleep 987$"], capture_output=True, text=True)
    assert running.stdout == ""


@pytest.mark.parametrize("deadly", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_terminal_is_restored_and_the_session_resumes_after_a_death(work, home, deadly):
    """R16 and R-PER-02 through the whole program."""
    script = [Reply("word " * 200, pause=0.05, words_at_once=1), Reply("Here I am again.")]
    with ProviderServer(script) as server:
        env = {**home, **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env) as terminal:
            terminal.wait(READY)
            terminal.say("talk")
            terminal.wait("word word")
            children = subprocess.run(
                ["pgrep", "-P", str(terminal.process.pid)], capture_output=True, text=True
            ).stdout.split()
            os.kill(int(children[0]), deadly)
            terminal.end()
            tail = bytes(terminal.output[-400:])
            assert b"\x1b[?1049l" in tail
            assert b"\x1b[?25h" in tail
        with Terminal((*YOURTOOL, "-c"), cwd=work, env=env) as terminal:
            terminal.wait("talk")
            terminal.say("are you there?")
            terminal.wait("Here I am again")
            quit_program(terminal)
        assert server.problems() == []
    database = sqlite3.connect(Path(home["YOURTOOL_HOME"]) / "data" / "sessions.db")
    open_turns = (
        "SELECT turn_id FROM events WHERE turn_id IS NOT NULL GROUP BY turn_id"
        " HAVING sum(type IN ('turn.completed', 'turn.cancelled')) != 1"
    )
    assert database.execute(open_turns).fetchall() == []
    database.close()


def test_the_terminal_is_restored_when_the_supervisor_is_killed(work, home):
    """R16: the program detects that its parent is gone, and restores the terminal itself."""
    with (
        ProviderServer([Reply("word " * 200, pause=0.05, words_at_once=1)]) as server,
        Terminal(YOURTOOL, cwd=work, env={**home, **server.environment}) as terminal,
    ):
        terminal.wait(READY)
        terminal.say("talk")
        terminal.wait("word word")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.wait(lambda _: b"\x1b[?1049l" in terminal.output)
        terminal.wait(lambda _: b"\x1b[?25h" in terminal.output[-400:])
        terminal.read(0.5)
        assert b"Traceback" not in terminal.output
        for mode in (b"1000", b"1003", b"1004", b"1006", b"2004"):
            off, on = (terminal.output.rfind(b"\x1b[?%s%s" % (mode, end)) for end in (b"l", b"h"))
            assert off > on, mode
