"""Registry of providers.

Only this module imports by name: dialects, transports and vendors' packages are not imported
until a request needs them.
"""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from yourtool.errors import (
    AdapterError,
    AuthError,
    ConfigError,
    InvalidRequestError,
    UsageError,
)
from yourtool.models import AGENT, Model, ModelId
from yourtool.providers.base import Adapter, Transport
from yourtool.providers.dialects.base import Dialect, DialectBuilder, DialectSpec
from yourtool.providers.provider_specs import BUILT_IN, ProviderSpec, provider_specs
from yourtool.providers.transports import certificates
from yourtool.providers.urls import origin_of
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials, Secret


class Registry:
    """All providers and their adapters."""

    def __init__(
        self,
        config: Config,
        credentials: Credentials,
        environ: Mapping[str, str] = os.environ,
        *,
        interactive: bool = True,
    ) -> None:
        """`interactive`: whether errors can mention commands of the interface."""
        self._interactive = interactive
        self._config = config
        self._credentials = credentials
        self._environ = environ
        self._specs = {row.name: _with_parsed_url(row) for row in provider_specs(config, environ)}
        self._adapters: dict[str, tuple[Secret | None, Adapter]] = {}
        self._retired: list[Adapter] = []

    def providers(self) -> tuple[ProviderSpec, ...]:
        """Return all providers, built-in ones first."""
        return tuple(self._specs.values())

    def spec(self, provider: str) -> ProviderSpec | None:
        """Return the specification of a provider; None: unknown."""
        return self._specs.get(provider)

    def configuration_problem(self, provider: str) -> str | None:
        """Return why a provider is not configured and how to fix it; None: it is configured."""
        row = self._specs.get(provider)
        if row is None and provider == AGENT:
            return (
                None if self._config.agents else f"There is no agent; {self._agent_advice('NAME')}"
            )
        if row is None:
            known = ", ".join(f"`{name}`" for name in self._specs)
            return (
                f"There is no provider `{provider}`; there are {known}. Add"
                f" `[providers.{provider}]` with a `base_url` to `{self._config_file}`."
            )
        if row.is_demo:
            return None
        if not row.base_url:
            return f"`[providers.{provider}]` in `{self._config_file}` needs a `base_url`."
        if row.is_local or not row.needs_key:
            return None
        if self._key(row) is not None or self._uses_sdk_login(row):
            return None
        problem = self._credentials.problem(provider, row.key_env, origin=origin_of(row.base_url))
        reason = f" ({problem})" if problem else ""
        ways = [f"set `{row.key_env[0]}`"] if row.key_env else []
        command = "/key" if self._interactive else "yourtool auth set"
        ways.append(f"enter one with `{command} {provider}`")
        way = ", ".join(ways)
        return f"`{provider}` has no key{reason}: {way}, or put it into `{self._credentials.path}`."

    def find_problem(self, model: Model) -> str | None:
        """Return why a model cannot be used; as `configuration_problem`, and for agents by name."""
        name = ModelId.parse(model.id).name
        if not self.is_agent(model) or name in self._config.agents:
            return self.configuration_problem(model.provider)
        known = ", ".join(f"`{each}`" for each in self._config.agents) or "none"
        return f"There is no agent `{name}`; there are: {known}; {self._agent_advice(name)}"

    def is_agent(self, model: Model) -> bool:
        """Whether another agent answers; a provider of the user can have the name, too."""
        return model.provider == AGENT and AGENT not in self._specs

    def has_key(self, provider: str) -> bool:
        """Return whether a provider has a key or needs one."""
        row = self._specs.get(provider)
        if row is None or row.is_demo:
            return False
        return (row.needs_key and not row.is_local) or self._key(row) is not None

    def adapter(self, model: Model) -> Adapter:
        """Return the adapter of a model's provider; one per provider and key.

        If the provider cannot be used, every request of the adapter fails with the reason.
        """
        if self.is_agent(model):
            why = self.find_problem(model) or (
                f"`{model.id}` is an agent, which can answer the prompts of a session only, and"
                " only with the extension for agents."
            )
            return _failing_adapter(InvalidRequestError(why))
        if (why := self.configuration_problem(model.provider)) is not None:
            return _failing_adapter(AuthError(why))
        row = self._specs[model.provider]
        place = model.id if row.is_demo else row.name
        key = self._key(row)
        if (known := self._adapters.get(place)) is not None:
            if known[0] == key:
                return known[1]
            self._retired.append(known[1])
        try:
            adapter = self._demo_adapter(model, row) if row.is_demo else self._wire_adapter(row)
        except ConfigError as error:
            place = f"`[providers.{row.name}]` in `{self._config_file}`"
            return _failing_adapter(InvalidRequestError(f"{place}: {error}"))
        adapter = self._with_retries(adapter)
        self._adapters[place] = key, adapter
        return adapter

    def prepare(self, model: Model) -> None:
        """Import the modules for requests to a model; runs in a thread and sends nothing."""
        row = self._specs.get(model.provider)
        if row is None or row.is_demo or self.configuration_problem(row.name) is not None:
            return
        load_dialect_spec(row)
        with suppress(ConfigError):  # reported by the first request, like those below
            load_dialect(row)
        import_module("yourtool.providers.wire")
        import_module("yourtool.providers.retry")
        import_client()
        if row.base_url.startswith("https:"):
            with suppress(OSError):
                certificates.ssl_context(row.base_url)

    def default_model(self) -> str:
        """Return the default model of the first configured provider, else `demo:tour`."""
        for row in self._specs.values():
            if (
                row.default_model
                and not row.is_demo
                and self.configuration_problem(row.name) is None
            ):
                return row.default_model
        return "demo:tour"

    def add_provider(self, row: ProviderSpec) -> None:
        """Add a discovered provider; an existing one is not replaced."""
        self._specs.setdefault(row.name, row)

    @asynccontextmanager
    async def connection(
        self, provider: str
    ) -> AsyncGenerator[tuple[ProviderSpec, Transport], None]:
        """Open a separate transport to a provider, for requests that are not model requests.

        Raises:
            AuthError: the provider is not configured.
        """
        if (why := self.configuration_problem(provider)) is not None:
            raise AuthError(why)
        row = self._specs[provider]
        transport = self._transport(row)
        try:
            yield row, transport
        finally:
            await transport.close()

    def save_key(self, provider: str, key: str, *, in_keychain: bool | None = None) -> str:
        """Store a key for a provider, bound to the provider's current origin; return the place.

        `in_keychain` None: as the user prefers.

        Raises:
            UsageError: unknown provider or invalid key.
            ConfigError: the credentials file cannot be read or written.
        """
        row = self._specs.get(provider)
        if row is None or row.is_demo:
            raise UsageError(self.configuration_problem(provider) or f"`{provider}` takes no key.")
        origin = origin_of(row.base_url)
        return self._credentials.save(provider, key, origin=origin, in_keychain=in_keychain)

    async def close(self) -> None:
        """Close all connections; idempotent."""
        adapters = [*self._retired, *(adapter for _, adapter in self._adapters.values())]
        self._retired.clear()
        self._adapters.clear()
        for adapter in adapters:
            await adapter.close()

    def _agent_advice(self, name: str) -> str:
        return f"add `[agents.{name}]` with its `command` to `{self._config_file}`."

    @property
    def _config_file(self) -> Path:
        return self._credentials.path.with_name("config.toml")

    def _key(self, row: ProviderSpec) -> Secret | None:
        origin = origin_of(row.base_url)
        return self._credentials.get(row.name, row.key_env, origin=origin)

    def _uses_sdk_login(self, row: ProviderSpec) -> bool:
        return row.sdk or bool(self._environ.get(row.profile_env))

    def _with_retries(self, adapter: Adapter) -> Adapter:
        retry = import_module("yourtool.providers.retry")
        policy = retry.RetryPolicy(max_retries=self._config.limits.max_retries)
        return retry.RetryingAdapter(adapter, policy)

    def _wire_adapter(self, row: ProviderSpec) -> Adapter:
        wire = import_module("yourtool.providers.wire")
        limits = self._config.limits
        idle_timer = import_module("yourtool.providers.idle_timer")
        timeouts = idle_timer.StreamTimeouts(
            first_event=limits.first_event_seconds, content=limits.content_seconds
        )
        return wire.WireAdapter(
            load_dialect(row), self._transport(row), row.name, timeouts=timeouts
        )

    def _transport(self, row: ProviderSpec) -> Transport:
        found = self._credentials.find(row.name, row.key_env, origin=origin_of(row.base_url))
        key, source = found or (None, "")
        spec = load_dialect_spec(row)
        headers = {"user-agent": "yourtool", **spec.headers, **row.headers}
        is_token = source == spec.token_env
        if is_token or self._uses_sdk_login(row):
            return self._sdk_transport(row, key, headers, is_token=is_token)
        if key is not None:
            headers[spec.key_header] = spec.key_format.format(key.reveal())
        transport = import_module("yourtool.providers.transports.http")
        return transport.HttpTransport(row.base_url, headers, start_command=row.start_command)

    def _sdk_transport(
        self, row: ProviderSpec, key: Secret | None, headers: Mapping[str, str], *, is_token: bool
    ) -> Transport:
        if (vendor := load_dialect_spec(row).sdk) is None:
            raise ConfigError(f"there is no library for `{row.api}`; take `sdk` away")
        module = import_module("yourtool.providers.transports.sdk")
        usual = next((each.base_url for each in BUILT_IN if each.name == row.name), "")
        login = module.Login(
            vendor=vendor,
            base_url=None if key is None and row.base_url == usual else row.base_url,
            headers=headers,
            api_key=None if is_token else key,
            auth_token=key if is_token else None,
        )
        return module.SdkTransport(import_module, login)

    def _demo_adapter(self, model: Model, row: ProviderSpec) -> Adapter:
        return import_module("yourtool.providers.demo").demo(
            ModelId.parse(model.id).name,
            home=self._credentials.path.parent,
            script=str(row.quirks.get("script", "")),
            pace=self._environ.get("YOURTOOL_DEMO_PACE", ""),
        )


def import_client(rows: Iterable[ProviderSpec] = ()) -> None:
    """Import the HTTP client and the dialects of some providers; runs in a thread."""
    import_module("yourtool.providers.transports.http").import_client()
    for row in rows:
        load_dialect_spec(row)


def load_dialect_spec(row: ProviderSpec) -> DialectSpec:
    """Return the specification of a provider's dialect."""
    return _import_from_dialect(row, "spec").SPEC


def load_dialect(row: ProviderSpec) -> Dialect:
    """Return the dialect of a provider.

    Raises:
        ConfigError: a quirk of the provider is invalid.
    """
    build: DialectBuilder = _import_from_dialect(row, "dialect").build_dialect
    return build(row)


def _import_from_dialect(row: ProviderSpec, module: str) -> ModuleType:
    package = row.api.replace("-", "_")
    return import_module(f"yourtool.providers.dialects.{package}.{module}")


def _with_parsed_url(row: ProviderSpec) -> ProviderSpec:
    """Return the specification with the base URL in its full form, which built-in ones have."""
    if row.is_demo or any(row.base_url == own.base_url for own in BUILT_IN):
        return row
    return replace(row, base_url=load_dialect_spec(row).parse_base_url(row.base_url))


def _failing_adapter(error: AdapterError) -> Adapter:
    scripted = import_module("yourtool.providers.scripted")
    return scripted.Scripted(lambda request: scripted.fails(error))  # pyright: ignore[reportUnknownLambdaType] - the module is loaded by name
