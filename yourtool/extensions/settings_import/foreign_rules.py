"""Translation of foreign permission rules.

An allow rule is taken over if the answer "always" to an approval could have added it: not for
interpreters, wrappers and what deletes files, not for a whole program, tool, server or for all
files, and never from a project.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from yourtool.effects import SubjectKind
from yourtool.errors import UsageError
from yourtool.extensions.settings_import.findings import ForeignRule
from yourtool.permissions.credential_files import is_credential_file
from yourtool.permissions.rule_file import RuleEffect
from yourtool.permissions.rules import SERVER_PREFIX, Rule, find_server
from yourtool.permissions.shell.destruction import find_destructions
from yourtool.permissions.shell.lines.plain import quote_plain
from yourtool.permissions.shell.lines.syntax import Word
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.proposals import propose_specs
from yourtool.permissions.shell.specs import parse_spec
from yourtool.tools.aliases import find_own_names

_FILE_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Edit": ("edit_file", "write_file"),
    "MultiEdit": ("edit_file", "write_file"),
    "Write": ("write_file", "edit_file"),
}
"""Rules for one tool that edits are about all of them: https://code.claude.com/docs/en/permissions"""
_FREE = frozenset({"read_file", "list_dir", "glob", "grep", "update_plan"})
"""Tools that need no rule in the workspace."""
_ALLOWABLE = frozenset({"shell", "edit_file", "write_file", "fetch_url"})
"""Our tools for which rules of others can allow something."""
_WILD = frozenset("*?[{")


class RefusedRuleError(Exception):
    """A rule that is not taken over; the message is a clause."""


class RuleTranslator:
    """Translates the rules for one scope."""

    def __init__(self, kinds: Mapping[str, SubjectKind], root: Path, *, is_project: bool) -> None:
        """`kinds`: as for `Rule.parse`. `root`: a workspace, for what commands only read."""
        self._kinds = kinds
        self._place = Place(root, root)
        self._is_project = is_project

    def translate(self, foreign: ForeignRule) -> tuple[Rule, ...]:
        """Return our rules for a foreign one.

        Raises:
            RefusedRuleError: there is no such rule here, or it would allow more than ours.
        """
        if foreign.effect == "allow" and self._is_project:
            raise RefusedRuleError("a file of a project allows nothing here")
        tools = _find_tools(foreign.tool)
        if not tools:
            raise RefusedRuleError(f"there is no tool `{foreign.tool}` here")
        spec = self._find_spec(tools[0], foreign)
        try:
            rules = tuple(self._build(tool, spec) for tool in tools)
        except UsageError as error:
            raise RefusedRuleError(str(error)) from error
        if foreign.effect == "allow":
            self._require_narrow(tools[0], spec)
        return rules

    def _build(self, tool: str, spec: str | None) -> Rule:
        return Rule.parse(tool if spec is None else f"{tool}({spec})", self._kinds)

    def _find_spec(self, tool: str, foreign: ForeignRule) -> str | None:
        spec = foreign.spec
        if spec is None or spec.strip() in ("", "*", "**", ":*"):
            return None
        spec = spec.strip()
        match self._kinds.get(tool):
            case "command":
                return _to_command_spec(spec)
            case "host":
                return spec.removeprefix("domain:")
            case "path":
                return _to_path_spec(spec)
            case _:
                raise RefusedRuleError(f"a rule here is about all calls of `{tool}`")

    def _require_narrow(self, tool: str, spec: str | None) -> None:
        """Raise `RefusedRuleError` if an allow rule is wider than what an approval can add."""
        if tool.startswith(SERVER_PREFIX):
            if find_server(tool) is None:
                raise RefusedRuleError("it would allow all tools of a server, also later ones")
            return
        if tool in _FREE:
            raise RefusedRuleError("reading in the workspace needs no rule, except credentials")
        if tool not in _ALLOWABLE:
            raise RefusedRuleError(f"no rule of others allows `{tool}` here")
        if spec is None:
            raise RefusedRuleError(f"it would allow every call of `{tool}`")
        match self._kinds.get(tool):
            case "command":
                self._require_narrow_command(spec)
            case "path":
                first = spec.partition("/")[0]
                if _WILD & set(first):
                    raise RefusedRuleError("it would allow changes of files in every directory")
                if is_credential_file(spec):
                    raise RefusedRuleError("it would allow changes of files with credentials")
            case "host" if spec.startswith("*"):
                raise RefusedRuleError("it would allow every host of a domain")
            case _:
                pass

    def _require_narrow_command(self, spec: str) -> None:
        parsed = parse_spec(spec)
        if parsed is None:
            raise RefusedRuleError("it is not a command of plain words")
        line = quote_plain([Word(each) for each in parsed.words])
        proposal = propose_specs(line, (), self._place, is_trusted=True)
        if not proposal.specs and proposal.note:
            raise RefusedRuleError(proposal.note)
        if parsed.variables:
            raise RefusedRuleError("it sets variables")
        if find_destructions(f"{line} x", {}):
            raise RefusedRuleError(f"`{parsed.words[0]}` deletes or replaces files")
        if proposal.specs and parsed.is_open and len(parsed.words) == 1:
            raise RefusedRuleError(f"it would allow every use of `{parsed.words[0]}`")


def _find_tools(name: str) -> tuple[str, ...]:
    if name.startswith(SERVER_PREFIX):
        return (name.removesuffix("__*"),)
    return _FILE_TOOLS.get(name) or find_own_names(name)[:1]


def _to_command_spec(spec: str) -> str:
    """Return a pattern of commands as ours, where `*` means further arguments."""
    for ending in (":*", " *", "*"):
        if spec.endswith(ending):
            spec = f"{spec.removesuffix(ending).rstrip()}*"
            break
    if "*" in spec[:-1]:
        raise RefusedRuleError("only the end of a command can be open here")
    return spec


def _to_path_spec(spec: str) -> str:
    """Return a pattern of paths as ours, relative to the workspace."""
    if spec.startswith(("//", "~", "/")):
        raise RefusedRuleError("paths of rules are relative to the workspace here")
    spec = spec.removeprefix("./")
    if ".." in spec.split("/"):
        raise RefusedRuleError("it leads out of the workspace")
    return spec


def split_rule(text: str) -> tuple[str, str | None]:
    """Return the tool and the spec of a rule such as `Bash(git status:*)`."""
    tool, bracket, rest = text.strip().partition("(")
    return tool.strip(), rest.removesuffix(")") if bracket else None


def build_rules(effect: RuleEffect, texts: Sequence[str], place: str) -> list[ForeignRule]:
    """Return rules in the syntax of Claude Code."""
    return [ForeignRule(effect, *split_rule(text), text, place) for text in texts]
