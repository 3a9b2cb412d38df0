"""`yourtool route`: routing preview of a prompt.

With `--session`, show what a swap of a stored session would change; `replay` decides again about
stored turns.
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from yourtool import extensions
from yourtool.agent.route_preview import RoutePreview, examine_swap
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.preflight import Preflight
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.errors import UsageError
from yourtool.events.facts import Fact
from yourtool.events.turns import RouteDecided
from yourtool.foundation.text import printable
from yourtool.paths import Paths
from yourtool.routing.router import format_chain
from yourtool.run_result import ExitCode
from yourtool.settings.config import RunOptions


class _PromptLine(Struct):
    prompt: str


def run(paths: Paths, arguments: Arguments) -> int:
    """Route one prompt, or with `-` one per line of standard input, without sending anything."""
    is_replay = arguments.prompt == "replay" and not arguments.id
    if is_replay and (replay := extensions.load_route_replay()) is not None:
        return replay.run(paths, arguments)
    if option := next((name for name, given in _list_replay_options(arguments) if given), None):
        raise UsageError(f"`{option}` is an option of `yourtool route replay`")
    return asyncio.run(_run(paths, arguments))


def _list_replay_options(arguments: Arguments) -> Iterator[tuple[str, object]]:
    yield "--with", arguments.file
    yield "--prices", arguments.prices_file
    yield "--models", arguments.models_file
    yield "--since", arguments.since


async def _run(paths: Paths, arguments: Arguments) -> int:
    if arguments.id and not arguments.model:
        raise UsageError("`--session` requires `--model`, the model to switch to")
    if not arguments.id and not arguments.prompt:
        raise UsageError("`yourtool route` requires a prompt, or `--session` and `--model`")
    options = RunOptions(
        workspace=arguments.workspace, model=arguments.model, mode=None, interactive=False
    )
    runtime = await Runtime.open(paths, options)
    try:
        if arguments.id:
            found = await examine_swap(runtime, arguments.id, arguments.model or "")
            return _print_swap(found, as_json=arguments.json)
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


def _print_swap(found: Preflight, *, as_json: bool) -> int:
    """Print what a swap would change; the exit code reports a refusal."""
    if as_json:
        print_json(_swap_json(found))
    else:
        print_lines(*_format_swap(found))
    return ExitCode.ANSWERED if found.refusal is None else ExitCode.NO_MODEL


def _format_swap(found: Preflight) -> Iterator[str]:
    yield f"Swap from {found.active.id} to {found.target.id}"
    if found.refusal is not None:
        yield f"Refused: {found.refusal}"
    elif not found.is_at_stake:
        yield "Nothing is lost: `/model` switches at once"
    for each in found.consequences:
        yield f"{'!' if each.is_stake else ' '} {each.subject:<10} {each.text}"
    for lost in found.left_out:
        yield f"  not sent   {lost.kind} of message {lost.message_id}: {lost.reason}"


def _swap_json(found: Preflight) -> dict[str, Any]:
    return {
        "from": found.active.id,
        "to": found.target.id,
        "is_at_stake": found.is_at_stake,
        "refusal": None if found.refusal is None else found.refusal.code,
        "needs_room": found.needs_room,
        "consequences": [each._asdict() for each in found.consequences],
        "left_out": to_builtins(found.left_out),
    }


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
