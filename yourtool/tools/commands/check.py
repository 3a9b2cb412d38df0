"""Checks after edits.

They are programs that get the names of files, without a shell.
"""

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from yourtool.errors import ToolError
from yourtool.settings.agent_config import CheckConfig
from yourtool.tools.base import ToolContext
from yourtool.tools.commands.shell import format_exit_code
from yourtool.tools.processes.output import CommandOutput
from yourtool.tools.processes.process import ShellCommand, run_process
from yourtool.tools.search.name_filter import NameFilter

MAX_BYTES = 2_048
"""Bytes of the results of all checks after one reply."""
_FILES = "{files}"
_CUT = "… "


class CheckResult(Struct, frozen=True):
    """How a check ended."""

    name: str
    status: str
    output: str


def matching_files(check: CheckConfig, files: Iterable[str]) -> Sequence[str]:
    """Return the files after whose edit a check runs.

    Raises:
        ToolError: a glob is invalid.
    """
    if not check.files:
        return list(files)
    filters = [NameFilter(each) for each in check.files]
    return [file for file in files if any(each.matches(file) for each in filters)]


async def run_check(
    name: str, check: CheckConfig, files: Sequence[str], context: ToolContext
) -> CheckResult:
    """Run a check in the workspace, in the sandbox if there is one; a failure is a result.

    A name starts with `./`, so that no program takes it for an option.
    """
    if not check.run:
        return CheckResult(name, "not run, because `run` names no program", "")
    names = tuple(f"./{each}" for each in files)
    arguments = tuple(each for part in check.run for each in (names if part == _FILES else (part,)))
    workspace, output = context.workspace, CommandOutput(context.spill, _ignore, context.mask)
    try:
        command = ShellCommand(
            arguments,
            workspace.root,
            context.environments.build_for_model(os.environ),
            opened_directory=workspace.root_descriptor(),
        )
        if (sandbox := context.sandbox) is None:
            exited = await run_process(command, output, seconds=check.seconds)
        else:
            await sandbox.measure()
            if (missing := sandbox.unavailable) is not None:
                return CheckResult(name, f"not run, because there is no sandbox: {missing}", "")
            if sandbox.is_below_requirement:
                return CheckResult(name, "not run, because the sandbox is too weak", "")
            async with sandbox.enclose(command) as enclosed:
                exited = await run_process(enclosed.command, output, seconds=check.seconds)
    except (OSError, ValueError, ToolError) as error:
        place = "" if context.sandbox is None else " in the sandbox"
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        status = f"`{arguments[0]}` could not be started{place}: {reason}"
        return CheckResult(name, status, "")
    if exited.code is None:
        status = f"stopped after {check.seconds:g} s"
    else:
        status = "ok" if exited.code == 0 else format_exit_code(exited.code)
    return CheckResult(name, f"{status}, {exited.seconds:.1f} s", output.text().strip())


def format_results(results: Sequence[CheckResult], changed: Sequence[str]) -> str:
    """Return at most `MAX_BYTES` about all checks: the end of each output, and changed files."""
    if not results:
        return ""
    heads = [f"check `{each.name}`: {each.status}" for each in results]
    last = f"changed by the checks: {', '.join(changed)}" if changed else ""
    room = MAX_BYTES - len("\n".join(("[Checks after the edit]", *heads, last)).encode())
    share = room // len(results) - 1
    parts = ["[Checks after the edit]"]
    for head, each in zip(heads, results, strict=True):
        parts.append(head)
        if end := _end_of(each.output, share):
            parts.append(end)
    if last:
        parts.append(last)
    return "\n".join(parts).encode()[:MAX_BYTES].decode("utf-8", "ignore")


def _end_of(text: str, size: int) -> str:
    """Return the last bytes of a text, as whole characters."""
    data = text.encode()
    if len(data) <= size:
        return text
    room = size - len(_CUT.encode())
    return _CUT + data[-room:].decode("utf-8", "ignore") if room > 0 else ""


def _ignore(text: str) -> None:
    del text
