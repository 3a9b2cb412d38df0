"""Events as lines of text for clients."""

from typing import TypeAlias, assert_never

from msgspec import UNSET

from yourtool.events.branches import BranchSummarised, EntryAdded
from yourtool.events.budgets import BudgetReached, BudgetWarned
from yourtool.events.context import ContextCompacted
from yourtool.events.deltas import Notice, RetryScheduled
from yourtool.events.files import FilesRestored
from yourtool.events.tools import ProcessEnded
from yourtool.events.turns import ProviderUnavailable, RoutingPolicyChanged, RoutingPolicyInvalid
from yourtool.foundation.amounts import format_money
from yourtool.tools.git.git_state import describe_paths

Described: TypeAlias = (
    Notice
    | RetryScheduled
    | ContextCompacted
    | BranchSummarised
    | EntryAdded
    | FilesRestored
    | ProcessEnded
    | ProviderUnavailable
    | RoutingPolicyChanged
    | RoutingPolicyInvalid
    | BudgetWarned
    | BudgetReached
)


def describe(event: Described) -> str:
    """Return a line of the program about an event."""
    match event:
        case Notice(level="info", text=text):
            return text
        case Notice(level=level, text=text):
            return f"{level.capitalize()}: {text}"
        case RetryScheduled():
            attempts = f"{event.attempt} of {event.max_attempts}"
            return f"{event.message}; retrying in {event.delay_seconds:.0f} s ({attempts})."
        case ContextCompacted(message_count=count):
            return f"A summary replaces {count:,} messages in later requests."
        case BranchSummarised(message_count=count):
            return f"A summary has {count:,} messages of the branch that was left."
        case EntryAdded(kind=kind, text=text):
            return f"Added as {kind}: {text}" if event.data is UNSET else text
        case FilesRestored(kind=kind, paths=paths):
            return f"Files restored by {kind}: {', '.join(describe_paths(paths)) or 'none'}."
        case ProcessEnded(process_id=name, command=command, reason=reason):
            return f"Background process {name} ended ({reason.replace('_', ' ')}): {command}"
        case ProviderUnavailable(models_affected=models):
            return f"Not used for now after failures: {', '.join(models)}."
        case RoutingPolicyChanged():
            return "The rules that choose models have changed."
        case RoutingPolicyInvalid(policy_path=path, errors=errors):
            return f"{path} is not used: {'; '.join(errors)}"
        case BudgetWarned(budget=name, percent=percent, limit_usd=limit):
            return f"Warning: {percent}% of the budget {name} ({format_money(limit)}) is used."
        case BudgetReached(budget=name, limit_usd=limit, allowed=allowed):
            answer = "for this turn, you allowed more" if allowed else "the request was not sent"
            return f"The budget {name} ({format_money(limit)}) is reached; {answer}."
        case _:
            assert_never(event)
