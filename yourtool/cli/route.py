"""`yourtool route`: show which model a prompt would use and the result of every slot."""

import asyncio
import sys
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from yourtool.agent.route_preview import RoutePreview
from yourtool.agent.runtime import Runtime
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.config import RunOptions
from yourtool.errors import UsageError
from yourtool.events.facts import Fact
from yourtool.events.turns import RouteDecided
from yourtool.paths import Paths
from yourtool.routing.router import format_chain
from yourtool.run_result import ExitCode
from yourtool.text import printable


class _PromptLine(Struct):
    prompt: str


def run(paths: Paths, arguments: Arguments) -> int:
    """Route one prompt, or with `-` one per line of standard input, without sending anything."""
    return asyncio.run(_run(paths, arguments))


async def _run(paths: Paths, arguments: Arguments) -> int:
    options = RunOptions(
        workspace=arguments.workspace, model=arguments.model, mode=None, interactive=False
    )
    runtime = await Runtime.open(paths, options)
    try:
        preview = await RoutePreview.open(runtime)
        for problem in preview.problems:
            sys.stderr.write(f"yourtool: {printable(str(problem))}\n")
        if arguments.prompt == "-":
            return await _route_lines(preview)
        decided = preview.decide(arguments.prompt or "")
    finally:
        await runtime.close()
    if arguments.json:
        print_json(_decision_json(decided))
    else:
        print_lines(f"Model: {decided.chosen_model or 'none'}", *format_chain(decided.chain))
    return ExitCode.ANSWERED if decided.chosen_model else ExitCode.NO_MODEL


async def _route_lines(preview: RoutePreview) -> int:
    """Write one decision per line, or an `error` for a prompt that is invalid."""
    code = ExitCode.ANSWERED
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            prompt = msgspec.json.decode(line, type=_PromptLine).prompt
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f'line {number} of standard input is not `{{"prompt": "…"}}`: {error}'
            ) from error
        try:
            print_json(_decision_json(preview.decide(prompt)))
        except UsageError as error:
            print_json({"error": str(error)})
            code = ExitCode.USAGE
        sys.stdout.flush()
    return code


def _decision_json(decided: RouteDecided) -> dict[str, Any]:
    envelope = {"type", *Fact.__struct_fields__}
    return {name: value for name, value in to_builtins(decided).items() if name not in envelope}
