"""The settings of Codex: https://developers.openai.com/codex/config-reference.

Its rules are calls in a file of Starlark, which is parsed and never run:
`prefix_rule(pattern=["git", ["status", "log"]], decision="allow")`.
"""

import ast
import itertools
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yourtool.extensions.settings_import.findings import ForeignRule, as_list, as_table
from yourtool.extensions.settings_import.foreign_files import ForeignFiles
from yourtool.extensions.settings_import.foreign_hooks import add_hooks
from yourtool.extensions.settings_import.foreign_servers import (
    add_server,
    iter_tables,
    omit_fields,
    pick,
)
from yourtool.foundation.files import is_file, path_exists
from yourtool.permissions.rule_file import RuleEffect

_TAKEN = frozenset({"mcp_servers", "hooks"})
_DECISIONS: Mapping[str, RuleEffect] = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}
_MAX_PATTERNS = 50
_SERVER_FIELDS = frozenset({
    "command", "args", "env", "url", "http_headers", "disabled_tools", "tool_timeout_sec",
    "env_http_headers", "bearer_token_env_var", "enabled",
})  # fmt: skip


def read_user(files: ForeignFiles, environ: Mapping[str, str]) -> None:
    """Add the settings of the user."""
    folder = Path(environ.get("CODEX_HOME") or files.root / ".codex")
    override = folder / "AGENTS.override.md"
    instructions = override if is_file(override) else folder / "AGENTS.md"
    files.take_text("instructions", instructions, "AGENTS.md")
    for name, path in files.iter_files(folder / "prompts", ".md"):
        files.take_text("command", path, f"commands/{name}", name.removesuffix(".md"))
    files.take_skills(folder / "skills", "skills")
    _read_folder(files, folder)


def read_project(files: ForeignFiles) -> None:
    """Add the settings of a project that this program does not read where they are."""
    if path_exists(files.root / "AGENTS.md"):
        files.findings.used_already.append(("instructions", "AGENTS.md"))
    folder = files.root / ".codex"
    files.take_skills(folder / "skills", ".yourtool/skills")
    _read_folder(files, folder)


def _read_folder(files: ForeignFiles, folder: Path) -> None:
    findings = files.findings
    path = folder / "config.toml"
    settings, place = files.read_toml(path), files.show(path)
    for name, entry in iter_tables(findings, settings.get("mcp_servers"), place):
        add_server(findings, name, _to_server(entry), place)
        omit_fields(findings, name, entry, _SERVER_FIELDS, place)
    add_hooks(findings, settings.get("hooks"), place)
    for name in sorted(settings.keys() - _TAKEN):
        findings.omit("setting", name, place, "settings of this kind are not taken over")
    hooks = folder / "hooks.json"
    document = files.read_json(hooks)
    add_hooks(findings, document.get("hooks", document or None), files.show(hooks))
    for _, rules in files.iter_files(folder / "rules", ".rules"):
        if (text := files.read_text(rules)) is not None:
            findings.rules += _read_rules(files, text, files.show(rules))


def _to_server(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = pick(entry, command="command", args="args", env="env", url="url",
                 headers="http_headers", disabledTools="disabled_tools",
                 timeoutSeconds="tool_timeout_sec")  # fmt: skip
    headers = as_table(found.get("headers"))
    for header, variable in as_table(entry.get("env_http_headers")).items():
        headers[header] = f"${{{variable}}}"
    if variable := entry.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    if headers:
        found["headers"] = headers
    if entry.get("enabled") is False:
        found["disabled"] = True
    return found


def _read_rules(files: ForeignFiles, text: str, place: str) -> Iterator[ForeignRule]:
    try:
        calls = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        files.findings.omit("rule", Path(place).name, place, "it is not a file of rules")
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for each in calls:
        line = lines[each.lineno - 1]
        rules = _read_rule(each)
        if rules is None:
            files.findings.omit("rule", line[:80], place, "it is no `prefix_rule` of plain texts")
            continue
        effect, patterns = rules
        if len(patterns) > _MAX_PATTERNS:
            reason = f"it is about over {_MAX_PATTERNS} commands"
            files.findings.omit("rule", line[:80], place, reason)
            continue
        for words in patterns:
            command = shlex.join(words)
            yield ForeignRule(effect, "Bash", f"{command}:*", f"{effect}: {command}", place)


def _read_rule(statement: ast.stmt) -> tuple[RuleEffect, list[tuple[str, ...]]] | None:
    """Return the effect and the commands of a rule; None if it is something else."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    try:
        fields = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    effect = _DECISIONS.get(str(fields.get("decision", "allow")))
    pattern: Any = fields.get("pattern")
    if call.func.id != "prefix_rule" or effect is None or not isinstance(pattern, list):
        return None
    choices = [as_list(each) or [each] for each in as_list(pattern)]
    if not choices or not all(isinstance(word, str) for each in choices for word in each):
        return None
    return effect, list(itertools.islice(itertools.product(*choices), _MAX_PATTERNS + 1))
