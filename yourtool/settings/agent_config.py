"""Settings of turns, workers and checks."""

from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct


class Limits(Struct, frozen=True):
    """Limits of a turn, timeouts and retries."""

    max_requests_per_turn: Annotated[
        int, Meta(ge=1, description="Model requests in one turn before it pauses and asks you.")
    ] = 200
    max_cost_per_turn_usd: Annotated[
        Decimal, Meta(description="US dollars in one turn before it pauses and asks you.")
    ] = Decimal("5")
    max_output_tokens: Annotated[
        int,
        Meta(
            ge=1,
            description="Tokens of one reply with its reasoning, at most; fewer if the limit of the"
            " model or its context window is smaller.",
        ),
    ] = 32_000
    confirmation_timeout_seconds: Annotated[
        int, Meta(ge=1, description="How long an approval prompt waits if there is no terminal.")
    ] = 300
    tool_concurrency: Annotated[
        int, Meta(ge=1, le=64, description="Reading calls of one reply that may run at once.")
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


class UndoConfig(Struct, frozen=True):
    """What is copied before a command, so that `/undo` can restore it."""

    max_files: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Files that git has no copy of, untracked or ignored, which are copied"
            " before a command; the latest first.",
        ),
    ] = 5_000
    max_file_bytes: Annotated[
        int, Meta(ge=0, le=16 * 2**20, description="Bytes of such a file.")
    ] = 16 * 2**20
    max_bytes: Annotated[
        int, Meta(ge=0, le=2**30, description="Bytes of all of them, in memory.")
    ] = 64 * 2**20


class AgentConfig(Struct, frozen=True):
    """Another agent, which answers as the model `acp:NAME`."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="The program, which serves ACP on its standard input and output, and its"
            " arguments.",
            examples=[["my-agent", "acp"]],
        ),
    ] = ()
    environment: Annotated[
        tuple[str, ...],
        Meta(
            description="Names of variables that it gets besides those of any command, such as"
            " that of its key.",
            examples=[["MY_AGENT_KEY"]],
        ),
    ] = ()
    files: Annotated[
        bool,
        Meta(description="Whether it can read and write files through `yourtool`."),
    ] = True


Agents: TypeAlias = Annotated[
    dict[str, AgentConfig],
    Meta(description="Agents by name; `docs/agents.md`.", examples=["my-agent"]),
]


class WorkspaceConfig(Struct, frozen=True):
    """Settings of one directory."""

    model: Annotated[str, Meta(description="The model of sessions in this directory.")] = ""


class BudgetConfig(Struct, frozen=True):
    """What requests may cost, in US dollars; None: there is no such limit."""

    session: Annotated[
        Decimal | None,
        Meta(
            description="US dollars of a session with its workers, before it pauses and asks you.",
            examples=[5.0],
        ),
    ] = None
    day: Annotated[
        Decimal | None,
        Meta(
            description="US dollars of all sessions in a day (UTC), before they pause and ask you.",
            examples=[20.0],
        ),
    ] = None
    ask_above: Annotated[
        Decimal | None,
        Meta(
            description="US dollars that the next request may cost by the estimate, before you are"
            " asked.",
            examples=[0.5],
        ),
    ] = None


_MAX_AMOUNT = Decimal(1_000_000)


def find_amount_problem(amount: Decimal) -> str | None:
    """Return what is wrong with a limit in US dollars."""
    if amount.is_finite() and 0 < amount <= _MAX_AMOUNT:
        return None
    if amount == 0:
        return "a limit of 0 would stop every request; remove the line for no limit"
    return f"must be an amount in US dollars, more than 0 and at most {_MAX_AMOUNT:,}"


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
    search_tools_at: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="Percent of the context window from which on models search the tools of MCP"
            " servers with `find_tools`, instead of getting all of them with each request.",
        ),
    ] = 5
    summary_model: Annotated[
        str, Meta(description="The model that writes summaries; empty: that of the turn.")
    ] = ""


class FallbackConfig(Struct, frozen=True):
    """Which model answers while another one is unavailable, and who decides this."""

    policy: Annotated[
        Literal["ask", "auto", "never"],
        Meta(
            description="Whether another model answers during an outage: after a question, without"
            " one if it has the same provider and vendor, or never."
        ),
    ] = "ask"
    models: Annotated[
        tuple[str, ...],
        Meta(description="Those models, in order; empty: models of similar price."),
    ] = ()


class SessionsConfig(Struct, frozen=True):
    """How long sessions are stored."""

    keep_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            description="Days after its last use on which the interface deletes a session, unless"
            " it has a title or a label of yours; 0: sessions stay.",
        ),
    ] = 0


class RoutingConfig(Struct, frozen=True):
    """Learned routing: whether past turns in the same directory choose models, below rules."""

    patterns: Annotated[
        bool,
        Meta(description="Whether past turns choose the model where no rule and no choice does."),
    ] = False
    cost_weight: Annotated[
        float,
        Meta(ge=0, le=1, description="How much a lower cost counts; 0: only how turns went."),
    ] = 0.05
    min_confidence: Annotated[
        float,
        Meta(ge=0, le=1, description="How far a model has to be ahead of the next one."),
    ] = 0.05
    min_samples: Annotated[
        int,
        Meta(ge=1, le=10, description="How many of the ten most similar turns it needs."),
    ] = 5
    surface_disagreement: Annotated[
        bool,
        Meta(description="Whether to name a better model than that of a rule or of `/model`."),
    ] = False
    disagreement_confidence: Annotated[
        float,
        Meta(ge=0, le=1, description="How far that model has to be ahead."),
    ] = 0.85
    judge: Annotated[
        str,
        Meta(
            description="A model that judges turns after their end, which sends their messages to"
            " it; empty: no model.",
        ),
    ] = ""
    judge_max_call_usd: Annotated[
        Decimal, Meta(description="US dollars that one judgement may cost by the estimate.")
    ] = Decimal("0.02")
    judge_max_day_usd: Annotated[
        Decimal, Meta(description="US dollars that all judgements of a day (UTC) may cost.")
    ] = Decimal("0.25")
    judge_max_day_calls: Annotated[
        int, Meta(ge=0, description="How many requests all judgements of a day (UTC) may take.")
    ] = 50


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
