"""Servers of a workspace as their settings describe them."""

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from yourtool.tools.servers.acceptance import Acceptance
from yourtool.tools.servers.logins import Logins
from yourtool.tools.servers.server import Surroundings
from yourtool.tools.servers.servers import ToolServers
from yourtool.tools.servers.settings import SettingsFile, load_settings

HERE = Path(__file__).parent


def good(**fields):
    return {"command": sys.executable, "args": [str(HERE / "good_server.py")], **fields}


def offering(**fields):
    return {"command": sys.executable, "args": [str(HERE / "offering_server.py")], **fields}


def hostile(kind, script=HERE / "hostile_server.py", **fields):
    return {"command": sys.executable, "args": ["-I", str(script), kind], **fields}


def settings(servers, source="user", name="/home/me/mcp.json"):
    return SettingsFile(name, json.dumps({"mcpServers": servers}, indent=1), source)


def load(servers, source="user"):
    return load_settings([settings(servers, source)])


@asynccontextmanager
async def started(root, servers, *, source="user", connect_seconds=20.0, **around):
    """Yield the servers when each has connected or failed."""
    surroundings = Surroundings(
        root,
        Acceptance(root.parent / "accepted" / "mcp_accepted.json"),
        Logins(root.parent / "accepted" / "mcp_logins.json"),
        connect_seconds=connect_seconds,
        **around,
    )
    found = ToolServers(load(servers, source), surroundings)
    found.start()
    try:
        await found.settle(60)
        yield found
    finally:
        await found.close()
