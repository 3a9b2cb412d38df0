"""Hooks as scripts, and sessions with them."""

import json
import sys
from pathlib import Path

from tests.agent.harness import play
from yourtool.agent.hooks.hook import build_hook
from yourtool.agent.hooks.hooks import Hooks
from yourtool.agent.tool_servers import build_environments
from yourtool.events.hooks import HookRan
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Config, Mode
from yourtool.settings.hook_config import HookConfig


class Scripts:
    """Writes the scripts of hooks outside the workspace."""

    def __init__(self, directory):
        self.directory = directory
        self.log = directory / "log"
        self.count = 0

    def hook(self, event, body, matcher="", source="user", timeout=10):
        self.count += 1
        file = self.directory / f"hook{self.count}.py"
        file.write_text(
            "import json, sys, os, time, subprocess\n"
            f"given = json.load(sys.stdin)\nopen({str(self.log)!r}, 'a').write("
            "json.dumps(given) + '\\n')\n" + body
        )
        return build_hook(
            HookConfig(event, f"{sys.executable} -S {file}", matcher, timeout), source
        )

    def answer(self, event, output, matcher="", source="user"):
        return self.hook(event, f"print({json.dumps(json.dumps(output))})", matcher, source)

    def given(self):
        return self.read(self.log)

    def read(self, file):
        return [json.loads(line) for line in Path(file).read_text().splitlines()]


def decide(verdict, **more):
    """Return the output of a hook that decides on a call."""
    return {"hookSpecificOutput": {"permissionDecision": verdict, **more}}


async def run(bench, hooks, *replies, prompt="go", **options):
    model = Scripted([*replies, says("Done.")])
    options = {"mode": Mode.AUTO, **options}
    settings = {"hooks": Hooks(hooks), "environments": build_environments(Config())}
    session = await bench.session(model, settings=settings, **options)
    events = await play(session.send(prompt))
    return session, events


def ran(events):
    return [each for each in events if isinstance(each, HookRan)]


def results(events):
    ends = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    return ["\n".join(part.text for part in each.message.content[0].content) for each in ends]


def write(name="a.txt", content="x\n"):
    return calls("write_file", path=name, content=content)
