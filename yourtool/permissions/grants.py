"""Stored permissions: `permissions.toml`, outside every workspace.

    schema_version = 1
    deny = ["shell(git push*)"]           # in every workspace
    [[workspace]]
    path = "/home/me/project"             # the real path; tables with the same path are merged
    allow = ["shell(make test)", "edit_file(src/**)"]

An invalid file grants nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.effects import SubjectKind
from yourtool.errors import ConfigError, UsageError
from yourtool.files import replace_file
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.tables import parse_toml

SCHEMA_VERSION = 1


class _RuleLists(Struct, frozen=True, forbid_unknown_fields=True):
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def rules(self, kinds: Mapping[str, SubjectKind]) -> RuleSet:
        return RuleSet(
            tuple(Rule.parse(text, kinds) for text in self.allow),
            tuple(Rule.parse(text, kinds) for text in self.ask),
            tuple(Rule.parse(text, kinds) for text in self.deny),
        )


class _Workspace(_RuleLists, frozen=True, kw_only=True):
    path: str


class _File(_RuleLists, frozen=True):
    schema_version: int = SCHEMA_VERSION
    workspace: tuple[_Workspace, ...] = ()


class Grants:
    """The permissions of one workspace."""

    def __init__(self, file: Path, workspace: Path, kinds: Mapping[str, SubjectKind]) -> None:
        """`kinds`: as for `Rule.parse`."""
        self.file = file
        self.kinds = kinds
        self._workspace = str(workspace.resolve())

    def load(self) -> RuleSet:
        """Return the active rules; none if the file does not exist.

        Raises:
            ConfigError: the file is invalid. Continue without grants, and show the message.
        """
        return self._parse(self._text())

    def add(self, rule: Rule) -> None:
        """Append an allow rule for this workspace; the existing text of the file is preserved.

        Raises:
            ConfigError: the file is invalid or cannot be written.
        """
        text = self._text()
        if rule in self._parse(text).allow:
            return
        if not text:
            text = f"schema_version = {SCHEMA_VERSION}\n"
        text += (
            f"\n[[workspace]]\npath = {_quote(self._workspace)}\nallow = [{_quote(str(rule))}]\n"
        )
        if rule not in self._parse(text).allow:
            raise self._invalid_file_error(f"`{rule}` could not be stored in it")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self.file, text.encode())
        except OSError as error:
            raise ConfigError(
                f"the permission could not be stored in `{self.file}`: {error.strerror}"
            ) from error

    def _text(self) -> str:
        try:
            return self.file.read_text("utf-8-sig")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._invalid_file_error(str(error)) from error

    def _parse(self, text: str) -> RuleSet:
        try:
            file = msgspec.convert(parse_toml(text), _File)
            rules = file.rules(self.kinds)
            for part in file.workspace:
                if part.path == self._workspace:
                    rules |= part.rules(self.kinds)
        except (ValueError, UsageError) as error:
            raise self._invalid_file_error(str(error)) from error
        if file.schema_version != SCHEMA_VERSION:
            raise self._invalid_file_error(f"its `schema_version` is {file.schema_version}, not 1")
        return rules

    def _invalid_file_error(self, reason: str) -> ConfigError:
        return ConfigError(
            f"`{self.file}` grants nothing, because it is invalid: {reason}."
            " Correct it or delete it."
        )


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()
