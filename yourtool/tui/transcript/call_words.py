"""Words for the calls of built-in tools.

A call reads as a sentence: `Read a.py, 12 lines`. Other tools have their names.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

_WORKSPACE = "this folder"


class Verb(Struct, frozen=True):
    """The word before the key argument, before a call runs, while it does, and afterwards."""

    base: str
    now: str
    done: str


_VERBS: Mapping[str, Verb] = {
    "read_file": Verb("Read", "Reading", "Read"),
    "list_dir": Verb("List", "Listing", "Listed"),
    "glob": Verb("Find", "Finding", "Found"),
    "grep": Verb("Search for", "Searching for", "Searched for"),
    "fetch_url": Verb("Fetch", "Fetching", "Fetched"),
    "shell": Verb("Run", "Running", "Ran"),
    "edit_file": Verb("Edit", "Editing", "Edited"),
    "write_file": Verb("Write", "Writing", "Wrote"),
    "apply_patch": Verb("Edit", "Editing", "Edited"),
    "process_output": Verb("Read the output of", "Reading the output of", "Read the output of"),
    "process_stop": Verb("Stop", "Stopping", "Stopped"),
    "process_input": Verb("Type into", "Typing into", "Typed into"),
    "update_plan": Verb("Plan", "Planning", "Plan"),
    "propose_plan": Verb("Propose a plan", "Proposing a plan", "Proposed a plan"),
    "ask_user": Verb("Ask you", "Asking you", "Asked you"),
    "delegate": Verb("Delegate", "Delegating", "Delegated"),
}


def find_verb(tool: str) -> Verb | None:
    """Return the words of a built-in tool; None for another one."""
    return _VERBS.get(tool)


def name_folder(tool: str, argument: str) -> str:
    """Return the argument, or words for the workspace that `list_dir` lists."""
    return _WORKSPACE if tool == "list_dir" and argument in ("", ".", "./") else argument


def describe_end(details: Mapping[str, Any]) -> str:
    """Return how a command ended, from the details of its result; empty: as usual."""
    if details.get("timed_out") is True:
        return "timed out"
    if code := details.get("exit_code"):
        return f"signal {-code}" if code < 0 else f"exit code {code}"
    is_moved = "process" in details and "sandbox" in details  # other tools have no level
    return f"in the background as {details['process']}" if is_moved else ""
