"""Settings of other agents with values of any type, in any place."""

import json
import random
import tomllib
from typing import Any

import pytest

from yourtool.permissions.grants import Grants
from yourtool.settings.config import load_report
from yourtool.tools.builtin import default_toolbox

_KEYS = (
    "permissions", "allow", "ask", "deny", "hooks", "PreToolUse", "Stop", "BeforeTool", "matcher",
    "command", "timeout", "type", "mcpServers", "mcp", "mcp_servers", "env", "headers", "url",
    "httpUrl", "args", "environment", "permission", "bash", "edit", "*", "git *", "template",
    "tools", "exclude", "allowed", "excludeTools", "x", "", "enabled", "http_headers",
    "env_http_headers", "bearer_token_env_var", "excludeTools", "__proto__", "enabled_tools",
)  # fmt: skip
_VALUES = (
    "Bash(make test)", "Bash(", "Edit(src/**)", "Edit(\x00)", "mcp__a__b", "WebFetch(domain:a.org)",
    "\ud800", "\x1b]52;c;x\x07", '"]\nmodel="x"', "a" * 5_000, "(" * 50, "https://a.org/?key=1",
    "command", "http", "sse", "allow", "deny", "", None, True, 0, -1, 1e308, 2**70, 0.5,
)  # fmt: skip
_FILES = (
    ".claude/settings.json", ".claude.json", ".codex/hooks.json", ".gemini/settings.json",
    ".config/opencode/opencode.json",
)  # fmt: skip
_PROJECT_FILES = (
    ".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", "opencode.json",
)  # fmt: skip


_ENTRY = {"command": "x", "args": ["a"], "env": {"A": "b"}, "url": "https://a.org/", "type": "http"}
_HOOKS = [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "x", "timeout": 5}]}]
_RULES = ["Bash(make test:*)", "Edit(src/**)", "WebFetch(domain:a.org)", "mcp__a__b", "Read(.env)"]
_SOUND = {
    "permissions": {"allow": _RULES, "ask": _RULES, "deny": _RULES},
    "hooks": {"PreToolUse": _HOOKS, "BeforeTool": _HOOKS, "Stop": _HOOKS, "x": _HOOKS},
    "mcpServers": {"a": {"command": "x", "args": ["a"], "env": {"A": "b"}}, "b": _ENTRY},
    "mcp": {"c": {"type": "local", "command": ["x", "y"], "environment": {"A": "{env:B}"}}},
    "permission": {"bash": {"git *": "allow", "rm *": "deny"}, "edit": "ask"},
    "command": {"t": {"template": "Do it."}},
    "tools": {"exclude": ["run_shell_command(x)"], "allowed": ["run_shell_command(make test)"]},
}


def spoil(chance: random.Random, value: Any) -> Any:
    """Return a value of which some parts are of another type, or elsewhere."""
    if chance.random() < 0.04:
        return chance.choice((*_VALUES, [value], {chance.choice(_KEYS): value}))
    if isinstance(value, dict):
        return {
            chance.choice(_KEYS) if chance.random() < 0.02 else name: spoil(chance, each)
            for name, each in value.items()
        }
    return [spoil(chance, each) for each in value] if isinstance(value, list) else value


def fuzz(world, rounds: int) -> None:
    chance = random.Random(7)
    kinds = default_toolbox().subject_kinds
    taken = set[str]()
    for _ in range(rounds):
        for root, names in ((world.home, _FILES), (world.project, _PROJECT_FILES)):
            for name in names:
                world.write(root, name, json.dumps(spoil(chance, _SOUND)))
        dry = world.run(dry_run=True)
        report = world.run()
        assert dry == report
        taken |= {each.kind for each in report.taken}
        assert load_report(world.paths).problems == ()
        for each in (world.ours / "mcp.json", world.project / ".mcp.json"):
            if each.exists():
                json.loads(each.read_bytes())
        for each in (world.project / ".yourtool").glob("*.toml"):
            tomllib.loads(each.read_text())
        assert Grants(world.ours / "permissions.toml", world.project, kinds).read().problems == ()
    assert taken >= {"rule", "hook", "server", "command"}


@pytest.mark.remaining
def test_invented_settings_never_break_ours(world):
    fuzz(world, 15)


@pytest.mark.soak
def test_many_invented_settings_never_break_ours(world):
    fuzz(world, 500)
