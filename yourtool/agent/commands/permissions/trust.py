"""Command `/trust`.

The user allows or forbids the files of the folder to configure the program.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    Report,
    Section,
    SettingChanged,
    SlashCommand,
)
from yourtool.agent.session.project.project_trust import FolderTrust
from yourtool.events.deltas import Notice
from yourtool.foundation.text import escape
from yourtool.permissions.trust import Trust

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

_TRUST, _DECLINE = "/trust", "/decline"
"""Values that are no name of a file in the folder."""
_NO_FILES = "No file in it configures yourtool now."


async def choose_trust(session: "Session", runtime: "Runtime", _argument: str) -> CommandResults:
    """`/trust`: show the files that would configure, and change the answer about them."""
    if not session.trust.asks:
        text = "The demo works in a copy of the folder, and uses none of its files."
        yield Notice(level="info", text=text)
        return
    found = await asyncio.to_thread(session.trust.examine_all)
    count = len(found.all_files)
    effect = f"{count} {'file' if count == 1 else 'files'} of it would configure yourtool."
    yield Choose(
        f"Trust {found.folder}?",
        (
            Choice(_TRUST, "Trust the folder", effect if count else _NO_FILES),
            Choice(_DECLINE, "Do not trust it", "Its files are ignored."),
            *(_list_file(each.name, found.describe(each)) for each in found.files_by_importance),
        ),
        then=partial(_continue, session, runtime, found),
        current=_TRUST if found.status is Trust.TRUSTED else _DECLINE,
        columns=("size and use",),
    )


def _list_file(name: str, about: str) -> Choice:
    return Choice(name, name, f"{about}. Enter shows its text.", (about,), group="Its files")


async def _continue(
    session: "Session", runtime: "Runtime", shown: FolderTrust, choice: str
) -> CommandResults:
    """Store an answer, or show a file."""
    if choice in (_TRUST, _DECLINE):
        async for result in _store_answer(session, shown, choice):
            yield result
        for notice in await runtime.tool_servers.renew(session.workspace):
            yield notice
    for each in shown.all_files:
        if each.name == choice:
            rows = (("", escape(each.text)),)
            yield Report(each.name, (Section(shown.describe(each), rows),))


async def _store_answer(session: "Session", shown: FolderTrust, choice: str) -> CommandResults:
    is_trusted = choice == _TRUST
    folder = await asyncio.to_thread(session.trust.answer, shown, trusted=is_trusted)
    effect = "used from the next message on" if is_trusted else "not used"
    names = ", ".join(f"`{each.name}`" for each in shown.all_files)
    verb = "Trusted" if is_trusted else "Not trusted:"
    yield Notice(level="info", text=f"{verb} {folder}." + f" {names}: {effect}." * bool(names))
    yield SettingChanged("trust")


COMMANDS = (
    SlashCommand(
        name="trust",
        run=choose_trust,
        summary="show which files of the folder configure yourtool, and trust the folder or not",
    ),
)
