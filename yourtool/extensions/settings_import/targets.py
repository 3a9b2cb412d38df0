"""Changes to our settings files.

Findings are added, nothing that exists is changed, and every file is checked. All contents are
computed before the first file is written, and each file is replaced atomically, so a mistake leaves
every file as it was. New files can be read by their owner only.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourtool.agent.session.project.project_files import MAX_BYTES
from yourtool.effects import SubjectKind
from yourtool.errors import ConfigError
from yourtool.extensions.settings_import.findings import Hook, Server, TextFile
from yourtool.foundation.files import read_small_file, real_path, replace_file
from yourtool.permissions.grants import FILE_NAME as RULES_FILE
from yourtool.permissions.rule_file import (
    RuleEffect,
    RuleEntry,
    iter_lines,
    parse_rule_file,
)
from yourtool.permissions.rules import Rule, RuleSource
from yourtool.settings.hook_config import HookConfig
from yourtool.settings.problems import Problem
from yourtool.settings.tables import is_table, parse_toml

_MAX_NEW_RULES = 200
"""The whole file is checked with each new rule."""
_LIST = r"^[ \t]*{}[ \t]*=[ \t]*\["


class RefusedChangeError(Exception):
    """A change that our file cannot take; the message is a clause."""


class Targets(Struct):
    """Our files for one scope as they are to be after the import."""

    root: Path
    """The directory of the user's settings, or the project."""
    config: Path
    rules: Path
    servers: Path
    is_project: bool
    kinds: Mapping[str, SubjectKind]
    contents: dict[Path, bytes] = msgspec.field(default_factory=dict[Path, bytes])
    """What will be written."""
    instructions: set[Path] = msgspec.field(default_factory=set[Path])
    """Files of instructions that this import makes."""
    _rules: tuple[str, set[tuple[str, str]]] | None = None
    """The text of our file of rules, and its rules."""
    _added_rules: int = 0

    def add_text(self, file: TextFile) -> bool:
        """Add a file, and return whether it is new.

        Raises:
            RefusedChangeError: there is another one of its name.
        """
        path = self._locate(self.root / file.target)
        present = self._read(path, limit=2**20)
        if file.kind != "instructions":
            if present is not None and present != file.content:
                raise RefusedChangeError(f"there is another `{path.name}` in its place")
            self._change(path, file.content)
            return present is None
        if present is not None and file.content.strip() in present:
            return False
        if present is not None and path not in self.instructions:
            raise RefusedChangeError(f"there is a `{path.name}`, which stays as it is")
        content = (present + b"\n" if present else b"") + file.content.strip() + b"\n"
        if len(content) > MAX_BYTES:
            raise RefusedChangeError(f"`{path.name}` would be larger than {MAX_BYTES // 1024} KiB")
        self.instructions.add(path)
        self._change(path, content)
        return True

    def add_hook(self, hook: Hook) -> bool:
        """Append a hook to the settings, and return whether it is new.

        Raises:
            RefusedChangeError: the file cannot be extended.
        """
        path = self._locate(self.config)
        text = self._read_text(path)
        try:
            before = parse_toml(text)
        except ValueError as error:
            raise RefusedChangeError(f"`{path}` is not TOML: {error}") from error
        hooks: list[Any] = before.get("hooks", [])
        if any(_is_same(each, hook.hook) for each in hooks):
            return False
        fields = {name: value for name, value in msgspec.to_builtins(hook.hook).items() if value}
        lines = [f"# from {_comment(hook.place)}", "[[hooks]]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        extended = _append(text, lines)
        try:
            after = parse_toml(extended)
        except ValueError as error:
            raise RefusedChangeError(f"`hooks` in `{path}` is a list; use `[[hooks]]`") from error
        if after != {**before, "hooks": [*hooks, fields]}:
            raise RefusedChangeError(f"`{path}` has an unusual form; add it yourself")
        self._change(path, extended.encode())
        return True

    def add_server(self, server: Server) -> bool:
        """Add an MCP server, and return whether it is new.

        Raises:
            RefusedChangeError: there is another one of its name, or the file is not valid.
        """
        path = self._locate(self.servers)
        text = self._read_text(path)
        try:
            document: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            raise RefusedChangeError(f"`{path}` is not JSON: {error}") from error
        servers: Any = document.get("mcpServers", {}) if is_table(document) else None
        if not is_table(document) or not is_table(servers):
            raise RefusedChangeError(f"`{path}` has no object `mcpServers`")
        if server.name in servers:
            if servers[server.name] == server.entry:
                return False
            raise RefusedChangeError(f"`{path.name}` has another server `{server.name}`")
        changed = {**document, "mcpServers": {**servers, server.name: dict(server.entry)}}
        encoded = json.dumps(changed, indent=2, ensure_ascii=False) + "\n"
        self._change(path, encoded.encode("utf-8", "surrogatepass"))
        return True

    def add_rule(self, effect: RuleEffect, rule: Rule, place: str) -> bool:
        """Add a permission rule, and return whether it is new.

        Raises:
            RefusedChangeError: the file has mistakes.
        """
        path = self._locate(self.rules)
        text = self._read_text(path)
        source = RuleSource.PROJECT if self.is_project else RuleSource.USER
        present = self._find_rules(path, text, source)
        if (effect, str(rule)) in present:
            return False
        if self._added_rules >= _MAX_NEW_RULES:
            raise RefusedChangeError(
                f"over {_MAX_NEW_RULES} rules are new; run the command again, which adds others"
            )
        head = re.compile(_LIST.format(effect), re.MULTILINE).search(text)
        if head is not None:
            quoted = json.dumps(str(rule), ensure_ascii=False)
            extended = f"{text[: head.end()]}{quoted}, {text[head.end() :]}"
        else:
            entry = RuleEntry(effect=effect, rule=rule)
            extended = _append(text, [f"# from {_comment(place)}", *iter_lines(entry)])
        after = parse_rule_file(path, extended, self.kinds, source)
        added = {(each.effect, str(each.rule)) for each in after.entries if not each.workspace}
        if after.problems or added != present | {(effect, str(rule))}:
            raise RefusedChangeError(f"`{path.name}` has an unusual form; add it yourself")
        self._change(path, extended.encode())
        self._rules, self._added_rules = (extended, added), self._added_rules + 1
        return True

    def _find_rules(self, path: Path, text: str, source: RuleSource) -> set[tuple[str, str]]:
        """Return the rules of our file, which is parsed again only if it changed."""
        if self._rules is not None and self._rules[0] == text:
            return self._rules[1]
        before = parse_rule_file(path, text, self.kinds, source)
        if before.problems:
            raise RefusedChangeError(f"`{path.name}` has mistakes: {_shorten(before.problems[0])}")
        found = {(each.effect, str(each.rule)) for each in before.entries if not each.workspace}
        self._rules = (text, {*found})
        return self._rules[1]

    def write(self) -> tuple[Path, ...]:
        """Write all changed files, and return them.

        Raises:
            ConfigError: a file cannot be written.
        """
        written = list[Path]()
        for path, content in self.contents.items():
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_file(path, content)
            except OSError as error:
                done = f"; written were {', '.join(map(str, written))}" if written else ""
                raise ConfigError(
                    f"`{path}` cannot be written: {error.strerror}{done}; correct it, and run the"
                    " command again, which adds only what is missing"
                ) from error
            written.append(path)
        return tuple(written)

    def _change(self, path: Path, content: bytes) -> None:
        if self._read(path) != content:
            self.contents[path] = content

    def _locate(self, path: Path) -> Path:
        """Return the real path of a file of ours.

        Raises:
            RefusedChangeError: a link leads out of its directory.
        """
        real, root = real_path(path), real_path(self.root)
        if not real.is_relative_to(root) and self.is_project:
            raise RefusedChangeError(f"`{path.relative_to(self.root)}` leads out of the project")
        return real

    def _read(self, path: Path, limit: int = 2**22) -> bytes | None:
        if path in self.contents:
            return self.contents[path]
        try:
            return read_small_file(path, limit)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RefusedChangeError(f"`{path}` cannot be read: {error.strerror}") from error

    def _read_text(self, path: Path) -> str:
        try:
            return (self._read(path) or b"").decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RefusedChangeError(f"`{path}` is not UTF-8") from error


def open_user_targets(home: Path, kinds: Mapping[str, SubjectKind]) -> Targets:
    """Return the files of the user."""
    return Targets(home, home / "config.toml", home / RULES_FILE, home / "mcp.json", False, kinds)


def open_project_targets(root: Path, kinds: Mapping[str, SubjectKind]) -> Targets:
    """Return the files of a project."""
    own = root / ".yourtool"
    return Targets(root, own / "config.toml", own / RULES_FILE, root / ".mcp.json", True, kinds)


def _append(text: str, lines: list[str]) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + "".join(f"{line}\n" for line in lines)


def _comment(place: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in place)


def _is_same(table: Any, hook: HookConfig) -> bool:
    if not is_table(table):
        return False
    names = ("event", "command", "matcher")
    return all(table.get(each, "") == getattr(hook, each) for each in names)


def _shorten(problem: Problem) -> str:
    return problem.message.partition("\n")[0]
