"""The arguments of `yourtool sessions`."""

import argparse
from pathlib import Path

from yourtool import extensions
from yourtool.cli.command_rows import add_actions, with_extensions
from yourtool.cli.run_options import add_command_options, complete_path, parse_dollars


def add_sessions_actions(sessions: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    add_actions(sessions, _ACTIONS)


def _add_listing_options(listing: argparse.ArgumentParser) -> None:
    _add_here(listing)
    listing.add_argument("--workers", action="store_true", help="also those of delegated tasks")
    add_command_options(listing)


def _add_here(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--here", dest="here_only", action="store_true", help="only sessions of this directory"
    )


def _add_id(action: argparse.ArgumentParser) -> None:
    action.add_argument("id", metavar="ID", help="a session id or a prefix of one")


def _add_show_options(show: argparse.ArgumentParser) -> None:
    _add_id(show)
    add_command_options(show)


def _add_import_options(importing: argparse.ArgumentParser) -> None:
    complete_path(
        importing.add_argument(
            "file", type=Path, metavar="FILE", help="JSON lines; `-` reads standard input"
        )
    )
    add_command_options(importing)


def _add_fork_options(fork: argparse.ArgumentParser) -> None:
    _add_id(fork)
    fork.add_argument(
        "--at",
        metavar="MESSAGE",
        help="copy up to this prompt, or up to the end of this reply's turn; default: everything",
    )
    add_command_options(fork)


def _add_tree_options(tree: argparse.ArgumentParser) -> None:
    _add_id(tree)
    tree.add_argument("--at", metavar="N", help="continue the session at entry N")
    tree.add_argument("--steps", action="store_true", help="also calls and results")
    add_command_options(tree)


def _add_rename_options(rename: argparse.ArgumentParser) -> None:
    _add_id(rename)
    rename.add_argument("title", metavar="TITLE", help="empty: the first line of the session")
    add_command_options(rename)


def _add_delete_options(delete: argparse.ArgumentParser) -> None:
    _add_id(delete)
    delete.add_argument("--yes", action="store_true", help="delete without a question")
    add_command_options(delete)


def _add_forget_options(forget: argparse.ArgumentParser) -> None:
    forget.add_argument("source", metavar="USER", help="a `user_id` of stored messages")
    forget.add_argument("--confirm", action="store_true", help="do it; it cannot be undone")
    add_command_options(forget)


def _add_search_options(search: argparse.ArgumentParser) -> None:
    search.add_argument(
        "query", nargs="*", metavar="WORD", help="without WORD: the prompts of these sessions"
    )
    complete_path(
        search.add_argument(
            "--dir", dest="directory", type=Path, metavar="DIR", help="only sessions of DIR"
        )
    )
    search.add_argument(
        "--file",
        dest="changed_file",
        default="",
        metavar="PATH",
        help="a file that the session changed",
    )
    search.add_argument("--tool-failed", action="store_true", help="a tool call failed")
    when = "a date or time, or for example `24h`, `7d`, `2w`"
    search.add_argument("--since", default="", metavar="T", help=when)
    search.add_argument("--until", default="", metavar="T", help=when)
    search.add_argument(
        "--min-cost", type=parse_dollars, metavar="USD", help="of the session, workers included"
    )
    _add_here(search)
    add_command_options(search)


def _add_export_options(export: argparse.ArgumentParser) -> None:
    _add_id(export)
    complete_path(
        export.add_argument(
            "file", nargs="?", type=Path, metavar="FILE", help="default: standard output"
        )
    )
    export.add_argument(
        "--format",
        dest="export_format",
        choices=("markdown", "html", "jsonl", "pi", "bundle"),
        help="default: by the suffix of FILE, else markdown; bundle: one file with checksums",
    )
    export.add_argument(
        "--redact",
        dest="redaction",
        choices=("passthrough", "pseudonymize", "redact_private", "aggregate_only"),
        default="passthrough",
        help="replace names, also private texts, or print sums alone; default: passthrough",
    )
    export.add_argument("--salt", default="", metavar="TEXT", help="makes other pseudonyms")
    export.add_argument("--yes", action="store_true", help="replace secrets without a question")
    export.add_argument("--force", action="store_true", help="overwrite an existing file")
    add_command_options(export)


_ACTIONS = with_extensions(
    {
        "list": ("list the sessions of all directories, newest first", _add_listing_options),
        "show": ("print a session as text", _add_show_options),
        "search": (
            "search for messages that contain all words or word prefixes",
            _add_search_options,
        ),
        "export": ("export a session with API keys removed", _add_export_options),
        "import": ("import an exported session into this directory", _add_import_options),
        "fork": ("start a session as a copy of another", _add_fork_options),
        "tree": ("print the branches of a session", _add_tree_options),
        "rename": ("give a session a title", _add_rename_options),
        "delete": ("delete a session permanently", _add_delete_options),
        "forget": ("remove the id of a user from all messages", _add_forget_options),
        "removals": ("list what was deleted: when, which session, why", add_command_options),
    },
    extensions.find_session_actions(),
)
