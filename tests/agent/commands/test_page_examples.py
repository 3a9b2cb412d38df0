"""Each slash command with arguments in a sentence of a page does something in a session."""

import re
from pathlib import Path

from tests.agent.harness import ALLOW, User, play
from tests.provider_server import ProviderServer, Reply
from yourtool.agent.commands.parser import parse_input
from yourtool.agent.runtime import Runtime
from yourtool.errors import YourtoolError
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions

ROOT = Path(__file__).parents[3]
NEEDS = {
    "/context original": "No message is summarised",
    "/goal resume": "no goal to continue",
    "/goal stop": "no goal to stop",
    "/key my-server": "takes the name of a provider",
    "/model acp:NAME": "There is no agent",
    "/processes stop p1": "there is no process",
    "/route ignore": "recommend no other model",
    "/route override": "recommend no other model",
    "/skill NAME TASK": "There is no skill",
}
"""Needs of a command that the session of this test cannot meet."""
VALUES = {"N FILE": "1 request.json", "NAME": "sonnet", "LEVEL": "high", "N M": "1 2", "N": "1"}


def find_commands():
    """Return the commands in sentences: tables of forms have brackets."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(each.read_text("utf-8") for each in pages)
    found = re.findall(r"`(/[a-z]+\s[^`]+)`", text.replace(" [HINT]", ""))
    return sorted({" ".join(each.split()) for each in found if "[" not in each})


async def test_slash_commands_of_the_pages_are_accepted(tmp_path, monkeypatch):
    script = [Reply("", [("shell", {"command": "ls"})]), Reply("Done."), Reply("Done again.")]
    refused, run = {}, 0
    with ProviderServer(script) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        session = await runtime.new_session(User(ALLOW))
        for _ in range(2):
            await play(session.send("go"))
        for command in find_commands():
            line = command
            for name, value in VALUES.items():
                line = re.sub(rf"\b{name}\b", value, line)
            invocation = parse_input(line)
            if invocation.command.run is None:  # a command about the screen
                continue
            run += 1
            try:
                results = invocation.command.run(session, runtime, invocation.argument)
                assert [each async for each in results], command
            except YourtoolError as error:
                refused[command] = str(error)
        await session.close()
        await runtime.close()
    assert run > 30
    assert refused.keys() == NEEDS.keys(), refused
    assert all(reason in refused[command] for command, reason in NEEDS.items()), refused
