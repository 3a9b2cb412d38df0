"""One model request made of a turn: what is sent, and with which options.

It is made of the whole history, so `prepare` runs in a thread.
"""

from functools import partial
from typing import NamedTuple

from yourtool.agent.limits import may_wait
from yourtool.agent.turn import Turn
from yourtool.errors import ErrorClass
from yourtool.events import LlmCallFailed
from yourtool.ids import new_id
from yourtool.messages import RequestOptions
from yourtool.providers.base import FileRoots, ForcedTool, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.requests import hygiene
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.thinking import effective_effort

_REJECTED = (400, 422)


class Prepared(NamedTuple):
    """A request before it is sent."""

    request: Request
    remark: str | None
    """A notice to show once."""
    estimated_tokens: int


def prepare(turn: Turn) -> Prepared:
    """Return the next request of the turn, with ids of its own; changes nothing.

    Raises:
        InvalidRequestError: the model cannot take what is marked critical.
    """
    model, wishes = turn.model, turn.wishes
    tools = turn.around.toolbox.definitions if model.capabilities.supports_tools else ()
    conversation = hygiene.build_request_view(
        turn.state.conversation_for(model.id),
        model,
        turn.around.thinking_on_swap,
        _api_of(turn),
        turn.rejected_through or turn.state.rejected_through.get(model.id),
        turn.around.losses,
    )
    places = FileRoots(turn.around.blobs, turn.around.workspace.root)
    messages, remark = fit_attachments(
        (*turn.system, *conversation), model, places, turn.around.losses
    )
    request = Request(
        request_id=new_id(),
        session_id=turn.session_id,
        message_id=new_id(),
        model=model,
        messages=messages,
        tools=tools,
        max_output_tokens=model.capabilities.max_output_tokens,
        effort=wishes.effort,
        tool_choice=wishes.tool_choice,
        output_schema=wishes.output_schema,
        cache=plan_cache(messages, tools, model, wishes.cache_retention),
        drop_log=turn.around.losses,
        tool_ids=turn.around.tool_ids,
        file_roots=places,
        interrupt=turn.interrupt,
        confirm_wait=partial(may_wait, turn.around.confirm) if turn.around.interactive else None,
    )
    return Prepared(request, remark, turn.estimate())


def leave_out_opaque(turn: Turn, failure: LlmCallFailed) -> bool:
    """Omit the model's opaque blocks from the next request, if it may have rejected them.

    Returns whether the next request differs from the one that failed.
    """
    if (
        failure.error_class != ErrorClass.INVALID_REQUEST
        or failure.provider_status not in _REJECTED
    ):
        return False
    last = hygiene.find_last_opaque_id(turn.state.conversation_for(turn.model.id), turn.model)
    before = turn.rejected_through or turn.state.rejected_through.get(turn.model.id)
    if last is None or (before is not None and last <= before):
        return False
    turn.rejected_through = last
    return True


def opaque_left_out(model_id: str) -> str:
    """Return the notice for a request that is repeated without what only the model can read."""
    return (
        f"`{model_id}` rejected the request. It is repeated once without the reasoning and other"
        " data that the model returned with earlier replies; the session keeps them."
    )


def request_options(turn: Turn) -> RequestOptions:
    """Return how the requests of the turn ask for a reply, to be kept beside it."""
    model, wishes = turn.model, turn.wishes
    choice, has_tools = wishes.tool_choice, model.capabilities.supports_tools
    named = f"tool:{choice.name}" if isinstance(choice, ForcedTool) else choice
    return RequestOptions(
        thinking_level=effective_effort(model, wishes.effort),
        max_tokens=model.capabilities.max_output_tokens,
        tool_choice=named if has_tools and turn.around.toolbox.definitions else None,
        cache_retention=wishes.cache_retention,
        api=_api_of(turn),
    )


def _api_of(turn: Turn) -> str | None:
    row = turn.around.registry.spec(turn.model.provider)
    return row.api if row else None
