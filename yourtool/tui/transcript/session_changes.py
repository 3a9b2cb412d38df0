"""Transcript lines for session changes."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import UNSET

from yourtool.agent.money.budgets import describe_reached, describe_warning
from yourtool.events.branches import (
    BranchLabelled,
    BranchMerged,
    BranchSelected,
    BranchSummarised,
    EntryAdded,
)
from yourtool.events.budgets import BudgetReached, BudgetWarned
from yourtool.events.context import (
    ContextCompacted,
    ContextElided,
    ContextHandedOver,
    ContextOverridden,
)
from yourtool.events.delegation import DelegateCompleted, DelegateFailed, DelegateStarted
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestored, FilesRestoring
from yourtool.events.guidance import MemoryUpdated, SkillLoaded
from yourtool.events.hooks import HookRan
from yourtool.events.model_calls import LlmCallCostReported
from yourtool.events.permissions import PolicySnapshot
from yourtool.events.sessions import (
    EntryImported,
    SessionCreated,
    SessionEffortSelected,
    SessionEnded,
    SessionExtended,
    SessionForked,
    SessionImported,
    SessionModelRefused,
    SessionModelSelected,
    SessionRenamed,
    SessionResumed,
)
from yourtool.events.tools import ProcessEnded, ProcessesReported, ProcessStarted
from yourtool.events.turns import (
    PatternOverrideDismissed,
    ProviderRecovered,
    ProviderUnavailable,
    RouteOverridden,
    RoutingPolicyChanged,
    RoutingPolicyInvalid,
    RoutingSnapshot,
    TurnEvaluated,
)
from yourtool.foundation.amounts import format_money
from yourtool.foundation.text import printable
from yourtool.tools.git.git_state import describe_path, describe_paths, is_git_path
from yourtool.tui.transcript import turn_results

SessionChange: TypeAlias = (
    SessionModelSelected
    | SessionModelRefused
    | SessionForked
    | SessionRenamed
    | SessionImported
    | SessionExtended
    | ProviderUnavailable
    | ProviderRecovered
    | RoutingPolicyChanged
    | RoutingPolicyInvalid
    | FilesRestored
    | ProcessEnded
    | ContextElided
    | ContextOverridden
    | BranchSelected
    | BranchLabelled
    | BranchMerged
    | EntryAdded
    | BudgetWarned
    | BudgetReached
)

NOT_SHOWN = (
    SessionCreated,
    SessionResumed,
    SessionEnded,
    SessionEffortSelected,  # `/effort` shows its effect on the model
    PolicySnapshot,
    EntryImported,  # the report of the import names these
    HookRan,  # a refusal is in the result of the call, `/why` lists them
    RoutingSnapshot,
    TurnEvaluated,  # `/model show` shows it
    ContextHandedOver,  # `/model show` shows it, and the sheet of `/model` before the swap
    ProcessStarted,
    ProcessesReported,
    FileChangeFailed,
    FilesRestoring,
    RouteOverridden,  # the line of the selected model has the effect
    PatternOverrideDismissed,
    SkillLoaded,  # the cards of the calls show these two
    MemoryUpdated,
    DelegateStarted,  # the card of the call shows these three
    DelegateCompleted,
    DelegateFailed,
    LlmCallCostReported,  # `/cost` shows it
)
"""The facts that the transcript does not show."""

_MAX_NAMED = 5
_MAX_COMMAND = 80
"""Characters of a command in a line."""
_REACHES = {
    "session": "Note, not for the model",
    "next_request": "Note for the next request alone",
    "requests": "Note for all later requests",
}
_OVERRIDES = {
    "pinned": "Pinned a message: no summary replaces it",
    "truncated": "Requests have only the start and the end of a message from here on",
    "without_media": "Requests omit the attachments of a message from here on",
    "omitted": "Requests omit a message from here on",
    "none": "Requests have a message as usual from here on",
}
_VERBS = {"undo": "Took back", "redo": "Made again", "rewind": "Took back"}


def describe_change(change: SessionChange) -> tuple[Literal["info", "warning"], str]:
    """Return the level and the text of the line for a change."""
    match change:
        case SessionModelSelected(model=None):
            return "info", "Using the default model again"
        case SessionModelSelected(model=model, media_in_words=in_words):
            words = ", with placeholders for what it cannot process" if in_words else ""
            return "info", f"Model of this session: {model}{words}"
        case SessionRenamed(title=title):
            return "info", f"Title of this session: {title or 'its first message'}"
        case SessionModelRefused(reason=reason):
            return "warning", reason
        case SessionForked(parent_session_id=parent):
            return "info", f"Forked here from {parent}, which is unchanged: /resume"
        case SessionImported(source_session_id=source) | SessionExtended(source_session_id=source):
            return "info", f"Imported up to here from session {source}"
        case ProcessEnded():
            return _describe_end(change)
        case ContextElided(model=model):
            return "info", f"Requests to {model} omit old tool outputs, because they are long"
        case ContextOverridden(override=override):
            return "info", _OVERRIDES[override]
        case BranchSelected(leaf=leaf):
            where = "here" if leaf else "at the start"
            return "info", f"Continued {where} on another branch; /tree shows all"
        case BranchLabelled(label=label):
            return "info", f"Label: {label}" if label else "Label removed"
        case BranchMerged(merged=merged):
            count = len(merged)
            messages = f"{count:,} {'message' if count == 1 else 'messages'}"
            return "info", f"Requests have {messages} of another branch from here on"
        case EntryAdded(text=text, reach=reach):
            return "info", f"{_REACHES[reach]}: {text}" if change.data is UNSET else text
        case FilesRestored():
            return _describe_restored(change)
        case ProviderUnavailable():
            return "warning", turn_results.format_outage(change)
        case ProviderRecovered():
            return "info", turn_results.format_recovery(change)
        case RoutingPolicyChanged():
            return "info", _describe_policy(change)
        case RoutingPolicyInvalid():
            return "warning", _describe_mistakes(change)
        case BudgetWarned():
            return "warning", describe_warning(change)
        case BudgetReached():
            return "warning", describe_reached(change)


def _describe_policy(change: RoutingPolicyChanged) -> str:
    policy = {} if change.policy is UNSET else change.policy
    count = len(policy.get("rules", ()))
    if not count:
        return "No routing rules apply from here on"
    return f"{count:,} routing rule{'s' * (count != 1)} can choose the model: /rules show"


def _describe_mistakes(invalid: RoutingPolicyInvalid) -> str:
    rest = "stay in use" if invalid.using_last_known_good else "are not used"
    before = "; the rules that it had before" if invalid.using_last_known_good else "; its rules"
    return f"{_join_names(invalid.errors)}{before} {rest}"


def describe_summary(fact: ContextCompacted | BranchSummarised) -> str:
    """Return the head of a summary: what it is about, who wrote it, and what that cost.

    Of one that was imported only the first is known.
    """
    name = fact.model.partition(":")[2]  # short, so that all is in one line
    writer = f", by {name}" if name else ""
    if fact.problem:
        writer = f", without a model: {_one_line(fact.problem)}"
    if isinstance(cost := fact.cost_usd, Decimal):
        writer = f"{writer}, {format_money(cost)}"
    if isinstance(fact, BranchSummarised):
        return f"Summarised the branch that was left{writer}"
    if not fact.turn_count:
        return f"Summarised what came before{writer}"
    turns = f"{fact.turn_count:,} {'turn' if fact.turn_count == 1 else 'turns'}"
    sizes = f"about {fact.tokens_before:,} → {fact.tokens_after:,} tokens"
    return f"Summarised {turns}, {sizes}{writer}"


def _describe_end(ended: ProcessEnded) -> tuple[Literal["info", "warning"], str]:
    process = f"Process {ended.process_id}, {_one_line(ended.command)[:_MAX_COMMAND]},"
    match ended.reason:
        case "stopped":
            return "info", f"{process} was stopped"
        case "session_ended":
            return "info", f"{process} ended with the session"
        case "program_died":
            return "warning", f"{process} ended when the program died; /processes lists it"
        case "exited" if ended.exit_code == 0:
            return "info", f"{process} has ended"
        case "exited":
            return "warning", f"{process} has ended, {_format_code(ended.exit_code or 0)}"


def _format_code(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"exit code {code}"


def describe_lasting_changes(changed: FilesChanged) -> str:
    """Return a text about changes that cannot be taken back; empty if there are none."""
    paths = [*describe_paths(each.path for each in changed.changes if not each.is_undoable)]
    if changed.omitted:
        paths.append(f"{changed.omitted:,} more files")
    return f"/undo cannot take back changes to {_join_names(paths)}" if paths else ""


def _describe_restored(restored: FilesRestored) -> tuple[Literal["info", "warning"], str]:
    names = describe_paths(restored.paths)
    count = f"{len(names):,} file{'s' * (len(names) != 1)}"
    has_files_only = not any(map(is_git_path, restored.paths))
    named = filter(None, (count if has_files_only else "", _join_names(names)))
    text = f"{_VERBS[restored.kind]} the changes to {': '.join(named)}"
    if not restored.left:
        return "info", text
    left = [f"{describe_path(each.path)} ({each.reason})" for each in restored.left]
    return "warning", f"{text}. Left as they are: {_join_names(left)}"


def _join_names(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(_one_line, names[:_MAX_NAMED])) + more


def _one_line(name: str) -> str:
    return printable(name).replace("\n", " ")
