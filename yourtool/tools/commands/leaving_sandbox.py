"""Commands outside the sandbox."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from yourtool.effects import OUTSIDE_SANDBOX, Preview
from yourtool.errors import ToolError, ToolFailure
from yourtool.permissions.shell import writes
from yourtool.permissions.shell.lines import syntax
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.base import ToolContext
from yourtool.tools.processes.process import ShellCommand
from yourtool.tools.sandbox.sandbox import Enclosed, Sandbox, SandboxError

_UNATTENDED = (
    "Not run: only the user lets a command leave the sandbox, and no user is present to answer."
    " Call it without `outside`, and it runs in the sandbox; or the user names it in `[sandbox]"
    " outside` of `config.toml`."
)
_WORDS = re.compile(r"[^\s;&|()<>'\"]+")
_MAX_REASON = 300
"""Characters of the reason of the model that the question has."""


async def find_leaving(
    found: Preview, line: str, reason: str, sandbox: Sandbox | None, *, is_attended: bool = True
) -> Preview:
    """Return the preview of a call that would leave the sandbox; unchanged if it stays.

    `reason`: why the model asks to leave it; empty: it does not. `is_attended`: whether a user can
    be asked.

    Raises:
        ToolError: the model asks, and no user is present.
    """
    if sandbox is None or found.is_outside or not sandbox.is_active:
        return found
    if reason and not is_attended:
        raise ToolError(_UNATTENDED, ToolFailure.USER_DENIED)
    network = await asyncio.to_thread(sandbox.find_need, line)
    outside = replace(
        found,
        surroundings=OUTSIDE_SANDBOX,
        is_outside=True,
        is_contained=False,
        is_fully_contained=False,
        private_directories=(),
        sandbox=SandboxLevel.NONE,
    )
    if network is not None:
        if await asyncio.to_thread(sandbox.excepts, line, needs_network=True):
            return replace(outside, protected=sandbox.is_required)
        if await asyncio.to_thread(sandbox.exceptions.gives_network, line):
            is_free = found.is_fully_contained  # the user chose "always"
            shown = _name_level(sandbox)
            return replace(found, has_network=True, surroundings=shown, is_contained=is_free)
        if not is_attended:
            return found
        named = ", ".join(f"`{each}`" for each in network.programs)
        needs = "need" if len(network.programs) > 1 else "needs"
        why = f"{named} {needs} a network, which commands in the sandbox do not have"
        if network.is_enough and sandbox.has_own_network:
            outside = replace(
                outside,
                surroundings=_name_level(sandbox),
                is_outside=False,
                sandbox=found.sandbox,
                has_network=True,
            )
        outside = replace(outside, leaving=why, network=network)
    elif is_attended and (need := await asyncio.to_thread(sandbox.find_host_need, line)):
        outside = replace(outside, leaving=need)
    if reason:
        given = f"the model gives the reason: {reason[:_MAX_REASON]}"
        outside = replace(
            outside,
            surroundings=OUTSIDE_SANDBOX,
            is_outside=True,
            sandbox=SandboxLevel.NONE,
            has_network=False,
            leaving=given,
        )
    return outside if outside.leaving else found


def get_sandbox(context: ToolContext) -> Sandbox | None:
    """Return the sandbox in which a call runs, which its preview shows.

    A setting can except it, and the user can allow it where there is none.
    """
    shown = context.approved
    is_outside = shown is not None and (shown.is_outside or shown.missing_sandbox)
    return None if is_outside else context.sandbox


@asynccontextmanager
async def enclosing(
    command: ShellCommand, line: str, context: ToolContext
) -> AsyncGenerator[Enclosed, None]:
    """Yield a command as it runs where its preview shows.

    Raises:
        SandboxError: the sandbox could not be made.
        ToolError: what runs in the sandbox could change what the command does outside of it.
    """
    shown = context.approved
    if (sandbox := get_sandbox(context)) is None:
        async with AsyncExitStack() as stack:
            if context.sandbox is not None and syntax.may_name("git", line):
                outside = context.sandbox.git_outside
                is_asked = shown is not None and bool(shown.leaving)
                await stack.enter_async_context(outside.running_outside(is_asked=is_asked))
            if command.is_lasting:
                await stack.aclose()
            yield Enclosed(command)
        return
    async with sandbox.enclose(
        command,
        list_words(line),
        is_needed=shown is None or not shown.missing_sandbox,
        may_change_git=await changes_git_settings(line, context.workspace.root),
        has_network=shown is not None and shown.has_network,
    ) as enclosed:
        if shown is not None and shown.sandbox and enclosed.level.rank < shown.sandbox.rank:
            raise SandboxError(f"it is `{enclosed.level}` now, and was `{shown.sandbox}`")
        yield enclosed


def _name_level(sandbox: Sandbox) -> str:
    return f"{sandbox.shown_level} sandbox, with a network for this command"


def list_words(line: str) -> list[str]:
    """Return the words of a line, also those next to which the shell needs no space."""
    return [*line.split(), *_WORDS.findall(line)]


async def changes_git_settings(line: str, root: Path) -> bool:
    """Whether a line visibly changes settings of git, which needs an approval in every mode."""
    if not syntax.may_name("git", line):
        return False
    written = await asyncio.to_thread(writes.find_protected_write, line, root)
    return written is not None and written.rpartition("/")[2] in ("config", "config.worktree")
