"""Settings of turns, of the workers that they start, and of the checks after edits."""

from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct


class Limits(Struct, frozen=True):
    """Limits of a turn, timeouts and retries."""

    max_requests_per_turn: Annotated[
        int, Meta(ge=1, description="Model requests in one turn before it pauses and asks you.")
    ] = 50
    max_cost_per_turn_usd: Annotated[
        Decimal, Meta(description="US dollars in one turn before it pauses and asks you.")
    ] = Decimal("5")
    confirmation_timeout_seconds: Annotated[
        int, Meta(ge=1, description="How long an approval prompt waits if there is no terminal.")
    ] = 300
    tool_concurrency: Annotated[
        int, Meta(ge=1, le=64, description="Calls of one reply that may run at the same time.")
    ] = 4
    first_event_seconds: Annotated[
        float, Meta(gt=0, description="Timeout for the first event of a reply.")
    ] = 60
    content_seconds: Annotated[
        float, Meta(gt=0, description="Timeout between events of a reply; pings do not count.")
    ] = 90
    max_retries: Annotated[
        int, Meta(ge=0, le=10, description="Retries of a request after a temporary failure.")
    ] = 2


class ContextConfig(Struct, frozen=True):
    """How a conversation is shortened that is too long for its model."""

    make_room_at: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="Percent of the context window from which on old tool outputs are omitted"
            " and old messages are summarised; 0: only after a provider rejects a request.",
        ),
    ] = 85
    summary_model: Annotated[
        str, Meta(description="The model that writes summaries; empty: that of the turn.")
    ] = ""


class DelegationConfig(Struct, frozen=True):
    """The models and limits of workers, to which a model delegates tasks."""

    enabled: Annotated[bool, Meta(description="Whether models can delegate tasks.")] = True
    fast: Annotated[
        str, Meta(description="The model of `fast` workers; empty: that of the delegating turn.")
    ] = ""
    balanced: Annotated[
        str, Meta(description="The model of `balanced` workers; empty: as for `fast`.")
    ] = ""
    deep: Annotated[str, Meta(description="The model of `deep` workers; empty: as for `fast`.")] = (
        ""
    )
    max_seconds: Annotated[
        int, Meta(ge=1, description="How long a worker may take, without waiting for you.")
    ] = 600
    max_tokens: Annotated[
        int, Meta(ge=1_000, description="Tokens of all requests of a worker.")
    ] = 1_000_000
    max_depth: Annotated[
        int,
        Meta(ge=1, le=3, description="1: workers cannot delegate; 2: their workers cannot."),
    ] = 1


class CheckConfig(Struct, frozen=True):
    """A command that runs after edits of files."""

    run: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            description="The program and its arguments, without a shell; `{files}` becomes the"
            " names of the files, each one argument.",
            examples=[["ruff", "format", "{files}"]],
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        Meta(description="Globs of the files after whose edit it runs; empty: every file."),
    ] = ()
    seconds: Annotated[
        float, Meta(gt=0, le=590, description="How long it may take before it is stopped.")
    ] = 30
