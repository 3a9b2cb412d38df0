"""Build the model requests of a turn.

`prepare_request` processes the entire history, so it runs in a thread.
"""

from functools import partial
from typing import NamedTuple

from yourtool.agent.turn.limits import confirm_wait
from yourtool.agent.turn.turn import Turn
from yourtool.errors import ErrorClass
from yourtool.events.model_calls import LlmCallFailed
from yourtool.ids import new_id
from yourtool.messages.metadata import RequestOptions
from yourtool.providers.base import FileRoots, ForcedTool, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.requests import request_view
from yourtool.providers.requests.attachment_limits import fit_attachments
from yourtool.providers.requests.reasoning_effort import effective_effort

_REJECTED = (400, 422)


class PreparedRequest(NamedTuple):
    """A request that is ready to be sent."""

    request: Request
    notice: str | None
    """A notice to show once per session."""
    estimated_tokens: int


def prepare_request(turn: Turn) -> PreparedRequest:
    """Return the next request of the turn with new ids; has no side effects.

    Raises:
        InvalidRequestError: the model does not support a block that is marked critical.
    """
    model, env = turn.model, turn.env
    tools = turn.toolbox.definitions if model.capabilities.supports_tools else ()
    conversation = request_view.build_request_view(
        turn.state.conversation_for(model.id),
        model,
        turn.env.thinking_on_swap,
        _get_api(turn),
        turn.rejected_through or turn.state.rejected_through.get(model.id),
        turn.env.losses,
    )
    places = FileRoots(turn.env.blobs, turn.env.workspace.root)
    messages, remark = fit_attachments(
        (*turn.system, *conversation), model, places, turn.env.losses
    )
    request = Request(
        request_id=new_id(),
        session_id=turn.session_id,
        message_id=new_id(),
        model=model,
        messages=messages,
        tools=tools,
        max_output_tokens=model.capabilities.max_output_tokens,
        effort=turn.effort,
        tool_choice=env.tool_choice,
        output_schema=env.output_schema,
        cache=plan_cache(messages, tools, model, env.cache_retention),
        drop_log=turn.env.losses,
        tool_ids=turn.env.tool_ids,
        file_roots=places,
        interrupt=turn.interrupt,
        confirm_wait=partial(confirm_wait, turn.env.confirm) if turn.env.interactive else None,
    )
    return PreparedRequest(request, remark, turn.estimate())


def omit_opaque_blocks(turn: Turn, failure: LlmCallFailed) -> bool:
    """Omit the model's opaque blocks from the next request, if it may have rejected them.

    Return whether the next request differs from the one that failed.
    """
    if (
        failure.error_class != ErrorClass.INVALID_REQUEST
        or failure.provider_status not in _REJECTED
    ):
        return False
    last = request_view.find_last_opaque_id(turn.state.conversation_for(turn.model.id), turn.model)
    previous = turn.rejected_through or turn.state.rejected_through.get(turn.model.id)
    if last is None or (previous is not None and last <= previous):
        return False
    turn.rejected_through = last
    return True


def opaque_omission_notice(model_id: str) -> str:
    """Return the notice for a request that is retried without the model's opaque blocks."""
    return (
        f"`{model_id}` rejected the request. It is retried once without the reasoning and other"
        " opaque data of earlier replies; the session still stores them."
    )


def request_options(turn: Turn) -> RequestOptions:
    """Return the options of the turn's requests, to be stored with each reply."""
    model, env = turn.model, turn.env
    choice, has_tools = env.tool_choice, model.capabilities.supports_tools
    tool_choice = f"tool:{choice.name}" if isinstance(choice, ForcedTool) else choice
    return RequestOptions(
        thinking_level=effective_effort(model, turn.effort),
        max_tokens=model.capabilities.max_output_tokens,
        tool_choice=tool_choice if has_tools and turn.toolbox.definitions else None,
        cache_retention=env.cache_retention,
        api=_get_api(turn),
    )


def _get_api(turn: Turn) -> str | None:
    row = turn.env.registry.spec(turn.model.provider)
    return row.api if row else None
