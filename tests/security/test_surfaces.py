"""Every place that shows text is a surface of `test_payloads.py`, or is named here with a reason.

The table has the slash commands, the commands of the shell, and the screens and widgets. A new one
without a row fails. The slash commands are visited one by one in a pseudo-terminal, first with a
plain text and then with every payload as reply, plan, task, model name and branch.
"""

import argparse
import base64
import importlib
import json
import pkgutil
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen
from textual.widget import Widget

import yourtool.tui
from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import ProviderServer, Reply
from tests.security import test_payloads
from tests.security.payloads import PAYLOADS
from tests.security.test_payloads import PLAIN, check, get_commands, get_error
from yourtool.agent.commands.table import COMMANDS
from yourtool.cli.parser import COMMANDS as SHELL_COMMANDS
from yourtool.cli.parser import build_parser

VISITED = (
    "copy", "help", "keys", "model", "models", "effort", "rename", "search tide", "export out.md",
    "undo", "redo", "rewind", "cost", "context", "rules", "why", "route", "request",
    "compact", "diff", "theme", "mode",
    "trust", "permissions", "skill", "memory", "copy list", "processes", "fork", "new", "resume",
    "steer", "plan", "tree", "note tide", "status", "hooks", "doctor", "agents",
)  # fmt: skip
"""The slash commands, in an order in which each has something to show."""
UNVISITED = {
    "key": "shows names of providers and stars in place of what is typed",
    "retry": "shows a reply, as `converse` does",
    "continue": "shows a reply, as `converse` does",
    "attach": "shows the file names of the completer, as `browse` does",
    "background": "shows that a command was moved, without its text",
    "goal": "shows entries of the session, as `/note` does",
    "init": "sends a prompt of the program",
    "paste": "shows an attachment of the clipboard, of which the terminal has none",
    "mcp": "shows what `yourtool mcp show` prints; `tests/cli/test_mcp.py` has hostile servers",
    "btw": "shows a reply: test_answer.py has one with sequences and markup",
    "review": "shows an entry of the session, as `/note` does",
    "config": "shows the settings of the user, as `yourtool config show` does",
    "vim": "shows a notice of the program",
    "quit": "ends every scenario",
}
NO_TEXT_OF_OTHERS = {
    ("sessions", "import"): "prints counts; `sessions show` prints what was imported",
    ("sessions", "fork"): "prints an id",
    ("sessions", "rename"): "prints an id",
    ("sessions", "delete"): "prints an id",
    ("sessions", "forget"): "prints a count",
    ("sessions", "removals"): "prints ids and counts",
    ("sessions", "salvage"): "prints counts and ids",
    ("permissions", "edit"): "prints what `permissions list` prints",
    ("permissions", "remove"): "prints what `permissions list` prints",
    ("auth", "set"): "prints the name of a provider",
    ("acp",): "prints JSON in ASCII; `tests/extensions/editors` has the texts in it",
    ("auth", "remove"): "prints the name of a provider",
    ("auth", "test"): "prints an error of a provider, as `-p` does",
    ("config", "show"): "prints what `config check` reads",
}
"""Commands of the shell that `test_payloads.COMMANDS` has not, with the reason."""
SHOWN = {
    "AnswerList": "converse, browse: with the question",
    "AnswerScreen": "test_answer.py: an answer with sequences and markup",
    "Answers": "own labels and names of models",
    "ApprovalField": "test_approval.py: its text is that of the question",
    "ApprovalPrompt": "converse, browse",
    "Banner": "converse: a notice of an error of a provider",
    "ChangesScreen": "visit: /diff",
    "ChatScreen": "converse, browse, visit",
    "ChoicePreview": "visit: /resume",
    "Chooser": "the frame of lists",
    "CompletionList": "browse: file names",
    "ConsequenceRows": "own texts and names of models, as in the list of models",
    "Dialog": "the frame of the lists",
    "Greeting": "visit: the first screen with the branch",
    "KeyInspector": "names of keys that the user presses",
    "Picker": "visit: /model, /rewind, /permissions, /resume, /context",
    "PreviewPane": "converse: every question",
    "Prompt": "browse: search of prompts",
    "QueryInput": "what the user types in the search of the transcript",
    "QueueList": "what the user types",
    "RemainingRows": "own labels only",
    "ReportScreen": "visit: /help, /cost, /request",
    "Rows": "visit: /help, /cost, /request",
    "RuleExamples": "browse: rules of a question",
    "SearchBar": "what the user types",
    "StatusLine": "visit: branch and model",
    "StyledText": "converse: every question",
    "SwapSheet": "own texts and names of models, as in the list of models",
    "TextField": "what the user types",
    "TextEntry": "what the user types",
    "PagedTranscript": "converse, browse, visit",
    "Transcript": "converse, browse, visit",
    "TreeScreen": "visit: /tree",
    "TrustFiles": "browse: files of a folder",
    "TrustQuestion": "the frame of its files and answers",
    "UrgentScreen": "the frame of the main screen",
    "WrappedWidget": "the frame of rows",
}
"""Widgets and screens, with the scenario that shows text of others in them, or the reason."""


def get_classes() -> set[str]:
    """Return the names of the widgets and screens of the interface."""
    for each in pkgutil.walk_packages(yourtool.tui.__path__, "yourtool.tui."):
        importlib.import_module(each.name)
    found, waiting = set[str](), [Widget, Screen]
    while waiting:
        for each in waiting.pop().__subclasses__():
            waiting.append(each)
            if each.__module__.startswith("yourtool.") and not each.__name__.startswith("_"):
                found.add(each.__name__)
    return found


def get_subcommands(parser: argparse.ArgumentParser) -> set[tuple[str, ...]]:
    """Return the commands of a parser with their actions."""
    found = set[tuple[str, ...]]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                found |= {(name, *rest) for rest in get_subcommands(inner) or {()}}
    return found


def test_every_slash_command_is_visited_or_has_a_reason():
    visited = {each.partition(" ")[0] for each in VISITED}
    assert visited | UNVISITED.keys() == {each.name for each in COMMANDS}
    assert not visited & UNVISITED.keys()


def test_every_command_of_the_shell_is_run_with_payloads_or_has_a_reason():
    run = {each for each in test_payloads.COMMANDS if not each[0].startswith("-")}
    for name in SHELL_COMMANDS:
        for command in get_subcommands(build_parser([name])):
            is_run = any(each[: len(command)] == command for each in run)
            assert is_run != (command in NO_TEXT_OF_OTHERS), command


def test_every_widget_and_screen_is_a_surface_or_has_a_reason():
    assert get_classes() == SHOWN.keys()


def make_repository(work: Path, branch: str) -> None:
    """Make a repository whose branch has a name with characters that hide."""
    work.mkdir()
    for argv in (["init", "-q"], ["symbolic-ref", "HEAD", f"refs/heads/{branch}"]):
        subprocess.run(["git", *argv], cwd=work, check=True)


def get_reply(body: dict[str, Any], text: str) -> Reply:
    """Return a reply with a text to the last message of a request."""
    messages = json.dumps(body["messages"])
    has_result = "tool_result" in json.dumps(body["messages"][-1])
    if "think first" in messages:
        plan = {"plan": f"# The plan\n\n{text}"}
        calls = [("delegate", {"task": text}), ("propose_plan", plan)]
        return get_error(text) if has_result else Reply(f"I propose {text}", calls)
    if "titled" in messages:
        call = ("write_file", {"path": "new.txt", "content": f"{text}\n"})
        return Reply(f"the change is made {text}") if has_result else Reply(f"now {text}", [call])
    return Reply(f"the report {text}")


def visit(home: Path, work: Path, text: str, names: list[str], branch: str) -> bytes:
    """Show a text in the lists and reports of the slash commands; return what the terminal got."""
    make_repository(work, branch)
    (home / "config.toml").write_text(
        "[limits]\nmax_retries = 0\n[ui]\nscrollback_on_exit = true\n"
    )
    with ProviderServer(answer=lambda _, body: get_reply(body, text)) as server:
        server.model_names = names
        env = {"YOURTOOL_HOME": str(home), **server.environment}
        # /undo puts the message into the prompt, which shows the user's own text unchanged
        argv = (*YOURTOOL, "titled")
        with Terminal(argv, cwd=work, env=env, columns=120, rows=40) as terminal:
            terminal.wait("new\\.txt`?\\?", "deny")
            terminal.answer("a")
            terminal.wait("the change is made")
            for command in VISITED:
                terminal.send(f"\x15/{command}\r")
                terminal.read(0.8)
                terminal.send("\x1b")
                terminal.read(0.6)
            terminal.say("think first")
            terminal.wait("Carry out this plan", "keep planning")
            terminal.answer("\x1b")
            terminal.wait("400|invalid_request_error|rejected")
            terminal.send("\x15/quit\r")
            terminal.end(20)
    return bytes(terminal.output)


@pytest.mark.security
@pytest.mark.figure("payloads", part="slash commands")
@pytest.mark.req("T17", "T18", "T19")
def test_slash_commands_send_no_command_of_a_payload(home, tmp_path):
    payloads = [each["text"] for each in PAYLOADS if each["surface"] != "diff"]
    text = " ".join(f"<{each}>" for each in payloads).replace("'", "")
    allowed = get_commands(visit(home, tmp_path / "plain", PLAIN, ["tide"], "tide"))
    shutil.rmtree(home)
    home.mkdir()
    output = visit(home, tmp_path / "hostile", text, payloads, "tide\u202eb\u200bc")
    check(output, allowed)
    copied = re.findall(rb"\x1b\]52;c;([^\x07\x1b]*)\x07", output)
    assert copied
    for each in copied:
        assert "the change is made" in base64.b64decode(each, validate=True).decode()
