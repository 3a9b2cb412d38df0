"""Play the session with the real program and a scripted server, and write what is on the screen.

Every run writes the same bytes: the session has its own home, project and settings, the script
moves the clock, a frame is recorded when the program is at rest, and no other server is reachable.
"""

import asyncio
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.pictures.scene_clock import SceneClock
from tests.sandbox_here import NO_SANDBOX

CONFIG = """\
theme = "dark"
[ui]
reduced_motion = true
"""


def refuse_other_servers(port: int) -> None:
    """Refuse connections to other ports, so that a model server on this machine is not listed."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            host, other, *_ = arguments[1]
            if (host, other) != ("127.0.0.1", port):
                raise ConnectionRefusedError(host)

    sys.addaudithook(audit)


def prepare(home: Path) -> Path:
    """Leave the environment of the user; return the directory of the project."""
    python = Path(sys.executable).parent
    os.environ |= {"HOME": str(home), "PATH": f"{python}{os.pathsep}{os.environ['PATH']}"}
    for name in list(os.environ):
        if name.startswith(("YOURTOOL_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GEMINI_")):
            del os.environ[name]
    for name in ("NO_COLOR", "COLORFGBG", "GOOGLE_API_KEY", "TEXTUAL_ANIMATIONS", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    settings = home / "settings"
    settings.mkdir(mode=0o700)
    (settings / "config.toml").write_text(CONFIG)
    os.environ |= {"YOURTOOL_HOME": str(settings), "TERM": "xterm-256color"}
    os.environ |= NO_SANDBOX  # not every machine has one
    return home / "tally"


async def write(directory: Path, clock: SceneClock, project: Path) -> None:
    """Play the session and write its files into a directory."""
    session, stage = import_module("tests.pictures.session"), import_module("tests.pictures.stage")
    server = import_module("tests.provider_server")
    session.make_project(project)
    os.chdir(project)
    replies, paces = session.build_replies()
    with server.ProviderServer(replies) as provider:
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            os.environ[name] = provider.environment[name]
        refuse_other_servers(int(provider.url.rpartition(":")[2]))
        app = session.build_app(project)
        async with app.run_test(size=session.SIZE) as pilot:
            await session.play(stage.Stage(pilot, clock, directory), paces)
            await app.shut_down()


def main(directory: Path) -> None:
    """Write all files into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    clock = SceneClock()
    clock.install()
    with tempfile.TemporaryDirectory() as home:
        project = prepare(Path(home))
        asyncio.run(write(directory.resolve(), clock, project))
        os.chdir("/")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
