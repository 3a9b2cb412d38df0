"""Command `/permissions`.

It shows the rules of the files and of the session; one key takes each of them back.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    ChoiceAction,
    Choose,
    CommandResults,
    Report,
    Section,
    SlashCommand,
)
from yourtool.agent.commands.permissions.permission_list import Permission, PermissionLister
from yourtool.agent.history.stored_decisions import find_last_uses
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.errors import ConfigError
from yourtool.events.deltas import Notice
from yourtool.permissions.gate import Gate
from yourtool.permissions.grants import Grants, Removal, remove_entry, undo_removal
from yourtool.permissions.rule_file import RuleEntry
from yourtool.permissions.rules import Rule, RuleSource
from yourtool.permissions.trust import CONTAINED_COMMANDS
from yourtool.store.base import SessionStore

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


class _PermissionList:
    """Shows the rules, and shows them again after a change."""

    def __init__(
        self, gate: Gate, grants: Grants, trust: ProjectTrust, store: SessionStore
    ) -> None:
        self._gate, self._grants, self._trust, self._store = gate, grants, trust, store
        self._rows: dict[str, tuple[Permission, RuleEntry | None]] = {}
        self._removed: list[Removal | Rule | Path] = []
        """An answer about commands is shown as its folder."""

    async def show(self, _value: str = "") -> CommandResults:
        """Let the user look at the rules, and take them back."""
        uses = await find_last_uses(self._store)
        lister = PermissionLister(self._grants.kinds, uses)
        for problem in await asyncio.to_thread(self._read, lister):
            yield Notice(level="warning", text=problem)
        if not self._rows and not self._removed:
            text = "There are no rules yet. An approval prompt adds one with “always”."
            yield Notice(level="info", text=text)
            return
        actions = [ChoiceAction("ctrl+d", "Ctrl+D take back", self._take_back)]
        if self._removed:
            actions.append(ChoiceAction("ctrl+r", "Ctrl+R restore", self._restore))
        yield Choose(
            "Permissions",
            tuple(_build_choice(value, row) for value, (row, _) in self._rows.items()),
            then=self._describe,
            actions=tuple(actions),
            preview=self._preview,
        )

    def _read(self, lister: PermissionLister) -> list[str]:
        """Read the rules of the files and the session; return the mistakes."""
        grants = self._grants
        files = grants.read(), grants.read_project()
        found: list[tuple[Permission, RuleEntry | None]] = [
            (permission, entry)
            for file in files
            for permission, entry in zip(
                lister.of_file(file, grants.workspace), file.entries, strict=True
            )
        ]
        rules = self._gate.policy.rules
        found += [(each, None) for each in lister.of_session(rules, grants.workspace)]
        problems = [str(problem) for file in files for problem in file.problems]
        try:
            found += [(each, None) for each in lister.of_folders(self._trust.store)]
        except ConfigError as error:
            problems.append(str(error))
        self._rows = {str(at): row for at, row in enumerate(found)}
        return problems

    async def _preview(self, value: str) -> tuple[tuple[str, str], ...]:
        return self._rows[value][0].facts

    async def _describe(self, value: str) -> CommandResults:
        row = self._rows[value][0]
        yield Report("Permission", (Section(f"{row.effect} {row.rule}", row.facts),))

    async def _take_back(self, value: str) -> CommandResults:
        """Remove a rule, with a key to restore it."""
        if value:
            permission, entry = self._rows[value]
            try:
                yield await asyncio.to_thread(self._remove, permission, entry)
            except ConfigError as error:
                yield Notice(level="error", text=str(error))
        async for result in self.show():
            yield result

    def _remove(self, permission: Permission, entry: RuleEntry | None) -> Notice:
        rule = f"`{permission.effect} {permission.rule}`"
        match permission.source:
            case RuleSource.OPTION:
                text = f"{rule} is from the command line of this run; it ends with it."
                return Notice(level="warning", text=text)
            case RuleSource.SETTINGS:
                text = f"{rule} ends with {permission.origin}: `yourtool config check`."
                return Notice(level="warning", text=text)
            case RuleSource.PROJECT:
                text = f"{rule} belongs to the project: edit {permission.origin}."
                return Notice(level="warning", text=text)
            case RuleSource.SESSION:
                granted = Rule.parse(permission.rule, source=RuleSource.SESSION)
                self._gate.forget(granted)
                self._removed.append(granted)
            case RuleSource.USER if entry is not None:
                grants = self._grants
                self._removed.append(remove_entry(grants.file, entry, grants.kinds))
                self._gate.reload()
            case RuleSource.USER:
                folder = Path(permission.workspace or "")
                self._trust.store.forget_contained(folder)
                self._removed.append(folder)
                self._trust.examine().apply_to(self._gate)
        return Notice(level="info", text=f"Took back {rule}.")

    async def _restore(self, _value: str) -> CommandResults:
        """Put the rule that was removed last back."""
        removed = self._removed.pop()
        try:
            yield await asyncio.to_thread(self._put_back, removed)
        except ConfigError as error:
            yield Notice(level="error", text=str(error))
        async for result in self.show():
            yield result

    def _put_back(self, removed: Removal | Rule | Path) -> Notice:
        if isinstance(removed, Path):
            self._trust.store.allow_contained(removed)
            self._trust.examine().apply_to(self._gate)
            return Notice(level="info", text=f"Restored `allow {CONTAINED_COMMANDS}`.")
        if isinstance(removed, Rule):
            self._gate.grant([str(removed)], always=False)
            return Notice(level="info", text=f"Restored `allow {removed}`.")
        undo_removal(self._grants.file, removed, self._grants.kinds)
        self._gate.reload()
        text = f"Restored `{removed.entry.effect} {removed.entry.rule}`."
        return Notice(level="info", text=text)


async def show_permissions(
    session: "Session", runtime: "Runtime", _argument: str
) -> CommandResults:
    """`/permissions`: list the rules, and take them back."""
    if (grants := session.gate.grants) is None:
        yield Notice(level="info", text="This session stores no rules.")
        return
    shown = _PermissionList(session.gate, grants, session.trust, runtime.store)
    async for result in shown.show():
        yield result


def _build_choice(value: str, row: Permission) -> Choice:
    where = row.workspace or "every workspace"
    used = next(text for label, text in row.facts if label == "last used")
    return Choice(
        value,
        f"{row.effect} {row.rule}",
        f"{where} · {row.origin} · last used: {used}",
        keywords=" ".join(row.covers),
    )


COMMANDS = (
    SlashCommand(
        name="permissions",
        run=show_permissions,
        summary="list the rules, and take them back",
        aliases=("approvals", "allowed-tools"),
    ),
)
