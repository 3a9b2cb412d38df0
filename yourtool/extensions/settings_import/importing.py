"""Import of foreign settings with a report.

The settings of other agents are read, and the settings that they allow are added to ours.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from yourtool.effects import SubjectKind
from yourtool.extensions.settings_import import claude, codex, gemini, opencode
from yourtool.extensions.settings_import.findings import Findings, ForeignRule, Kind, Omission
from yourtool.extensions.settings_import.foreign_files import ForeignFiles
from yourtool.extensions.settings_import.foreign_rules import RefusedRuleError, RuleTranslator
from yourtool.extensions.settings_import.targets import (
    RefusedChangeError,
    Targets,
    open_project_targets,
    open_user_targets,
)
from yourtool.foundation.files import expand_home, real_path
from yourtool.foundation.masking import MASK
from yourtool.paths import Paths
from yourtool.permissions.trust import find_folder
from yourtool.process.environment import is_secret

Peer: TypeAlias = Literal["claude", "codex", "gemini", "opencode"]
PEERS: Mapping[Peer, str] = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
}


class Item(Struct, frozen=True):
    """A line of the report."""

    peer: Peer
    scope: Literal["user", "project"]
    kind: Kind
    name: str
    place: str
    """The file of the other agent."""
    reason: str = ""
    """Why it is not taken over."""


class Report(Struct, frozen=True):
    """What an import did, or would do."""

    taken: tuple[Item, ...]
    present: tuple[Item, ...]
    """What we have already, or read where it is."""
    left_out: tuple[Item, ...]
    files: tuple[Path, ...]
    """Our files that changed, or would."""


class Importer:
    """Takes over settings in three steps: read them, compute our files, write those."""

    def __init__(
        self,
        paths: Paths,
        workspace: Path,
        kinds: Mapping[str, SubjectKind],
        environ: Mapping[str, str],
    ) -> None:
        """`kinds`: the kinds of subject of our tools. `environ`: names directories of others."""
        self._paths = paths
        self._home = expand_home(Path("~"))
        self._project = find_folder(workspace)
        self._kinds = kinds
        self._environ = environ
        self._taken = list[Item]()
        self._present = list[Item]()
        self._left_out = list[Item]()

    def run(self, peers: Sequence[Peer], *, dry_run: bool) -> Report:
        """Take over the settings of other agents; blocks.

        Raises:
            ConfigError: a file of ours cannot be written.
        """
        user = open_user_targets(self._paths.home, self._kinds)
        project = open_project_targets(self._project, self._kinds)
        for peer in peers:
            self._add(peer, self._read_user(peer), user)
            if self._has_project():
                self._add(peer, self._read_project(peer), project)
        files = (*user.contents, *project.contents)
        if not dry_run:
            user.write()
            project.write()
        return Report(tuple(self._taken), tuple(self._present), tuple(self._left_out), files)

    def _has_project(self) -> bool:
        """Whether the folder is a project: the home directory has the files of the user."""
        own = (self._home, self._paths.home, self._paths.home.parent)
        return self._project not in {real_path(each) for each in own}

    def _read_user(self, peer: Peer) -> Findings:
        files = ForeignFiles(Findings(peer, is_project=False), self._home, self._home)
        shares_skills = self._paths.home == self._home / ".yourtool"
        match peer:
            case "claude":
                claude.read_user(files, self._environ, shares_skills=shares_skills)
            case "codex":
                codex.read_user(files, self._environ)
            case "gemini":
                gemini.read_user(files)
            case "opencode":
                opencode.read_user(files, self._environ)
        return files.findings

    def _read_project(self, peer: Peer) -> Findings:
        files = ForeignFiles(Findings(peer, is_project=True), self._project, self._home)
        readers: Mapping[Peer, Callable[[ForeignFiles], None]] = {
            "claude": claude.read_project,
            "codex": codex.read_project,
            "gemini": gemini.read_project,
            "opencode": opencode.read_project,
        }
        readers[peer](files)
        return files.findings

    def _add(self, peer: Peer, found: Findings, targets: Targets) -> None:
        scope = "project" if found.is_project else "user"
        build = partial(_build_item, peer, scope)
        for kind, place in found.used_already:
            self._present.append(build(kind, place, place))
        for omission in found.omissions:
            self._leave_out(build, omission)
        for text in found.texts:
            item = build(text.kind, text.name, text.place)
            self._store(item, partial(targets.add_text, text))
        for server in found.servers:
            item = build("server", server.name, server.place)
            self._store(item, partial(targets.add_server, server))
        for hook in found.hooks:
            name = f"{hook.hook.event} {hook.hook.matcher}".strip()
            item = build("hook", f"{name}: {_hide_keys(hook.hook.command)}", hook.place)
            self._store(item, partial(targets.add_hook, hook))
        translator = RuleTranslator(self._kinds, self._project, is_project=found.is_project)
        for rule in sorted(found.rules, key=lambda each: each.effect != "deny"):
            self._add_rule(rule, translator, targets, build)  # denials first: there is a limit

    def _add_rule(
        self,
        foreign: ForeignRule,
        translator: RuleTranslator,
        targets: Targets,
        build: Callable[..., Item],
    ) -> None:
        shown = _hide_keys(foreign.text)
        try:
            rules = translator.translate(foreign)
        except RefusedRuleError as error:
            self._left_out.append(
                build("rule", f"{foreign.effect} {shown}", foreign.place, str(error))
            )
            return
        for rule in rules:
            item = build("rule", f"{foreign.effect} {_hide_keys(str(rule))}", foreign.place)
            self._store(item, partial(targets.add_rule, foreign.effect, rule, foreign.place))

    def _store(self, item: Item, add: Callable[[], bool]) -> None:
        try:
            (self._taken if add() else self._present).append(item)
        except RefusedChangeError as error:
            self._left_out.append(
                Item(item.peer, item.scope, item.kind, item.name, item.place, str(error))
            )

    def _leave_out(self, build: Callable[..., Item], omission: Omission) -> None:
        name = _hide_keys(omission.name)
        self._left_out.append(build(omission.kind, name, omission.place, omission.reason))


def _build_item(
    peer: Peer,
    scope: Literal["user", "project"],
    kind: Kind,
    name: str,
    place: str,
    reason: str = "",
) -> Item:
    return Item(peer, scope, kind, name, place, reason)


def _hide_keys(text: str) -> str:
    """Return a text for the report, without words that look like keys."""
    return " ".join(map(_hide_key, text.split(" ")))


def _hide_key(word: str) -> str:
    name, equals, value = word.partition("=")
    bare = value.strip("\"'") if equals else word.strip("\"'")
    if is_secret(name.lstrip("-") if equals else "", bare):
        return f"{name}={MASK}" if equals else MASK
    return word
