"""`yourtool import settings`: take over the settings of other agents, with a report."""

import os
from collections.abc import Iterable, Sequence

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import print_json, print_lines
from yourtool.config import install_defaults
from yourtool.paths import Paths
from yourtool.run_result import ExitCode
from yourtool.settings_import.importing import PEERS, Importer, Item, Peer, Report
from yourtool.tools.builtin import default_toolbox


def run(paths: Paths, arguments: Arguments) -> int:
    """Read the settings of one or all agents, add them to ours, and print what happened.

    Raises:
        ConfigError: a file of ours cannot be written.
    """
    kinds = default_toolbox().subject_kinds
    importer = Importer(paths, arguments.workspace, kinds, os.environ)
    peers: Sequence[Peer] = (arguments.peer,) if arguments.peer else tuple(PEERS)
    if not arguments.dry_run:
        install_defaults(paths)
    report = importer.run(peers, dry_run=arguments.dry_run)
    if arguments.json:
        print_json({"dry_run": arguments.dry_run, "taken": report.taken,
                    "present": report.present, "left_out": report.left_out,
                    "files": list(map(str, report.files))})  # fmt: skip
    else:
        _print_report(report, peers, dry_run=arguments.dry_run)
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
