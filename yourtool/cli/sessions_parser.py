"""The arguments of `yourtool sessions`."""

import argparse
from collections.abc import Callable
from pathlib import Path

from yourtool.cli.run_options import add_command_options, parse_count, parse_dollars


def add_sessions_actions(sessions: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    verbs = (
        "list|show|search|export|import|fork|rename|delete|forget|prune|removals|check|salvage"
        "|replay|tree"
    )
    actions = sessions.add_subparsers(dest="action", required=True, metavar=verbs)

    def add(name: str, summary: str, *, takes_id: bool = False) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=summary, description=summary)
        if takes_id:
            action.add_argument("id", metavar="ID", help="a session id or a prefix of one")
        return action

    listing = add("list", "list the sessions of all directories, newest first")
    show = add("show", "print a session as text", takes_id=True)
    search = add("search", "search for messages that contain all words or word prefixes")
    _add_search_options(search)
    for action in (listing, search):
        action.add_argument(
            "--here", dest="here_only", action="store_true", help="only sessions of this directory"
        )
    listing.add_argument("--workers", action="store_true", help="also those of delegated tasks")
    export = add("export", "export a session with API keys removed", takes_id=True)
    _add_export_options(export)
    import_ = add("import", "import an exported session into this directory")
    import_.add_argument(
        "file", type=Path, metavar="FILE", help="JSON lines; `-` reads standard input"
    )
    fork = add("fork", "start a session as a copy of another", takes_id=True)
    fork.add_argument(
        "--at",
        metavar="MESSAGE",
        help="copy up to this prompt, or up to the end of this reply's turn; default: everything",
    )
    tree = add("tree", "print the branches of a session", takes_id=True)
    tree.add_argument("--at", metavar="N", help="continue the session at entry N")
    tree.add_argument("--steps", action="store_true", help="also calls and results")
    rename = add("rename", "give a session a title", takes_id=True)
    rename.add_argument("title", metavar="TITLE", help="empty: the first line of the session")
    removing = _add_removals(add)
    replay = add("replay", "play a session again, offline, with its stored replies and results")
    replay.add_argument(
        "source", metavar="FILE | ID", help="an exported session, or the id of a stored one"
    )
    check = add("check", "look for damage in stored sessions")
    check.add_argument("id", nargs="?", default="", metavar="ID", help="default: all sessions")
    check.add_argument(
        "--fix", action="store_true", help="store what is sound of a damaged session as a new one"
    )
    salvage = add("salvage", "replace a damaged database by one with every row that can be read")
    changes = (import_, fork, rename, *removing)
    for action in (listing, show, search, export, *changes, check, salvage, replay, tree):
        add_command_options(action)


def _add_removals(
    add: Callable[..., argparse.ArgumentParser],
) -> tuple[argparse.ArgumentParser, ...]:
    """Add the actions that delete something, and the list of what was deleted."""
    delete = add("delete", "delete a session permanently", takes_id=True)
    delete.add_argument("--yes", action="store_true", help="delete without a question")
    forget = add("forget", "remove the id of a user from all messages")
    forget.add_argument("source", metavar="USER", help="a `user_id` of stored messages")
    forget.add_argument("--confirm", action="store_true", help="do it; it cannot be undone")
    removals = add("removals", "list what was deleted: when, which session, why")
    prune = add("prune", "delete old sessions, and attachments that no message refers to")
    prune.add_argument(
        "--older-than", default="", metavar="T", help="last used before a date, or `90d`, `26w` ago"
    )
    prune.add_argument(
        "--keep", type=parse_count, metavar="N", help="never delete the N last used sessions"
    )
    prune.add_argument("--dry-run", action="store_true", help="list it, and delete nothing")
    prune.add_argument("--yes", action="store_true", help="delete without a question")
    return delete, forget, removals, prune


def _add_search_options(search: argparse.ArgumentParser) -> None:
    search.add_argument(
        "query", nargs="*", metavar="WORD", help="without WORD: the prompts of these sessions"
    )
    search.add_argument(
        "--dir", dest="directory", type=Path, metavar="DIR", help="only sessions of DIR"
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


def _add_export_options(export: argparse.ArgumentParser) -> None:
    export.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="default: standard output"
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
