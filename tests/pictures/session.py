"""The session that the screenshots and the recording show."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.pictures.stage import ALL, Pace, Stage
from tests.provider_server import Reply
from tests.trusted_folders import trust
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions, load_config
from yourtool.tui.app import YourtoolApp
from yourtool.tui.lines.highlight import get_highlighter

SIZE = (100, 32)
WIDE = (170, 32)

TALLY = '''\
"""Add up the amounts in a file of expenses."""

import sys


def total(lines):
    amount = 0.0
    for line in lines:
        name, value = line.split(";")
        amount += float(value)
    return amount


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(f"{total(file):.2f}")
'''
EXPENSES = "coffee;3.50\nbooks;38.00\n\ntram;1.00\n"
EDIT = {
    "path": "tally.py",
    "edits": [
        {
            "old": '        name, value = line.split(";")\n        amount += float(value)\n',
            "new": "        if not line.strip():\n            continue\n"
            '        _, value = line.split(";")\n        amount += float(value)\n',
        }
    ],
}
RUN = {"command": "python3 tally.py expenses.txt"}
PROMPT = "tally.py fails on blank lines, fix it and try it"
SUMMARY = (
    "`total` now **skips blank lines**, and the example adds up to 42.50.\n\n"
    "- `tally.py`: a line without text is ignored\n"
    "- `expenses.txt`: unchanged\n\n"
    "The unused name of an expense is now `_`."
)
WORDS_AT_ONCE = 2
FIRST_PIECES = 2
"""The start of the message and that of its text."""
PIECES = -(-len(SUMMARY.split(" ")) // WORDS_AT_ONCE)


def make_project(path: Path) -> None:
    """Write the project that the session changes."""
    path.mkdir()
    (path / "AGENTS.md").write_text("Keep it small. Run the example after each change.\n")
    (path / "tally.py").write_text(TALLY)
    (path / "expenses.txt").write_text(EXPENSES)
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.invalid"]
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=path, check=True)
    subprocess.run([*git, "add", "-A"], cwd=path, check=True)
    subprocess.run([*git, "commit", "-qm", "Start"], cwd=path, check=True, env=os.environ)


def build_replies() -> tuple[list[Reply], list[Pace]]:
    """Return the replies of the server, and what sends the pieces of each."""
    paces = [Pace() for _ in range(4)]
    looks, edits, runs, ends = paces
    read = ("read_file", {"path": "tally.py"})
    replies = [
        Reply("I read the file first.", [read], before_piece=looks),
        Reply("I skip lines without text.", [("edit_file", EDIT)], before_piece=edits),
        Reply("", [("shell", RUN)], before_piece=runs),
        Reply(SUMMARY, before_piece=ends, words_at_once=WORDS_AT_ONCE),
    ]
    return replies, paces


def build_app(project: Path) -> YourtoolApp:
    """Return the interface with the core of the program, as the command line builds it."""
    paths = resolve_paths()
    trust(project, paths)
    config = load_config(paths)
    options = RunOptions(workspace=project, interactive=True)
    app = YourtoolApp(
        lambda: Runtime.open(paths, options),
        highlight=get_highlighter,
        theme=config.theme,
    )
    app.apply_settings(config.ui)
    return app


async def play(stage: Stage, paces: Sequence[Pace]) -> None:
    """Request a change, approve it, and show the models."""
    looks, edits, runs, ends = paces
    chat = stage.app.chat
    await stage.until(lambda: chat.session is not None)
    await stage.sees("AGENTS.md loaded")
    stage.save("first-screen")
    await stage.frame(1.0)
    await stage.type(PROMPT)
    await stage.frame(0.5)
    await stage.press("enter")
    await wait_for_reply(stage, looks, PROMPT)
    await wait_for_reply(stage, edits, "Read tally.py, 16 lines")
    await stage.question("Edit `tally.py`?", "continue")
    stage.save("diff-question")
    await stage.resize(*WIDE)
    stage.save("diff-side-by-side")
    await stage.resize(*SIZE)
    await stage.answer("a")
    await wait_for_reply(stage, runs, "Edited tally.py · +3")
    await stage.question("Run this command?")
    await stage.answer("a")
    await wait_for_reply(stage, ends, "Ran python3", pieces=FIRST_PIECES)
    await stage.stream(ends, PIECES)
    ends.send(ALL)
    await stage.until(lambda: not chat.runner.is_running)
    stage.save("conversation")
    await show_models(stage)


async def wait_for_reply(stage: Stage, pace: Pace, sign: str, *, pieces: int = ALL) -> None:
    """Show a text and that the program waits for the provider, then send pieces of the reply."""
    await stage.sees(sign, "Waiting for anthropic")
    await stage.frame(1.2)
    pace.send(pieces)


async def show_models(stage: Stage) -> None:
    """Show why the model was chosen, and the list of models."""
    await stage.frame(2.0)
    await stage.type("/model show")
    await stage.press("enter")
    await stage.sees("7 global default")
    stage.save("model-show")
    await stage.frame(3.0)
    await stage.type("/models")
    await stage.press("enter")
    await stage.until(lambda: stage.app.screen is not stage.app.chat)
    stage.save("model-picker")
    await stage.frame(3.0)
    await stage.press("escape")
    await stage.frame()
    stage.save_recording("session")
