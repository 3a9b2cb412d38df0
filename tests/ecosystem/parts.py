"""The programs of others that `make ecosystem` fetches, and where they are.

`python -m tests.ecosystem.parts` installs them with npm and pip into `.venv/ecosystem`, or into the
directory that `YOURTOOL_ECOSYSTEM` names. Tests only look there, and skip if a part is missing.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("YOURTOOL_ECOSYSTEM") or ROOT / ".venv/ecosystem").absolute()
PACKAGES = {
    "@agentclientprotocol/claude-agent-acp": "0.49",
    "@agentclientprotocol/sdk": "2.4",
    "@google/gemini-cli": "0.61",
    "@modelcontextprotocol/conformance": "0.1.16",
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@qwen-code/qwen-code": "0.15",
    "@zed-industries/codex-acp": "0.16",
    "acpx": "0.19",
    "node": "22",
    "opencode-ai": "1.18",
}
"""Packages of npm; `node` brings the version of Node that some of the others need."""
SERVERS = {
    "mcp-server-fetch": "2026.10.24",
    "mcp-server-git": "2026.10.19",
    "mcp-server-time": "2026.10.19",
}
"""Packages of pip."""
NODE = FOLDER / "node_modules/node/bin/node"
_FETCH = "run `make ecosystem`, which fetches it"


def find_script(package: str, name: str = "") -> list[str]:
    """Return the command of a package of npm; skips the test if a part is missing."""
    directory = FOLDER / "node_modules" / package
    for each in (NODE, directory / "package.json"):
        if not each.exists():
            pytest.skip(f"`{each.relative_to(FOLDER)}` is not in {FOLDER}; {_FETCH}")
    programs = json.loads((directory / "package.json").read_text()).get("bin", {})
    program = programs if isinstance(programs, str) else programs[name or next(iter(programs))]
    return [str(NODE), str(directory / program)]


def find_sdk() -> str:
    """Return the address of the TypeScript SDK of ACP, built."""
    find_script("node", "node")
    module = FOLDER / "node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js"
    if not module.exists():
        pytest.skip(f"`@agentclientprotocol/sdk` is not in {FOLDER}; {_FETCH}")
    return module.as_uri()


def find_program(name: str) -> str:
    """Return a program of a package of pip."""
    program = FOLDER / "python/bin" / name
    if not program.exists():
        pytest.skip(f"`{name}` is not in {FOLDER}; {_FETCH}")
    return str(program)


def fetch() -> None:
    """Install all parts; those that are there already are not fetched again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = [f"{name}@{version}" for name, version in PACKAGES.items()]
    quiet = ["--no-audit", "--no-fund", "--no-progress", "--loglevel", "error"]
    subprocess.run(["npm", "install", "--prefix", str(FOLDER), *quiet, *names], check=True)
    python = FOLDER / "python/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "python")], check=True)
    servers = [f"{name}=={version}" for name, version in SERVERS.items()]
    subprocess.run([str(python), "-m", "pip", "install", "-q", *servers], check=True)


if __name__ == "__main__":
    fetch()
