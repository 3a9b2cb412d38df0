"""Command `yourtool sessions replay`.

It plays an exported or stored session again, offline.
"""

import asyncio
import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from yourtool.agent.session.known_secrets import find_known_secrets, mask_secrets
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json
from yourtool.cli.run_options import add_command_options
from yourtool.errors import UsageError, YourtoolError
from yourtool.events.catalog import AnyFact
from yourtool.extensions.lab.replay import player
from yourtool.foundation.files import path_exists
from yourtool.foundation.text import printable
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.store.base import SessionStore, resolve_id
from yourtool.store.exports import from_jsonl, read_export, to_jsonl
from yourtool.store.sqlite.store import SqliteStore

_BLOBS = "blobs"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "source", metavar="FILE | ID", help="an exported session, or the id of a stored one"
    )
    add_command_options(parser)


async def run(session_id: str, store: SqliteStore, paths: Paths, arguments: Arguments) -> ExitCode:
    """Print the transcript of a replay; the exit code is 1 if it differs from the recording."""
    del session_id
    file = Path(arguments.source)
    with TemporaryDirectory(prefix="yourtool-replay-") as directory:
        scratch = Path(directory)
        if await asyncio.to_thread(path_exists, file):
            facts = await asyncio.to_thread(_read_file, file, scratch)
        else:
            facts = await _read_stored(arguments.source, store, paths, scratch)
        played = await player.replay(facts, scratch)
    if arguments.json:
        print_json(_to_object(played))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(played.replayed)
        _print_verdict(played)
    return ExitCode.ANSWERED if played.is_same else ExitCode.FAILED


async def _read_stored(
    prefix: str, store: SessionStore, paths: Paths, scratch: Path
) -> Sequence[AnyFact]:
    """Return what an export of a stored session has, with keys masked."""
    if not re.fullmatch("(sess_)?[0-9A-Za-z]{1,26}", prefix):
        raise UsageError(f"there is no file `{prefix}`, and it is no session id")
    session_id = await resolve_id(store, prefix)
    mask = partial(mask_secrets, secrets=find_known_secrets(paths, os.environ))
    lines: Iterable[bytes] = to_jsonl(await store.read(session_id), mask, paths.blobs)
    return await asyncio.to_thread(from_jsonl, lines, scratch / _BLOBS)


def _read_file(file: Path, scratch: Path) -> Sequence[AnyFact]:
    try:
        with file.open("rb") as source:
            facts, _ = read_export(source, scratch / _BLOBS)
    except OSError as error:
        raise UsageError(f"cannot read `{file}`: {error.strerror}") from error
    except YourtoolError as error:
        raise UsageError(f"cannot replay `{file}`: {error}") from error
    return facts


def _to_object(played: "player.Replay") -> dict[str, object]:
    fields = ("line", "recorded", "replayed")
    return {
        "same": played.is_same,
        "turns": played.turns,
        "requests": played.requests,
        "tool_calls": played.tool_calls,
        "difference": dict(zip(fields, played.difference, strict=True))
        if played.difference is not None
        else None,
    }


def _print_verdict(played: "player.Replay") -> None:
    """Print whether the replay is the same, to standard error."""
    if played.difference is None:
        counts = (
            ("turn", played.turns),
            ("request", played.requests),
            ("tool call", played.tool_calls),
        )
        listed = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts)
        lines = (f"The replay is the same: {listed}.",)
    else:
        line, recorded, replayed = played.difference
        lines = (
            f"yourtool: the replay differs from the recording in line {line}:",
            f"  recorded: {recorded}",
            f"  replayed: {replayed}",
        )
    sys.stderr.write("".join(f"{printable(each)}\n" for each in lines))
