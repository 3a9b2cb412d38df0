"""`/mode`: the approval mode of the session."""

from functools import partial
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    Choice,
    Choose,
    CommandResults,
    EnterText,
    SettingChanged,
    SlashCommand,
)
from yourtool.errors import UsageError
from yourtool.settings.config import Mode

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

MODE_DESCRIPTIONS = {
    Mode.ASK: "ask before changes and commands",
    Mode.ACCEPT_EDITS: "edit files without asking, ask before the rest",
    Mode.PLAN: "read only",
    Mode.AUTO: "never ask",
}

_CYCLE = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)


def next_mode(mode: Mode) -> Mode:
    """Return the next mode of the cycle; `auto` is not part of it, and `ask` follows it."""
    return _CYCLE[(_CYCLE.index(mode) + 1) % len(_CYCLE)] if mode in _CYCLE else Mode.ASK


async def choose_mode(session: "Session", runtime: "Runtime", argument: str) -> CommandResults:
    """`/mode`: set the approval mode, or choose one from a list; `auto` must be confirmed."""
    names = [mode.value for mode in Mode]
    if not argument:
        yield Choose(
            "Approval mode",
            tuple(Choice(mode.value, mode.value, MODE_DESCRIPTIONS[mode]) for mode in Mode),
            then=partial(choose_mode, session, runtime),
            current=session.mode.value,
        )
    elif argument not in names:
        raise UsageError(f"Unknown mode `{argument}`; choose one of {', '.join(names)}.")
    elif argument == Mode.AUTO.value and session.mode is not Mode.AUTO:
        yield EnterText(
            "Disable approvals?",
            "In this mode all tools run without approval: commands, edits, network requests.\n"
            "Type `auto` to confirm.",
            then=partial(_confirm_auto, session),
        )
    else:
        session.mode = Mode(argument)
        yield SettingChanged("mode")


async def _confirm_auto(session: "Session", typed: str) -> CommandResults:
    """Set the mode `auto` if the user typed it, else `ask`."""
    session.mode = Mode.AUTO if typed == Mode.AUTO.value else Mode.ASK
    yield SettingChanged("mode")


COMMANDS = (
    SlashCommand(
        name="mode",
        run=choose_mode,
        argument="[NAME]",
        argument_kind="mode",
        summary="set the approval mode",
    ),
)
