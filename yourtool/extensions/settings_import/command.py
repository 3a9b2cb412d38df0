"""Command `yourtool import settings`."""

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence

from msgspec import Struct, convert

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.cli.run_options import add_command_options
from yourtool.extensions.settings_import.importing import PEERS, Importer, Item, Peer, Report
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.settings.first_files import install_defaults
from yourtool.tools.builtin import default_toolbox


class Options(Struct, frozen=True):
    """The options of the command."""

    peer: Peer | None = None
    """None: all of them."""
    dry_run: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "action",
        choices=("settings",),
        metavar="settings",
        help="instructions, commands, skills, hooks, MCP servers and rules; for stored sessions:"
        " `yourtool sessions import`",
    )
    parser.add_argument(
        "--from", dest="peer", choices=tuple(PEERS), metavar="|".join(PEERS), help="default: all"
    )
    parser.add_argument("--dry-run", action="store_true", help="only report, write nothing")
    add_command_options(parser)


def run(paths: Paths, arguments: Arguments) -> int:
    """Read the settings of one or all agents, add them to ours, and print what happened.

    Raises:
        ConfigError: a file of ours cannot be written.
    """
    options = convert(arguments.options, Options)
    kinds = default_toolbox().subject_kinds
    importer = Importer(paths, arguments.workspace, kinds, os.environ)
    peers: Sequence[Peer] = (options.peer,) if options.peer else tuple(PEERS)
    if not options.dry_run:
        install_defaults(paths)
    report = importer.run(peers, dry_run=options.dry_run)
    if arguments.json:
        print_json({"dry_run": options.dry_run, "taken": report.taken,
                    "present": report.present, "left_out": report.left_out,
                    "files": list(map(str, report.files))})  # fmt: skip
    else:
        _print_report(report, peers, dry_run=options.dry_run)
    return ExitCode.ANSWERED


def _print_report(report: Report, peers: Sequence[Peer], *, dry_run: bool) -> None:
    if not (report.taken or report.present or report.left_out):
        print_lines(f"There are no settings of {', '.join(map(PEERS.__getitem__, peers))} here.")
        return
    _print_items("Would be taken over:" if dry_run else "Taken over:", report.taken)
    _print_items("Already here:", report.present)
    _print_items("Not taken over:", report.left_out)
    if any(each.kind == "server" for each in report.taken):
        print_lines("Servers in your own `mcp.json` run outside the sandbox, with your rights;"
                    ' `"sandbox": true` changes that.')  # fmt: skip
    if report.files:
        print_lines("Files that would change:" if dry_run else "Changed files:")
        print_lines(*(f"  {each}" for each in report.files))
    else:
        print_lines("No file would change." if dry_run else "No file changed.")


def _print_items(title: str, items: Iterable[Item]) -> None:
    lines = dict.fromkeys(
        f"  {PEERS[each.peer]}, {each.place}: {each.kind} {each.name}"
        + (f" ({each.reason})" if each.reason else "")
        for each in items
    )
    if lines:
        print_lines(title, *lines)
