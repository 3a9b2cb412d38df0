"""Agents of others that serve the Agent Client Protocol: how each is started and set up.

Each uses a model at the address of a test, with a separate home directory and without a login.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ecosystem.parts import NODE, find_script

QUIET = {"usageStatisticsEnabled": False}


@dataclass(frozen=True)
class ForeignAgent:
    """A package of npm, and what makes it use a server of a test."""

    package: str
    program: str
    arguments: tuple[str, ...] = ()
    needs_node: bool = True
    offers_files: bool = True
    """The setting `files`."""
    variables: Callable[[str], Mapping[str, str]] = field(default=lambda _url: {})
    """Returns environment variables for the address of a server."""
    files: Callable[[str], Mapping[str, str]] = field(default=lambda _url: {})
    """Returns texts by their paths in its home directory."""

    def set_up(self, home: Path, environment: Mapping[str, str], url: str) -> list[str]:
        """Write its settings, and return the command; skips the test if it is not there."""
        command = find_script(self.package, self.program)
        for name, text in self.files(url).items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        given = {**environment, **self.variables(url), "HOME": str(home)}
        given["PATH"] = f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin"
        pairs = [f"{name}={value}" for name, value in given.items()]
        return ["env", *pairs, *(command if self.needs_node else command[1:]), *self.arguments]


def _write_google_settings(_url: str) -> dict[str, str]:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": QUIET}
    return {".gemini/settings.json": json.dumps(chosen)}


def _write_qwen_settings(_url: str) -> dict[str, str]:
    chosen = {"security": {"auth": {"selectedType": "openai"}}, "privacy": QUIET}
    return {".qwen/settings.json": json.dumps(chosen)}


def _write_codex_settings(url: str) -> dict[str, str]:
    text = f"""\
model = "gpt-5"
model_provider = "local"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
    return {".codex/config.toml": text}


def _build_opencode_variables(url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    models = {"m": {"name": "m", "limit": {"context": 200_000, "output": 8_000}}}
    package = "@ai-sdk/openai-compatible"
    provider = {"npm": package, "name": "local", "options": options, "models": models}
    settings: dict[str, Any] = {
        "model": "local/m", "small_model": "local/m", "permission": {"edit": "ask", "bash": "ask"},
        "autoupdate": False, "share": "disabled", "provider": {"local": provider},
    }  # fmt: skip
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


AGENTS = {
    "gemini": ForeignAgent(
        "@google/gemini-cli", "gemini", ("--acp", "-m", "gemini-2.5-pro"),
        files=_write_google_settings, offers_files=False,
    ),
    "qwen": ForeignAgent(
        "@qwen-code/qwen-code", "qwen", ("--acp",), files=_write_qwen_settings,
        variables=lambda _url: {"OPENAI_MODEL": "qwen3-coder"},
    ),
    "opencode": ForeignAgent(
        "opencode-ai", "opencode", ("acp",), needs_node=False, variables=_build_opencode_variables
    ),
    "claude": ForeignAgent(
        "@agentclientprotocol/claude-agent-acp", "claude-agent-acp",
        variables=lambda _url: {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": ForeignAgent(
        "@zed-industries/codex-acp", "codex-acp", files=_write_codex_settings
    ),
}  # fmt: skip
