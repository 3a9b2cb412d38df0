"""The settings of Claude Code: https://code.claude.com/docs/en/settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yourtool.extensions.settings_import.findings import Findings, Kind, as_list, as_table
from yourtool.extensions.settings_import.foreign_files import ForeignFiles
from yourtool.extensions.settings_import.foreign_hooks import add_hooks
from yourtool.extensions.settings_import.foreign_rules import build_rules
from yourtool.extensions.settings_import.foreign_servers import add_server, iter_tables
from yourtool.foundation.files import is_directory, path_exists
from yourtool.settings.tables import is_table

_EFFECTS = ("deny", "ask", "allow")
_TAKEN = frozenset({"permissions", "hooks", "$schema"})
_USED: tuple[tuple[Kind, str], ...] = (
    ("instructions", "CLAUDE.md"),
    ("server", ".mcp.json"),
    ("command", ".claude/commands"),
    ("skill", ".claude/skills"),
)
"""What this program reads in a project where it is."""
_TAKEN_PERMISSIONS = frozenset(_EFFECTS)


def read_user(files: ForeignFiles, environ: Mapping[str, str], *, shares_skills: bool) -> None:
    """Add the settings of the user.

    `shares_skills`: whether this program reads `~/.claude/skills` where it is.
    """
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or files.root / ".claude")
    files.take_text("instructions", folder / "CLAUDE.md", "AGENTS.md")
    for name, path in files.iter_files(folder / "commands", ".md"):
        files.take_text("command", path, f"commands/{name}", name.removesuffix(".md"))
    skills = folder / "skills"
    if shares_skills and folder == files.root / ".claude":
        if is_directory(skills):
            files.findings.used_already.append(("skill", files.show(skills)))
    else:
        files.take_skills(skills, "skills")
    _read_settings(files, folder / "settings.json")
    state = files.root / ".claude.json"
    settings, place = files.read_json(state), files.show(state)
    for name, entry in iter_tables(files.findings, settings.get("mcpServers"), place):
        add_server(files.findings, name, entry, place)
    for folder_name, project in as_table(settings.get("projects")).items():
        for name in as_table(as_table(project).get("mcpServers")):
            reason = f"it is for `{folder_name}` only; `yourtool mcp add` adds it for all folders"
            files.findings.omit("server", name, place, reason)


def read_project(files: ForeignFiles) -> None:
    """Add the settings of a project that this program does not read where they are."""
    for kind, name in _USED:
        if path_exists(files.root / name):
            files.findings.used_already.append((kind, name))
    _read_settings(files, files.root / ".claude" / "settings.json")
    _read_settings(files, files.root / ".claude" / "settings.local.json")


def _read_settings(files: ForeignFiles, path: Path) -> None:
    settings, place, findings = files.read_json(path), files.show(path), files.findings
    if settings.get("disableAllHooks"):
        findings.omit("hook", "hooks", place, "`disableAllHooks` switches them off")
    else:
        add_hooks(findings, settings.get("hooks"), place)
    permissions = settings.get("permissions", {})
    if is_table(permissions):
        for effect in _EFFECTS:
            texts = _read_texts(findings, permissions.get(effect), place)
            findings.rules += build_rules(effect, texts, place)
        _omit_rest(findings, permissions, _TAKEN_PERMISSIONS, place, "permissions.")
    else:
        findings.omit("rule", "permissions", place, "it is no object")
    _omit_rest(findings, settings, _TAKEN, place, "")


def _omit_rest(
    findings: Findings, table: Mapping[str, Any], taken: frozenset[str], place: str, prefix: str
) -> None:
    for name in sorted(table.keys() - taken):
        findings.omit("setting", prefix + name, place, "settings of this kind are not taken over")


def _read_texts(findings: Findings, value: Any, place: str) -> list[str]:
    found = [each for each in as_list(value) if isinstance(each, str)]
    if value is not None and (not isinstance(value, list) or len(found) < len(as_list(value))):
        findings.omit("rule", "permissions", place, "a list of rules has something else in it")
    return found
