"""Configured agents as models of the catalogue."""

from collections.abc import Iterable

from yourtool.models import AGENT, AdapterCapabilities, Model
from yourtool.providers.catalogue.models import Catalogue

_CAPABILITIES = AdapterCapabilities(
    max_context_tokens=1_000_000,
    max_output_tokens=64_000,
)
"""An agent shortens its own history, and has its own prompt and tools.

It gets texts only: what else an agent takes is not known before it was started.
"""


def add_agents(catalogue: Catalogue, names: Iterable[str]) -> None:
    """Add a model for each agent; the user's tables can give it an alias and a price.

    Without a price, its cost is not known: an agent reports tokens, if anything.
    """
    catalogue.add_discovered(
        AGENT,
        (Model(id=f"{AGENT}:{name}", wire_name=name, capabilities=_CAPABILITIES) for name in names),
    )


def describe_hand_over(*, has_conversation: bool) -> tuple[str, ...]:
    """Return what an agent that becomes the model of a session does not get, for the user.

    `has_conversation`: whether there is one that it has not seen.
    """
    earlier = "it gets the conversation as one text, with long parts shortened"
    return (
        "it has its own prompt, tools and settings; instructions, skills, memory and MCP servers"
        " of this session are not sent",
        *([earlier] if has_conversation else []),
        "it runs outside the sandbox, with all your rights; what it asks for is asked here",
    )
