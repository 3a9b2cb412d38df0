"""The settings of opencode: https://opencode.ai/docs/config."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yourtool.extensions.settings_import.findings import ForeignRule, TextFile, as_list
from yourtool.extensions.settings_import.foreign_files import ForeignFiles
from yourtool.extensions.settings_import.foreign_servers import (
    add_server,
    iter_tables,
    omit_fields,
    pick,
)
from yourtool.foundation.files import path_exists
from yourtool.permissions.rule_file import RuleEffect
from yourtool.settings.tables import is_table

_TAKEN = frozenset({"mcp", "permission", "command", "$schema"})
_VARIABLE = re.compile(r"\{env:([A-Za-z_]\w*)\}")
_TOOLS: Mapping[str, str] = {
    "bash": "Bash", "edit": "Edit", "write": "Write", "read": "Read", "webfetch": "WebFetch",
    "glob": "Glob", "grep": "Grep", "list": "LS", "task": "Task",
}  # fmt: skip
_FILES = ("opencode.json", "opencode.jsonc")
_SERVER_FIELDS = frozenset({"type", "command", "environment", "url", "headers", "enabled"})
_MILLISECONDS = 1000


def read_user(files: ForeignFiles, environ: Mapping[str, str]) -> None:
    """Add the settings of the user."""
    configured = Path(environ.get("XDG_CONFIG_HOME") or files.root / ".config") / "opencode"
    folder = Path(environ.get("OPENCODE_CONFIG_DIR") or configured)
    files.take_text("instructions", folder / "AGENTS.md", "AGENTS.md")
    _read_folder(files, folder, "")
    for name in _FILES:
        _read_settings(files, folder / name, "")


def read_project(files: ForeignFiles) -> None:
    """Add the settings of a project that this program does not read where they are."""
    if path_exists(files.root / "AGENTS.md"):
        files.findings.used_already.append(("instructions", "AGENTS.md"))
    folder = files.root / ".opencode"
    _read_folder(files, folder, ".yourtool/")
    for parent in (files.root, folder):
        for name in _FILES:
            _read_settings(files, parent / name, ".yourtool/")


def _read_folder(files: ForeignFiles, folder: Path, prefix: str) -> None:
    for kind in ("command", "commands"):
        for name, path in files.iter_files(folder / kind, ".md"):
            target = f"{prefix}commands/{name}"
            files.take_text("command", path, target, name.removesuffix(".md"))
    for kind in ("skill", "skills"):
        files.take_skills(folder / kind, f"{prefix}skills")
    for kind in ("plugin", "plugins"):
        for name, path in files.iter_files(folder / kind):
            reason = "plugins are programs of opencode; hooks here are commands"
            files.findings.omit("hook", name, files.show(path), reason)


def _read_settings(files: ForeignFiles, path: Path, prefix: str) -> None:
    findings = files.findings
    settings, place = files.read_json(path), files.show(path)
    for name, entry in iter_tables(findings, settings.get("mcp"), place):
        add_server(findings, name, _with_variables(_to_server(entry)), place)
        omit_fields(findings, name, entry, _SERVER_FIELDS, place)
    _read_permissions(files, settings.get("permission"), place)
    commands = settings.get("command")
    for name, entry in (commands if is_table(commands) else {}).items():
        template = entry.get("template") if is_table(entry) else None
        if isinstance(template, str) and template.strip() and re.fullmatch(r"[\w-]+", name):
            content = f"{template.strip()}\n".encode("utf-8", "replace")
            target = f"{prefix}commands/{name}.md"
            findings.texts.append(TextFile("command", name, target, content, place))
        else:
            findings.omit("command", name, place, "it has no `template`, or an unusual name")
    for name in sorted(settings.keys() - _TAKEN):
        findings.omit("setting", name, place, "settings of this kind are not taken over")


def _to_server(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = pick(entry, env="environment", url="url", headers="headers")
    command = entry.get("command")
    if isinstance(command, list) and command:
        found |= {"command": command[0], "args": command[1:]}
    if entry.get("type") == "remote":
        found["type"] = "http"
    if entry.get("enabled") is False:
        found["disabled"] = True
    return found


def _with_variables(value: Any) -> Any:
    """Return a value with our form of variables."""
    if isinstance(value, str):
        return _VARIABLE.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_with_variables(each) for each in as_list(value)]
    if is_table(value):
        return {name: _with_variables(each) for name, each in value.items()}
    return value


def _read_permissions(files: ForeignFiles, permission: Any, place: str) -> None:
    """Add rules; of several patterns the last that matches counts there, and a denial here."""
    if permission is None:
        return
    if not is_table(permission):
        reason = "one answer for all tools is an approval mode here"
        files.findings.omit("rule", str(permission)[:40], place, reason)
        return
    for tool, patterns in permission.items():
        entries = patterns if is_table(patterns) else {"*": patterns}
        for pattern, effect in entries.items():
            text = f"{tool}: {pattern}: {effect}"
            if effect not in ("allow", "ask", "deny"):
                files.findings.omit("rule", text, place, "it has no effect that is known")
            elif pattern == "*" and len(entries) > 1:
                reason = "with exceptions it cannot be a rule here; what no rule names is asked"
                files.findings.omit("rule", text, place, reason)
            else:
                files.findings.rules.append(_build_rule(effect, tool, pattern, text, place))


def _build_rule(effect: RuleEffect, tool: str, pattern: str, text: str, place: str) -> ForeignRule:
    return ForeignRule(
        effect, _TOOLS.get(tool, tool), None if pattern == "*" else pattern, text, place
    )
