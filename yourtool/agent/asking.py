"""One model request made of a turn: what is sent, and with which options."""

from yourtool.agent.turn import Turn
from yourtool.ids import new_id
from yourtool.messages import RequestOptions
from yourtool.models import Model
from yourtool.providers.base import OneTool, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.requests import hygiene
from yourtool.providers.requests.allowance import Places, fitted
from yourtool.providers.requests.thinking import asked


def request_of(turn: Turn) -> tuple[Request, str | None]:
    """Return the next request of the turn, with ids of its own, and what to say of it once."""
    model, wishes = turn.model, turn.wishes
    tools = turn.around.toolbox.definitions if model.capabilities.supports_tools else ()
    conversation = hygiene.view(
        turn.state.conversation_for(model.id), model, turn.around.thinking_on_swap
    )
    places = Places(turn.around.blobs, turn.around.workspace.root)
    messages, left_out = fitted((*turn.system, *conversation), model, places)
    request = Request(
        request_id=new_id(),
        session_id=turn.session_id,
        message_id=new_id(),
        model=model,
        messages=messages,
        tools=tools,
        max_output_tokens=model.capabilities.max_output_tokens,
        effort=asked(model, wishes.effort),
        tool_choice=wishes.tool_choice,
        output_schema=wishes.output_schema,
        cache=plan_cache(messages, tools, model, wishes.cache_retention),
        tool_ids=turn.around.tool_ids,
        workspace_path=str(turn.around.workspace.root),
        blobs_path=str(turn.around.blobs),
        interrupt=turn.interrupt,
    )
    return request, _left_out(left_out, model) if left_out else None


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
    )


def _left_out(number: int, model: Model) -> str:
    can = model.capabilities
    most = f"{can.max_images:,} images and {can.max_request_bytes / 2**20:.3g} MiB"
    what = "1 attachment is" if number == 1 else f"{number:,} attachments are"
    return (
        f"{what} left out of what `{model.id}` is sent, the oldest or too large: it takes at most"
        f" {most} in one request. The session keeps all; a model that takes more gets more."
    )
