"""One model request made of a turn: what is sent, and with which options."""

from yourtool.agent.turn import Turn
from yourtool.ids import new_id
from yourtool.messages import RequestOptions
from yourtool.providers.base import OneTool, Places, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.requests import hygiene
from yourtool.providers.requests.allowance import fitted
from yourtool.providers.requests.thinking import asked


def request_of(turn: Turn) -> tuple[Request, str | None]:
    """Return the next request of the turn, with ids of its own, and what to say of it once."""
    model, wishes = turn.model, turn.wishes
    tools = turn.around.toolbox.definitions if model.capabilities.supports_tools else ()
    conversation = hygiene.view(
        turn.state.conversation_for(model.id), model, turn.around.thinking_on_swap, _api_of(turn)
    )
    places = Places(turn.around.blobs, turn.around.workspace.root)
    messages, remark = fitted((*turn.system, *conversation), model, places)
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
        tool_ids=turn.around.tool_ids,
        places=places,
        interrupt=turn.interrupt,
    )
    return request, remark


def options_of(turn: Turn) -> RequestOptions:
    """Return how the requests of the turn ask for a reply, to be kept beside it."""
    model, wishes = turn.model, turn.wishes
    choice, has_tools = wishes.tool_choice, model.capabilities.supports_tools
    named = f"tool:{choice.name}" if isinstance(choice, OneTool) else choice
    return RequestOptions(
        thinking_level=asked(model, wishes.effort),
        max_tokens=model.capabilities.max_output_tokens,
        tool_choice=named if has_tools and turn.around.toolbox.definitions else None,
        cache_retention=wishes.cache_retention,
        api=_api_of(turn),
    )


def _api_of(turn: Turn) -> str | None:
    row = turn.around.registry.row(turn.model.provider)
    return row.api if row else None
