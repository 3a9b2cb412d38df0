"""Build the model requests of a turn.

`prepare_request` can process the entire history, so it runs in a thread. The session environment
has the view and the encoding of the last request, which the next one extends.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from yourtool.agent.history.elision import elision_notice
from yourtool.agent.turn.limits import confirm_wait
from yourtool.agent.turn.turn import Turn
from yourtool.effects import ToolDefinition
from yourtool.errors import ErrorClass
from yourtool.events.deltas import Notice
from yourtool.events.model_calls import LlmCallFailed
from yourtool.ids import new_id
from yourtool.messages.invariants import validate_session
from yourtool.messages.message import Message, Role
from yourtool.messages.metadata import RequestOptions
from yourtool.providers.base import FileRoots, ForcedTool, Request, ToolChoice
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.dropped_blocks import DropLog
from yourtool.providers.estimate import estimate_tokens
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.output_limits import fit_output
from yourtool.providers.requests.reasoning_effort import effective_effort
from yourtool.providers.requests.request_view import RequestView, ViewRules, find_last_opaque_id

_REJECTED = (400, 422)


class SilentRequest(Struct, frozen=True):
    """The content of a silent call."""

    purpose: str
    """What the reply is for, such as `title`; stored with the facts of the call."""
    messages: Sequence[Message]
    system: Sequence[Message] = ()
    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the model does not call, for a prefix that the provider has in its cache."""
    tool_choice: ToolChoice = "none"
    """Anthropic's cache has the messages only if it is that of the request before."""
    question: str | UnsetType = UNSET
    """The question of the user, stored with the call."""


class PreparedRequest(Struct, frozen=True):
    """A request that is ready to be sent."""

    request: Request
    notice: str | None
    """A notice to show once per session."""
    estimated_tokens: int
    problem: str | None
    """Why the request cannot be sent."""


def prepare_request(turn: Turn) -> PreparedRequest:
    """Return the next request of the conversation, with new ids; has no side effects.

    Raises:
        InvalidRequestError: the model does not support a block that is marked critical.
    """
    env = turn.env
    history = turn.state.conversation_for(turn.model.id)
    view = _build_view(turn, env.requests.view, history)
    request, notice = _build_request(
        turn,
        (*turn.prompt.system, turn.prompt.build_situation(), *view),
        turn.get_tools(),
        tool_choice=env.requests.tool_choice,
        output_schema=env.requests.output_schema,
    )
    estimate = turn.estimate()
    request = replace(
        request,
        encoded_history=env.requests.encoded_history,
        max_output_tokens=_fit(turn, estimate),
    )
    return PreparedRequest(request, notice, estimate, _find_problem(request))


def compose_messages(turn: Turn, drops: DropLog) -> tuple[Message, ...]:
    """Return the messages of the next request; has no effect on it. `drops` gets what it lacks.

    Raises:
        InvalidRequestError: as `prepare_request`.
    """
    env, model = turn.env, turn.model
    history = turn.state.conversation_for(model.id)
    view = RequestView().build(history, _build_rules(turn), drops)
    messages = (*turn.prompt.system, turn.prompt.build_situation(), *view)
    places = FileRoots(env.place.blobs, env.place.workspace.root)
    return tuple(fit_attachments(messages, model, places, drops).messages)


def prepare_silent_request(turn: Turn, silent: SilentRequest) -> PreparedRequest:
    """Return the request of a silent call; as `prepare_request`."""
    messages = (*silent.system, *_build_view(turn, RequestView(), silent.messages))
    request, notice = _build_request(turn, messages, silent.tools, tool_choice=silent.tool_choice)
    estimate = estimate_tokens(request.messages, request.tools, request.model.id)
    request = replace(request, max_output_tokens=_fit(turn, estimate))
    return PreparedRequest(request, notice, estimate, _find_problem(request))


def _fit(turn: Turn, estimate: int) -> int:
    return fit_output(turn.model, estimate, turn.env.spending.limits.max_output_tokens)


def _find_problem(request: Request) -> str | None:
    if all(message.role is Role.SYSTEM for message in request.messages):
        return "The conversation contains nothing that can be sent."
    if problems := validate_session(request.messages):
        return f"The conversation cannot be sent: {'; '.join(problems)}."
    return None


def _build_view(turn: Turn, view: RequestView, history: Sequence[Message]) -> Sequence[Message]:
    return view.build(history, _build_rules(turn), turn.env.requests.losses)


def _build_rules(turn: Turn) -> ViewRules:
    api, omitted = _get_api(turn), turn.omit_opaque_through
    return ViewRules(turn.model, turn.env.requests.thinking_on_swap, api, omitted)


def _build_request(
    turn: Turn,
    messages: Sequence[Message],
    tools: tuple[ToolDefinition, ...],
    *,
    tool_choice: ToolChoice = "none",
    output_schema: Mapping[str, Any] | None = None,
) -> tuple[Request, str | None]:
    """Return a request, and a notice about the attachments that it omits."""
    model, env, user = turn.model, turn.env, turn.env.user
    tools = tools if model.capabilities.supports_tools else ()
    places = FileRoots(env.place.blobs, env.place.workspace.root)
    messages, notice = fit_attachments(messages, model, places, env.requests.losses)
    waiting = partial(confirm_wait, user.confirm, turn.channel)
    request = Request(
        request_id=new_id(),
        session_id=turn.session_id,
        message_id=new_id(),
        model=model,
        messages=messages,
        tools=tools,
        max_output_tokens=model.capabilities.max_output_tokens,
        effort=turn.means.effort,
        tool_choice=tool_choice,
        output_schema=output_schema,
        cache=plan_cache(messages, tools, model, env.requests.cache_retention),
        drop_log=env.requests.losses,
        tool_ids=env.requests.tool_ids,
        file_roots=places,
        interrupt=turn.interrupt,
        confirm_wait=waiting if user.interactive else None,
    )
    return request, notice


def shorten_next_request(failure: LlmCallFailed, turn: Turn) -> Sequence[Notice] | None:
    """Return notices if the next request omits what this one was rejected for, else None."""
    if failure.message is not None or failure.cut_calls:
        return None
    if turn.state.branch.shrunk_after_overflow:
        return [Notice(level="warning", text=elision_notice(turn.model.id))]
    if not _omit_opaque_blocks(turn, failure):
        return None
    return turn.env.user.new_notices(
        f"`{turn.model.id}` rejected the request. It is retried once without the reasoning and"
        " other opaque data of earlier replies; the session still stores them."
    )


def _omit_opaque_blocks(turn: Turn, failure: LlmCallFailed) -> bool:
    """Omit the model's opaque blocks from the next request, if it may have rejected them.

    Return whether the next request differs from the one that failed.
    """
    if (
        failure.error_class != ErrorClass.INVALID_REQUEST
        or failure.provider_status not in _REJECTED
    ):
        return False
    last = find_last_opaque_id(turn.state.conversation_for(turn.model.id), turn.model)
    previous = turn.omit_opaque_through
    if last is None or (previous is not None and last <= previous):
        return False
    turn.recovery.trial_omission = last
    return True


def request_options(turn: Turn, request: Request) -> RequestOptions:
    """Return the options of a request, to be stored with its reply."""
    choice = request.tool_choice
    tool_choice = f"tool:{choice.name}" if isinstance(choice, ForcedTool) else choice
    return RequestOptions(
        thinking_level=effective_effort(request.model, request.effort),
        max_tokens=request.max_output_tokens,
        tool_choice=tool_choice if request.tools else None,
        cache_retention=turn.env.requests.cache_retention,
        api=_get_api(turn),
    )


def _get_api(turn: Turn) -> str | None:
    row = turn.env.requests.registry.spec(turn.model.provider)
    return row.api if row else None
