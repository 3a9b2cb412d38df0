"""No text of a model, server, file, command or setting drives the terminal, on any surface.

Each scenario runs twice in a pseudo-terminal: once with plain text and once with every payload in
its place. What the program sends without a payload defines which control characters and escape
sequences it may send with them. Commands without a screen run in this process.
"""

import json
import logging
import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from tests.cli.command_line import CommandLine
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.security.payloads import PAYLOADS
from yourtool.cli.logfile import RedactingFormatter
from yourtool.paths import resolve_paths
from yourtool.tui.questions.approval_lines import approval_line

HOSTILE = " ".join(f"<{each['text']}>" for each in PAYLOADS if each["surface"] != "diff")
PLAIN = "a harmless text"
FORBIDDEN = {bytes.fromhex(code) for each in PAYLOADS for code in each["forbidden_hex"]}
SEQUENCE = re.compile(
    rb"\x1b\[(?P<csi>[<=>?]?[0-9;:]*[ -/]*[@-~])"
    rb"|\x1b\](?P<osc>[0-9]*);?(?P<content>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b(?P<other>.)",
    re.DOTALL,
)
HIDDEN = re.compile("[\x80-\x9f\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MOVES = re.compile(rb"[0-9;:]*[mHABCDGKX]")


def get_commands(output: bytes) -> set[bytes]:
    """Return the kinds of commands to a terminal: sequences, and other control characters."""
    found: set[bytes] = set()
    for match in SEQUENCE.finditer(output):
        if (csi := match["csi"]) is not None:
            found.add(b"CSI " + (csi[-1:] if _MOVES.fullmatch(csi) else csi))
        else:
            osc = match["osc"]
            found.add(b"ESC " + match["other"] if osc is None else b"OSC " + osc)
    plain = SEQUENCE.sub(b"", output)
    return found | {bytes([code]) for code in plain if code < 0x20 or code == 0x7F}


def check(output: bytes, allowed: set[bytes]) -> None:
    """Fail if the output has more kinds of commands than `allowed`, or a payload."""
    assert get_commands(output) - allowed == set()
    bare = SEQUENCE.sub(lambda match: match["content"] or match[0].rstrip(b"\x07"), output)
    assert [each for each in FORBIDDEN if each in bare.replace(b"\r\n", b"\n")] == []
    assert HIDDEN.findall(output.decode("utf-8", "replace")) == []


def get_error(text: str) -> Reply:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    return Reply(status=400, body=json.dumps(body).encode())


def answer(terminal: Terminal, sign: str, key: str, label: str, *, is_linear: bool) -> None:
    """Answer the question with a sign, a second after it is on the screen."""
    number = rf"(?m)^(\d+)\. {label}$"
    terminal.wait(sign, number if is_linear else "deny")
    terminal.read(1.2)
    if is_linear:
        key = re.findall(number, terminal.text)[-1]
    terminal.send(f"{key}\r")
    terminal.read(1.2)


def converse(home: Path, work: Path, text: str, *, is_linear: bool) -> bytes:
    """Show a text on the surfaces of a conversation; return what the terminal got."""
    env = {"YOURTOOL_HOME": str(home)}
    (home / "config.toml").write_text(
        f"[ui]\nlinear = {str(is_linear).lower()}\n[limits]\nmax_retries = 0\n"
    )
    (work / "evil.txt").write_text(text)
    script = [
        Reply(f"{text}\n\n```\n{text}\n```\n\nfirst reply", [("read_file", {"path": "evil.txt"})]),
        Reply("second", [("shell", {"command": "cat evil.txt"})]),
        Reply("third", [("shell", {"command": f"echo '{text}' > out"})]),
        Reply("fourth", [("write_file", {"path": "new.txt", "content": f"{text}\n"})]),
        Reply("fifth", [("read_file", {"path": text})]),
        Reply("end of the first turn"),
        get_error(text),
    ]
    with ProviderServer(script) as server:
        argv = (*YOURTOOL, f"prompt {text}")
        with Terminal(argv, cwd=work, env={**env, **server.environment}) as terminal:
            answer(terminal, "Run this command", "a", "Allow once", is_linear=is_linear)
            answer(terminal, "> out", "d", "deny", is_linear=is_linear)
            answer(terminal, "new\\.txt`?\\?", "d", "deny", is_linear=is_linear)
            terminal.wait("end of the first turn")
            terminal.read(0.5)
            for command, close in (("/context", "0\r"), ("/model show", None), ("/resume", "0\r")):
                terminal.send(f"{command}\r")
                terminal.read(1)
                if close is not None:
                    terminal.send(close if is_linear else "\x1b")
                terminal.read(0.5)
            terminal.send("again\r")
            terminal.wait("invalid_request_error|400|rejected")
            terminal.send("/quit\r")
            terminal.end()
    return bytes(terminal.output)


@pytest.mark.security
@pytest.mark.figure("payloads", part="conversation")
@pytest.mark.parametrize(
    "is_linear",
    [False, pytest.param(True, marks=pytest.mark.needs("extensions/linear"))],
    ids=["screen", "linear"],
)
@pytest.mark.req("T17", "T18", "T19")
def test_conversation_sends_no_command_of_a_payload(home, tmp_path, is_linear):
    allowed = get_commands(converse(home, tmp_path, PLAIN, is_linear=is_linear))
    output = converse(home, tmp_path, HOSTILE.replace("'", ""), is_linear=is_linear)
    check(output, allowed)


SURFACES = {
    "reasoning": "thinking aloud",
    "live output": "live row",
    "finished tool card": "live end",
    "tool arguments": "Run this command",
    "host of a question": "Fetch from",
    "file names in the completer": "tide-1",
    "search of prompts": "listed prompt",
    "output of `!`": "own row",
}
"""What is on the screen when a surface is shown that `converse` does not show."""


def get_reasoning(text: str) -> Reply:
    """Return a reply with reasoning, as an Anthropic server sends it."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    thought, said = {"type": "thinking", "thinking": ""}, {"type": "text", "text": ""}
    events = [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": {**thought, "signature": ""}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "thinking_delta", "thinking": f"thinking aloud {text}"}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "signature_delta", "signature": "c2lnbg=="}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": said},
        {"type": "content_block_delta", "index": 1,
         "delta": {"type": "text_delta", "text": "thought about it"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]  # fmt: skip
    body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return Reply(body=body.encode())


def browse(home: Path, work: Path, texts: list[str]) -> bytes:
    """Show texts on the other surfaces of the screen; return what the terminal got."""
    text = " ".join(texts).replace("'", "")
    work.mkdir()
    for number, each in enumerate(texts):
        name = "_".join(each.replace("/", "").split(" ")).encode()[:90].decode(errors="ignore")
        (work / f"tide-{number}{name}").write_text(text)
    (work / "rows.txt").write_text(f"live row {text}\n")
    write_settings(home, work, text)
    (home / "trust.toml").unlink()  # so that it is asked
    (home / "config.toml").write_text(
        "[limits]\nmax_retries = 0\n[ui]\nscrollback_on_exit = true\n"
    )
    wait = "cat rows.txt; sleep 1.5; echo live end"
    script = [
        get_reasoning(text),
        Reply("second", [("shell", {"command": f"{wait} # {text}"})]),
        Reply("third", [("fetch_url", {"url": "https://t\u0456de.example/a?\u202e"})]),
        Reply("fourth", [("fetch_url", {"url": f"https://tide.example/{text}"})]),
        Reply("both are done"),
    ]
    with ProviderServer(script) as server:
        env = {"YOURTOOL_HOME": str(home), **server.environment}
        argv = (*YOURTOOL, f"listed prompt {text}")
        with Terminal(argv, cwd=work, env=env, columns=120, rows=40) as terminal:
            terminal.wait("Trust this folder")
            terminal.answer("t")
            terminal.wait("thought about it")
            terminal.send("\x0f")
            terminal.wait(SURFACES["reasoning"])
            terminal.say("run it")
            answer(terminal, SURFACES["tool arguments"], "a", "Allow once", is_linear=False)
            terminal.wait(SURFACES["live output"])
            terminal.wait(SURFACES["finished tool card"])
            answer(terminal, SURFACES["host of a question"], "d", "deny", is_linear=False)
            terminal.wait("both are done")
            terminal.send("see @tide")
            terminal.wait(SURFACES["file names in the completer"])
            terminal.send("\x1b")
            terminal.read(0.3)
            terminal.send("\x03\x12")
            terminal.wait(SURFACES["search of prompts"])
            terminal.send("\x1b")
            terminal.read(0.3)
            terminal.say("!cat rows.txt; echo own row")
            terminal.wait(SURFACES["output of `!`"])
            terminal.send("\x15/quit\r")
            terminal.end(20)
    return bytes(terminal.output)


@pytest.mark.security
@pytest.mark.figure("payloads", part="other surfaces")
@pytest.mark.req("T17", "T18", "T19")
def test_other_surfaces_send_no_command_of_a_payload(home, tmp_path):
    payloads = [each["text"] for each in PAYLOADS if each["surface"] != "diff"]
    allowed = get_commands(browse(home, tmp_path / "plain", [PLAIN] * len(payloads)))
    shutil.rmtree(home)
    home.mkdir()
    check(browse(home, tmp_path / "hostile", payloads), allowed)


def print_reply(home: Path, work: Path, text: str) -> bytes:
    """Print a reply and an error of a provider on a terminal; return what it got."""
    env = {"YOURTOOL_HOME": str(home)}
    (home / "config.toml").write_text("[limits]\nmax_retries = 0\n")
    output = b""
    with ProviderServer([Reply(f"{text} end"), get_error(text)]) as server:
        for prompt in ("one", "two"):
            argv = (*YOURTOOL, "-m", "sonnet", "-p", f"{prompt} {text}")
            with Terminal(argv, cwd=work, env={**env, **server.environment}) as terminal:
                terminal.end()
                output += bytes(terminal.output)
    assert b"end" in output
    return output


@pytest.mark.figure("payloads", part="-p on a terminal")
@pytest.mark.security
@pytest.mark.req("T17", "T19")
def test_printed_reply_sends_no_command_of_a_payload(home, tmp_path):
    allowed = get_commands(print_reply(home, tmp_path, PLAIN))
    check(print_reply(home, tmp_path, HOSTILE), allowed)


@pytest.mark.req("T17", "T19")
def test_log_has_no_payload(home):
    record = logging.LogRecord("x", logging.ERROR, "", 1, "failed: %s", (HOSTILE,), None)
    text = RedactingFormatter(resolve_paths(), {}).format(record)
    assert "failed: " in text and "\n" not in text
    check(text.encode(), set())


@pytest.mark.parametrize("part", [b"\x1b]52;c;dGlkZQ==\x07", b"\x1b[?9999h", b"\x1b[3J", b"\x07"])
def test_what_the_tests_look_for_would_be_found(part):
    with pytest.raises(AssertionError):
        check(b"\x1b[1mbold\x1b[m " + part, get_commands(b"\x1b[0;1mbold\x1b[m \n"))


def write_settings(home: Path, work: Path, text: str) -> None:
    """Write every file of the user whose content a command shows."""
    quoted = json.dumps(text)
    rule = json.dumps(f"shell(echo '{text}')")
    (home / "permissions.toml").write_text(f"allow = [{rule}]\ndeny = [{quoted}]\n")
    (home / "permissions.toml").chmod(0o600)
    (home / "trust.toml").write_text(
        f"schema_version = 1\n[[folder]]\npath = {json.dumps(f'/x/{text}')}\ntrusted = true\n"
        "answered_at = 2026-01-02T03:04:05Z\n[folder.files]\n"
    )
    (home / "trust.toml").chmod(0o600)
    (work / "AGENTS.md").write_text(text)
    (work / ".claude").mkdir()
    hooks = {text: [{"hooks": [{"command": text}]}], "Stop": [{"hooks": [{"command": text}]}]}
    rules = {"deny": [text, f"Bash(echo '{text}')"]}
    (work / ".claude/settings.json").write_text(
        json.dumps({text: text, "permissions": rules, "hooks": hooks, "mcpServers": {text: text}})
    )


COMMANDS = (
    ("-p", "show {text}"),
    ("-p", "again", "--output-format", "json"),
    ("-p", "again", "--output-format", "stream-json"),
    ("-p", "again", "-m", "{text}"),
    ("-p", "again", "--allow", "{text}"),
    ("sessions", "list"),
    ("sessions", "list", "--json"),
    ("agents",),
    ("agents", "--json"),
    ("sessions", "show", "{session}"),
    ("sessions", "search", "tide"),
    ("sessions", "export", "{session}"),
    ("sessions", "export", "{session}", "--format", "markdown"),
    ("sessions", "export", "{session}", "--format", "html"),
    ("sessions", "prune", "--older-than", "2999-01-01", "--dry-run"),
    ("sessions", "replay", "{session}"),
    ("sessions", "check"),
    ("sessions", "tree", "{session}"),
    ("cost",),
    ("cost", "--by", "role"),
    ("permissions", "list"),
    ("permissions", "check", "{text}"),
    ("permissions", "check", "--json", "{text}"),
    ("permissions", "replay"),
    ("route", "{text}"),
    ("trust", "list"),
    ("trust", "remove", "{text}"),
    ("doctor",),
    ("models", "{text}"),
    ("models",),
    ("config", "check"),
    ("auth", "list"),
    ("mcp", "list"),
    ("mcp", "show", "{text}"),
    ("mcp", "accept", "{text}"),
    ("mcp", "call", "{text}", "{text}"),
    ("mcp", "add", "{text}", "--", "{text}"),
    ("mcp", "remove", "{text}"),
    ("mcp", "login", "{text}"),
    ("import", "{text}"),
    ("import", "settings", "--dry-run"),
    ("completion", "{text}"),
    ("completion", "bash"),
    ("{text}",),
    ("--{text}",),
)


@pytest.mark.usefixtures("own_logging")
@pytest.mark.figure("payloads", part="commands")
@pytest.mark.security
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.req("T17", "T19")
def test_command_prints_no_payload(command, home, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = HOSTILE.replace("'", "")
    write_settings(home, tmp_path, text)
    line = CommandLine(home, tmp_path, monkeypatch, capsys)
    line.script([{"call": "read_file", "input": {"path": text}}], [{"say": text}])
    assert line("-p", text)[0] == 0
    session = line("sessions", "list")[1].split()[0]
    code, out, err = line(*(each.format(text=text, session=session) for each in command))
    assert code in range(5), "not a crash"
    shown = err if command[0] == "-p" and "--output-format" not in command else out + err
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f]", shown) == []
    if "json" not in " ".join(command):
        assert HIDDEN.findall(shown) == []
    log = resolve_paths().log_file
    if log.exists():
        assert re.findall("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", log.read_text()) == []


CONFUSABLE = (
    ("make test", "make\u200b test"), ("git push", "git pu\u0455h"), ("rm a", "rm \u0430"),
    ("ls -la", "ls \u2010la"), ("cat a/b", "cat a\u2044b"), ("echo a", "echo\u00a0a"),
    ("echo 'a'", "echo \u2018a\u2019"), ("echo \xe9", "echo e\u0301"), ("cp a b", "cp \u202ea b"),
    ("echo a;", "echo a\u037e"), ("echo a", "echo a "), ("echo a|b", "echo a\u2223b"),
    ("echo 1", "echo l"), ("a\tb", "a b"), ("rm -r x", "r\u00adm -r x"), ("ls", "l\uff53"),
    ("echo \\u{200b}", "echo \u200b"), ("cd ~", "cd \u223c"), ("ls *", "ls \u2217"),
    ("grep O f", "grep \u041e f"), ("kill 1", "kill \u0661"), ("\U0001f468", "\U0001f468\u200d"),
)  # fmt: skip


@pytest.mark.figure("pairs")
@pytest.mark.parametrize(("one", "other"), CONFUSABLE, ids=ascii)
@pytest.mark.security
@pytest.mark.req("T19")
def test_confusable_texts_differ_in_a_question(one, other):
    assert approval_line(one) != approval_line(other)
    assert unicodedata.normalize("NFKC", approval_line(other)) == approval_line(other)
