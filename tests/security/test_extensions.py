"""Texts of what extends the program: skills, memory, commands, hooks, servers, agents, folders.

One conversation in a pseudo-terminal shows all of them, with a plain text and with every payload.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.security.test_payloads import HOSTILE, PLAIN, SEQUENCE, check, get_commands
from tests.trusted_folders import trust

ROOT = Path(__file__).parents[2]
NAME = "tide \x1b]0;owned\x07 \x1b[2J\r\u202e\u200bx \U000e0041"
"""The name of a folder and of files."""
NOTIFICATION = b"\x07\x1b]9;"
"""The start of a notification, with a bell of the program."""
SURFACES = {
    "name of the folder": "work tide",
    "message of a hook": "said by a hook",
    "refusal of a hook": "refused by a hook",
    "failure of a hook": "failed: exit code 1",
    "description of a command": "custom command",
    "skill that is invalid": "SKILL.md",
    "call of a server": "mcp__talks__act",
    "question of a server": "Which word",
    "result of a server": "did act",
    "memory": "remembered",
    "skills": "a skill",
    "thoughts of an agent": "thought by an agent",
    "text of an agent": "said by an agent",
    "call of an agent": "asked by an agent",
}
"""What is in the output when a surface was shown."""


def write_project(work: Path, text: str, name: str) -> None:
    """Write what a project can have; the descriptions contain the text."""
    quoted = json.dumps(text)
    for folder, title in (("tide", "tide"), (name, name)):
        skill = work / ".agents/skills" / folder
        skill.mkdir(parents=True)
        head = (
            f"---\nname: {json.dumps(title)}\ndescription: {json.dumps(f'a skill {text}')}\n---\n"
        )
        (skill / "SKILL.md").write_text(f"{head}\n{text}\n")
    commands = work / ".claude/commands"
    commands.mkdir(parents=True)
    for each in ("tide", name):
        head = f"---\ndescription: {json.dumps(f'custom command {text}')}\n---\n"
        (commands / f"{each}.md").write_text(f"{head}{text}\n")
    (work / "AGENTS.md").write_text(f"Be brief. {quoted}\n")


def write_settings(home: Path, text: str, steps: list[dict]) -> None:
    """Write hooks, a server, an agent and memory of the user."""
    files = home / "files"
    files.mkdir()
    call = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    refusal = {**call, "permissionDecisionReason": f"refused by a hook {text}"}
    said = {"systemMessage": f"said by a hook {text}"}
    for name, content in {
        "refusal": json.dumps({"hookSpecificOutput": refusal}),
        "said": json.dumps(said),
        "text": f"Which word {text}",
        "failure": text,
        "steps": json.dumps([steps]),
    }.items():
        (files / name).write_text(content)
    fails = f"cat {files}/failure >&2; exit 1"
    agent = [
        sys.executable,
        str(ROOT / "tests/extensions/agents/scripted_agent.py"),
        f"{files}/steps",
        f"{files}/log",
    ]
    (home / "config.toml").write_text(
        "[limits]\nmax_retries = 0\n[ui]\nscrollback_on_exit = true\n"
        f"[agents.other]\ncommand = {json.dumps(agent)}\n"
        f'[[hooks]]\nevent = "UserPromptSubmit"\ncommand = "cat {files}/said"\n'
        f'[[hooks]]\nevent = "UserPromptSubmit"\ncommand = "{fails}"\n'
        f'[[hooks]]\nevent = "PreToolUse"\nmatcher = "Bash"\ncommand = "cat {files}/refusal"\n'
    )
    server = {
        "command": sys.executable,
        "args": [str(ROOT / "tests/security/talking_server.py"), f"{files}/text"],
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"talks": server}}))
    (home / "memory").mkdir()
    (home / "memory/USER.md").write_text(f"- remembered {text}\n")


LIST = "Esc closes|type to filter"


def close_lists(terminal: Terminal) -> None:
    """Close the list or report on the screen, if there is one."""
    while re.search(LIST, terminal.text):
        terminal.send("\x1b")
        terminal.read(0.4)


def extend(home: Path, work: Path, text: str, name: str) -> bytes:
    """Show the texts of everything that extends the program; return what the terminal got."""
    work.mkdir()
    write_project(work, text, name)
    ask = {"toolCallId": "c1", "title": f"asked by an agent {text}", "kind": "execute"}
    steps = [
        {"think": f"thought by an agent {text}"},
        {"say": f"said by an agent {text}"},
        {"ask": ask, "reject_once": [{"fail": f"the agent gave up {text}"}]},
    ]
    write_settings(home, text, steps)
    trust(work)
    script = [
        Reply("first", [("shell", {"command": "ls"})]),
        Reply("second", [("mcp__talks__act", {"x": text})]),
        Reply("third is done"),
    ]
    with ProviderServer(script) as server:
        env = {"YOURTOOL_HOME": str(home), **server.environment}
        with Terminal(YOURTOOL, cwd=work, env=env, columns=120, rows=40) as terminal:
            terminal.wait("anthropic:")
            while "connected" not in terminal.text:
                close_lists(terminal)
                terminal.send("\x15/mcp\r")
                terminal.read(1)
            close_lists(terminal)
            terminal.say("go")
            terminal.send("\x1b[O")  # without the focus, questions are notifications
            terminal.wait("mcp__talks__act", "deny")
            terminal.answer("a")
            terminal.wait("Which word")
            terminal.answer("\x1b")
            terminal.wait("third is done")
            for command in ("skill", "memory", "why", "mcp", "trust", "permissions"):
                terminal.send(f"\x15/{command}\r")
                terminal.read(1)
                close_lists(terminal)
            terminal.send("\x15/resume\r")
            terminal.wait(LIST)
            close_lists(terminal)
            terminal.send("\x15/tid")
            terminal.wait("custom command")
            terminal.send("\x15/model acp:other\r")
            terminal.wait("acp:other")
            terminal.send("\x0f")
            terminal.say("and you?")
            terminal.wait("asked by an agent")
            terminal.answer("\x1b")
            terminal.read(1)
            terminal.send("\x15/quit\r")
            terminal.end(20)
    return bytes(terminal.output)


@pytest.mark.security
@pytest.mark.figure("payloads", part="extensions")
@pytest.mark.req("T16", "T17", "T18", "T19")
def test_extensions_send_no_command_of_a_payload(home, tmp_path):
    plain = extend(home, tmp_path / "work tide", PLAIN, "tide x")
    allowed = get_commands(plain.replace(NOTIFICATION, NOTIFICATION[1:]))
    shutil.rmtree(home)
    home.mkdir()
    text = HOSTILE.replace("'", "")
    output = extend(home, tmp_path / f"work {NAME}", text, NAME)
    assert NOTIFICATION in output
    check(output.replace(NOTIFICATION, NOTIFICATION[1:]), allowed)
    shown = SEQUENCE.sub(b"", output).decode("utf-8", "replace")
    assert [each for each, sign in SURFACES.items() if not re.search(sign, shown)] == []
