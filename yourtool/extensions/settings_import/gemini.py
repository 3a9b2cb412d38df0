"""The settings of Gemini CLI: https://geminicli.com/docs/reference/configuration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yourtool.extensions.settings_import.findings import (
    Findings,
    ForeignRule,
    TextFile,
    as_list,
    as_table,
)
from yourtool.extensions.settings_import.foreign_files import MAX_TEXT_BYTES, ForeignFiles
from yourtool.extensions.settings_import.foreign_hooks import add_hooks
from yourtool.extensions.settings_import.foreign_rules import split_rule
from yourtool.extensions.settings_import.foreign_servers import (
    add_server,
    iter_tables,
    omit_fields,
    pick,
)
from yourtool.permissions.rule_file import RuleEffect
from yourtool.settings.tables import is_table, parse_toml

_TAKEN = frozenset({
    "mcpServers", "hooks", "hooksConfig", "tools", "allowedTools", "excludeTools", "$schema",
})  # fmt: skip
_SERVER_FIELDS = frozenset({
    "command", "args", "env", "headers", "excludeTools", "httpUrl", "url", "type", "timeout",
})  # fmt: skip
_DECISIONS: Mapping[str, RuleEffect] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_SHELL = frozenset({"run_shell_command", "ShellTool"})
_MILLISECONDS = 1000
_MAX_TIMEOUT = 86_400 * _MILLISECONDS


def read_user(files: ForeignFiles) -> None:
    """Add the settings of the user."""
    folder = files.root / ".gemini"
    files.take_text("instructions", folder / "GEMINI.md", "AGENTS.md")
    files.take_skills(folder / "skills", "skills")
    _take_commands(files, folder / "commands", "commands")
    _read_folder(files, folder)


def read_project(files: ForeignFiles) -> None:
    """Add the settings of a project."""
    files.take_text("instructions", files.root / "GEMINI.md", "AGENTS.md")
    folder = files.root / ".gemini"
    files.take_skills(folder / "skills", ".yourtool/skills")
    _take_commands(files, folder / "commands", ".yourtool/commands")
    _read_folder(files, folder)


def _read_folder(files: ForeignFiles, folder: Path) -> None:
    findings, path = files.findings, folder / "settings.json"
    settings, place = files.read_json(path), files.show(path)
    for name, entry in iter_tables(findings, settings.get("mcpServers"), place):
        add_server(findings, name, _to_server(entry), place)
        omit_fields(findings, name, entry, _SERVER_FIELDS, place)
    _read_hooks(findings, settings, place)
    tools = as_table(settings.get("tools"))
    lists: tuple[tuple[RuleEffect, Any], ...] = (
        ("deny", tools.get("exclude")),
        ("deny", settings.get("excludeTools")),
        ("allow", tools.get("allowed")),
        ("allow", settings.get("allowedTools")),
    )
    for effect, texts in lists:
        for text in as_list(texts):
            if isinstance(text, str):
                findings.rules.append(_build_rule(effect, *split_rule(text), text, place))
    for name in sorted(settings.keys() - _TAKEN):
        findings.omit("setting", name, place, "settings of this kind are not taken over")
    for _, policy in files.iter_files(folder / "policies", ".toml"):
        _read_policy(files, policy)


def _read_hooks(findings: Findings, settings: Mapping[str, Any], place: str) -> None:
    """Add the hooks that are not switched off; older versions have the switches among them."""
    hooks = settings.get("hooks")
    switches = as_table(hooks) | as_table(settings.get("hooksConfig"))
    if switches.get("enabled") is False:
        findings.omit("hook", "hooks", place, "`enabled` switches them off")
        return
    names = as_list(switches.get("disabled"))
    if is_table(hooks):
        hooks = {
            event: [_without_disabled(findings, each, names, place) for each in as_list(groups)]
            for event, groups in hooks.items()
            if event != "disabled" and as_list(groups)
        }
    add_hooks(findings, hooks, place, in_milliseconds=True)


def _without_disabled(findings: Findings, group: Any, names: list[Any], place: str) -> Any:
    """Return a group of hooks without those that a list names, by their name or command."""
    if not is_table(group):
        return group
    kept = list[Any]()
    for each in as_list(group.get("hooks")):
        called = as_table(each).get("name"), as_table(each).get("command")
        if off := next((name for name in called if isinstance(name, str) and name in names), ""):
            findings.omit("hook", off, place, "`disabled` switches it off")
        else:
            kept.append(each)
    return {**group, "hooks": kept}


def _build_rule(
    effect: RuleEffect, tool: str, spec: str | None, text: str, place: str
) -> ForeignRule:
    if tool in _SHELL:
        return ForeignRule(effect, "Bash", None if spec is None else f"{spec}:*", text, place)
    return ForeignRule(effect, tool, spec, text, place)


def _to_server(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = pick(entry, command="command", args="args", env="env", headers="headers",
                 disabledTools="excludeTools", url="httpUrl")  # fmt: skip
    if "url" in entry and "url" not in found:
        found |= {"type": "sse" if entry.get("type") != "http" else "http", "url": entry["url"]}
    timeout = entry.get("timeout")
    if isinstance(timeout, int | float) and timeout > 0:
        found["timeoutSeconds"] = min(timeout, _MAX_TIMEOUT) / _MILLISECONDS
    return found


def _read_policy(files: ForeignFiles, path: Path) -> None:
    """Add the rules of a policy: https://geminicli.com/docs/reference/policy-engine."""
    place = files.show(path)
    for entry in as_list(files.read_toml(path).get("rule")):
        rule = as_table(entry)
        effect = _DECISIONS.get(str(rule.get("decision")))
        prefixes = rule.get("commandPrefix")
        is_plain = effect is not None and rule.keys() <= {
            "toolName", "decision", "commandPrefix", "priority"
        }  # fmt: skip
        if effect is None or not is_plain or not isinstance(rule.get("toolName"), str):
            files.findings.omit(
                "rule", str(rule)[:80], place, "it has conditions that rules here do not have"
            )
            continue
        for prefix in as_list(prefixes) or [prefixes]:
            tool = rule["toolName"]
            spec = None if prefix is None else str(prefix)
            text = f"{effect}: {tool}" + (f"({spec})" if spec else "")
            files.findings.rules.append(_build_rule(effect, tool, spec, text, place))


def _take_commands(files: ForeignFiles, folder: Path, target: str) -> None:
    """Add commands, files of TOML with `prompt` and `description`, as Markdown."""
    for name, path in files.iter_files(folder, ".toml"):
        text, place = files.read_text(path, "command", MAX_TEXT_BYTES), files.show(path)
        if text is None:
            continue
        try:
            fields = parse_toml(text)
        except ValueError as error:
            files.findings.omit("command", name, place, f"it is not TOML: {error}")
            continue
        prompt = fields.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            files.findings.omit("command", name, place, "it has no `prompt`")
            continue
        if "!{" in prompt:
            files.findings.omit(
                "setting", f"{name}: !{{…}}", place, "its shell commands are text here, not run"
            )
        body = prompt.replace("{{args}}", "$ARGUMENTS")
        about = " ".join(str(fields.get("description", "")).split()).replace('"', "'")
        front = f'---\ndescription: "{about}"\n---\n' if about and "\\" not in about else ""
        plain = name.removesuffix(".toml")
        content = f"{front}{body.strip()}\n".encode()
        files.findings.texts.append(
            TextFile("command", plain, f"{target}/{plain}.md", content, place)
        )
