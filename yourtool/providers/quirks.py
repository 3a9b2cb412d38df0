"""Differences between Chat Completions servers.

`make docs` writes both tables to `docs/models.md`. Sources: the documentation of the hosts and
the requests that their servers rejected: https://docs.mistral.ai/api,
https://vercel.com/docs/ai-gateway, https://docs.snowflake.com/en/user-guide/snowflake-cortex.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from yourtool.providers.urls import host_of


class Quirks(Struct, frozen=True, forbid_unknown_fields=True):
    """Differences between a server and OpenAI's API."""

    stream_usage: Annotated[
        bool,
        Meta(
            description="Supports `stream_options.include_usage`, which requests the token usage."
        ),
    ] = True
    system_role: Annotated[
        Literal["system", "developer"], Meta(description="The role of the system prompt.")
    ] = "system"
    more_media: Annotated[
        bool,
        Meta(description="Supports audio formats other than WAV and MP3, and PDF URLs."),
    ] = False
    images_in_tool_results: Annotated[
        bool,
        Meta(description="Supports images in tool messages; otherwise a user message has them."),
    ] = False
    short_tool_ids: Annotated[
        bool | None,
        Meta(
            description="Requires tool call ids of exactly nine letters and digits. Not set: the"
            " models of Mistral get such ids."
        ),
    ] = None
    effort: Annotated[
        Literal["reasoning_effort", "reasoning", "none"],
        Meta(
            description="The field for the reasoning effort: a string, OpenRouter's object, or"
            " none."
        ),
    ] = "reasoning_effort"
    reasoning_details: Annotated[
        bool | None,
        Meta(
            description="Supports `reasoning_details` in requests. Not set: entries of a reply are"
            " sent back unchanged to the same model."
        ),
    ] = None
    reasoning_content: Annotated[
        bool | None,
        Meta(
            description="Requires reasoning in every reply. Not set: reasoning is sent back in the"
            " field that it arrived in, and known models that require it get a blank for a reply"
            " without reasoning. No: it is not sent back."
        ),
    ] = None
    reply_after_tools: Annotated[
        bool,
        Meta(
            description="Rejects a user message directly after tool results; a short reply is"
            " inserted between them."
        ),
    ] = False
    cache_breakpoints: Annotated[
        bool,
        Meta(description="Requires `cache_control` breakpoints for the models of some vendors."),
    ] = False
    generation_costs: Annotated[
        bool,
        Meta(
            description="Reports later the cost of a reply that arrived without one, for example"
            " because you stopped it; it is asked in the background, with the key."
        ),
    ] = False


class Host(Struct, frozen=True):
    """A well-known server and its addresses."""

    label: str
    addresses: tuple[str, ...]
    """Host names; one with a leading dot matches all of its subdomains."""
    quirks: Mapping[str, bool | str] = {}
    """Fields of `Quirks` that differ from their defaults."""

    def matches(self, name: str) -> bool:
        """Return whether a lower-case host name is one of the addresses."""
        return any(
            name.endswith(address) if address.startswith(".") else name == address
            for address in self.addresses
        )


_NO_QUIRKS: Mapping[str, bool | str] = {}
_GATEWAY = {"effort": "reasoning"}
HOSTS = (
    Host("Alibaba DashScope (Qwen)", (".aliyuncs.com",)),
    Host(
        "Amazon Bedrock",
        (".amazonaws.com", ".api.aws"),
    ),
    Host(
        "Azure OpenAI",
        (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
    ),
    Host("Cerebras", ("api.cerebras.ai",)),
    Host("Cloudflare Workers AI", ("api.cloudflare.com", "gateway.ai.cloudflare.com")),
    Host("DeepInfra", ("api.deepinfra.com",)),
    Host("DeepSeek", ("api.deepseek.com",)),
    Host("Fireworks AI", ("api.fireworks.ai",)),
    Host("GitHub Models", ("models.github.ai", "models.inference.ai.azure.com")),
    Host("Groq", ("api.groq.com",)),
    Host("Hugging Face", ("router.huggingface.co",)),
    Host("MiniMax", ("api.minimax.io", "api.minimax.chat", "api.minimaxi.com")),
    Host(
        "Mistral",
        (".mistral.ai",),
        {
            "stream_usage": False,
            "short_tool_ids": True,
            "reasoning_content": False,
            "reply_after_tools": True,
        },
    ),
    Host("Moonshot AI (Kimi)", ("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com")),
    Host("Nebius", ("api.tokenfactory.nebius.com", "api.studio.nebius.com")),
    Host("NVIDIA NIM", ("integrate.api.nvidia.com",)),
    Host("OpenAI", ("api.openai.com",), {"reasoning_details": False, "reasoning_content": False}),
    Host(
        "OpenRouter",
        ("openrouter.ai",),
        {
            **_GATEWAY,
            "reasoning_details": True,
            "cache_breakpoints": True,
            "more_media": True,
            "generation_costs": True,
        },
    ),
    Host("Perplexity", ("api.perplexity.ai",)),
    Host("SambaNova", ("api.sambanova.ai",)),
    Host("Snowflake Cortex", (".snowflakecomputing.com",), _GATEWAY),
    Host("Together AI", ("api.together.xyz", "api.together.ai")),
    Host("Vercel AI Gateway", ("ai-gateway.vercel.sh",), _GATEWAY),
    Host("xAI", ("api.x.ai",)),
    Host("Z.ai (GLM)", ("api.z.ai", "open.bigmodel.cn")),
)


def find_quirks(base_url: str) -> Mapping[str, bool | str]:
    """Return the quirks of the host of a base URL, empty for an unknown host."""
    name = host_of(base_url).lower()
    return next((host.quirks for host in HOSTS if host.matches(name)), _NO_QUIRKS)
