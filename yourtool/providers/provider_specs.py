"""Provider specifications.

The user's settings are merged with the built-in ones.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from yourtool.providers.quirks import find_quirks
from yourtool.providers.urls import is_loopback, origin_of
from yourtool.settings.config import Api, Config, ProviderConfig


class ProviderSpec(Struct, frozen=True, kw_only=True):
    """One provider: its API, address and credentials."""

    name: str
    api: Api | Literal["scripted"]
    base_url: str = ""
    base_url_env: str = ""
    """Environment variable that overrides the base URL."""
    key_env: tuple[str, ...] = ()
    """Environment variables for the key; messages to the user name the first."""
    profile_env: str = ""
    """Environment variable that selects a login of the vendor's SDK."""
    label: str
    key_url: str = ""
    """Web page to create a key."""
    default_model: str = ""
    """Canonical id; empty: no default."""
    needs_key: bool = True
    """Whether a key is required, except on this machine."""
    start_command: str = ""
    """Command that starts a local server."""
    sdk: bool = False
    """Use the vendor's SDK."""
    headers: Mapping[str, str] = {}
    quirks: Mapping[str, bool | str] = {}

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine; a local server needs no key."""
        return is_loopback(self.base_url)

    @property
    def is_demo(self) -> bool:
        """Whether a script replies instead of a model."""
        return self.api == "scripted"

    @property
    def is_official(self) -> bool:
        """Whether it is the vendor of the API, not a compatible server."""
        return any(
            own.api == self.api and origin_of(own.base_url) == origin_of(self.base_url)
            for own in BUILT_IN
            if own.base_url
        )


BUILT_IN = (
    ProviderSpec(
        name="anthropic",
        api="messages",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        profile_env="ANTHROPIC_PROFILE",
        label="Anthropic",
        key_url="https://platform.claude.com/settings/keys",
        default_model="anthropic:claude-sonnet-4-6",
    ),
    ProviderSpec(
        name="openai",
        api="responses",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env=("OPENAI_API_KEY",),
        label="OpenAI",
        key_url="https://platform.openai.com/api-keys",
        default_model="openai:gpt-6-sol",
    ),
    ProviderSpec(
        name="openrouter",
        api="chat",
        base_url="https://openrouter.ai/api/v1",
        base_url_env="OPENROUTER_BASE_URL",
        key_env=("OPENROUTER_API_KEY",),
        label="OpenRouter",
        key_url="https://openrouter.ai/keys",
        default_model="openrouter:anthropic/claude-sonnet-4.6",
        quirks=find_quirks("https://openrouter.ai/api/v1"),
    ),
    ProviderSpec(
        name="google",
        api="generate-content",
        base_url="https://generativelanguage.googleapis.com",
        base_url_env="GOOGLE_GEMINI_BASE_URL",
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        label="Google",
        key_url="https://aistudio.google.com/apikey",
        default_model="google:gemini-3.5-flash",
    ),
    ProviderSpec(
        name="ollama",
        api="ollama",
        base_url="http://127.0.0.1:11434",
        base_url_env="OLLAMA_HOST",
        label="Ollama",
        needs_key=False,
        start_command="ollama serve",
    ),
    ProviderSpec(
        name="demo", api="scripted", label="Demo (a script, no model)", default_model="demo:tour"
    ),
)


def provider_specs(config: Config, environ: Mapping[str, str]) -> list[ProviderSpec]:
    """Return all providers, built-in ones first; a base URL in the environment takes precedence."""
    names = {row.name for row in BUILT_IN}
    rows = [
        *BUILT_IN,
        *(
            ProviderSpec(name=name, api="chat", label=name)
            for name in config.providers
            if name not in names
        ),
    ]
    return [
        _with_settings(
            row, config.providers.get(row.name, ProviderConfig()), environ.get(row.base_url_env)
        )
        for row in rows
    ]


def _with_settings(
    row: ProviderSpec, settings: ProviderConfig, url: str | None = None
) -> ProviderSpec:
    """Return the specification merged with a user's settings.

    The base URL selects the quirks of a well-known host; the user's quirks override them.
    `url` overrides every other base URL.
    """
    base_url = url or settings.base_url or row.base_url
    return replace(
        row,
        api=row.api if row.is_demo else settings.api or row.api,
        base_url=base_url,
        key_env=(settings.key_env,) if settings.key_env else row.key_env,
        sdk=settings.sdk or row.sdk,
        headers={**row.headers, **settings.headers},
        quirks={**row.quirks, **find_quirks(base_url), **settings.quirks},
    )
