import json
import logging
import subprocess
import sys

import pytest

from tests.providers.fakes import build_paths, collect_events, request
from tests.providers.local_server import LocalServer, head
from yourtool.errors import AuthError, InvalidRequestError, UsageError
from yourtool.events.deltas import AttemptFailed, MessageComplete
from yourtool.events.model_calls import LlmCallFailed
from yourtool.messages.blocks import TextBlock
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.catalogue.discovery import fetch_models
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.settings.agent_config import Limits
from yourtool.settings.config import Config, ProviderConfig
from yourtool.settings.credentials import Credentials

CANARY = "sk-canary-0123456789abcdefghijklmnop"


@pytest.fixture
async def open_registry(tmp_path):
    registries = []

    def opener(environ=None, explicit=None, *, interactive=True, **config):
        environ = environ or {}
        credentials = Credentials(build_paths(tmp_path), environ, explicit)
        registry = Registry(Config(**config), credentials, environ, interactive=interactive)
        registries.append(registry)
        return registry

    yield opener
    for registry in registries:
        await registry.close()


def model(name: str) -> Model:
    return Model(id=name, wire_name=name.partition(":")[2], capabilities=AdapterCapabilities())


def local(url, **settings):
    return {"local": ProviderConfig(base_url=url, **settings)}


def test_providers_of_the_user_follow_the_builtin_ones(open_registry):
    rows = open_registry(providers=local("http://127.0.0.1:1/v1")).providers()
    assert [(row.name, row.api) for row in rows] == [
        ("anthropic", "messages"),
        ("openai", "responses"),
        ("openrouter", "chat"),
        ("google", "generate-content"),
        ("ollama", "ollama"),
        ("demo", "scripted"),
        ("local", "chat"),
    ]
    assert all(row.label for row in rows)


def test_missing_key_error_names_the_variable_the_command_and_the_file(open_registry, tmp_path):
    registry = open_registry()
    assert registry.configuration_problem("anthropic") == (
        "`anthropic` has no key: set `ANTHROPIC_API_KEY`, enter one with `/key anthropic`, or put"
        f" it into `{tmp_path / 'credentials.toml'}`."
    )
    outside = open_registry(interactive=False).configuration_problem("anthropic") or ""
    assert "enter one with `yourtool auth set anthropic`, or" in outside
    assert "`OPENAI_API_KEY`" in (registry.configuration_problem("openai") or "")
    assert "`OPENROUTER_API_KEY`" in (registry.configuration_problem("openrouter") or "")
    assert registry.configuration_problem("demo") is None
    assert registry.default_model() == "demo:tour"


def test_rejected_key_file_is_part_of_the_error(open_registry, tmp_path):
    path = tmp_path / "credentials.toml"
    path.write_text("schema_version = 1\n")
    path.chmod(0o644)
    assert f"run `chmod 600 {path}`" in (open_registry().configuration_problem("anthropic") or "")


@pytest.mark.parametrize(
    ("variable", "provider", "default"),
    [
        ("ANTHROPIC_API_KEY", "anthropic", "anthropic:"),
        ("ANTHROPIC_AUTH_TOKEN", "anthropic", "anthropic:"),
        ("ANTHROPIC_PROFILE", "anthropic", "anthropic:"),
        ("OPENAI_API_KEY", "openai", "openai:"),
        ("OPENROUTER_API_KEY", "openrouter", "openrouter:"),
    ],
)
def test_key_variable_configures_its_provider_and_default_model(
    open_registry, variable, provider, default
):
    registry = open_registry({variable: CANARY})
    assert registry.configuration_problem(provider) is None
    assert registry.default_model().startswith(default)


def test_first_row_with_a_key_gives_the_default_model(open_registry):
    registry = open_registry({"OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": "k"})
    assert registry.default_model().startswith("openai:")


def test_undefined_provider_is_rejected_with_the_required_settings(open_registry, tmp_path):
    why = open_registry().configuration_problem("nobody") or ""
    assert "There is no provider `nobody`" in why
    assert f"`[providers.nobody]` with a `base_url` to `{tmp_path / 'config.toml'}`" in why


def test_provider_of_the_user_needs_a_base_url_and_if_remote_a_key(open_registry):
    nowhere = open_registry(providers={"x": ProviderConfig()})
    assert "needs a `base_url`" in (nowhere.configuration_problem("x") or "")
    away = {"x": ProviderConfig(base_url="https://x.example/v1", key_env="X_KEY")}
    assert "set `X_KEY`, enter one with `/key x`" in (
        open_registry(providers=away).configuration_problem("x") or ""
    )
    assert open_registry({"X_KEY": "k"}, providers=away).configuration_problem("x") is None
    here = {"x": ProviderConfig(base_url="http://localhost:8080/v1")}
    assert open_registry(providers=here).configuration_problem("x") is None


def test_base_url_comes_from_the_environment_then_the_settings_then_the_row(open_registry):
    settings = {"openai": ProviderConfig(base_url="http://127.0.0.1:2/v1")}
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:3/v1"}

    def url(registry):
        return next(row.base_url for row in registry.providers() if row.name == "openai")

    assert url(open_registry()) == "https://api.openai.com/v1"
    assert url(open_registry(providers=settings)) == "http://127.0.0.1:2/v1"
    assert url(open_registry(environ, providers=settings)) == "http://127.0.0.1:3/v1"


async def test_saved_key_is_bound_to_the_address_of_the_provider(open_registry):
    registry = open_registry()
    registry.save_key("anthropic", CANARY)
    assert registry.configuration_problem("anthropic") is None
    moved = open_registry({"ANTHROPIC_BASE_URL": "https://evil.example"})
    assert "entered for `https://api.anthropic.com`" in (
        moved.configuration_problem("anthropic") or ""
    )
    with LocalServer(lambda *_: [head(200, 2), b"{}"]) as server:
        here = open_registry({"ANTHROPIC_BASE_URL": server.url}, limits=Limits(max_retries=0))
        await collect_events(
            here.adapter(model("anthropic:m")), request(model=model("anthropic:m"))
        )
    [(_, headers, _)] = server.requests
    assert CANARY not in str(headers)


@pytest.mark.parametrize("provider", ["demo", "nobody"])
def test_key_is_rejected_for_a_keyless_or_unknown_provider(open_registry, provider):
    with pytest.raises(UsageError):
        open_registry().save_key(provider, CANARY)


async def sent_by(registry, model_id, server):
    outgoing = request(model=model(model_id))
    await collect_events(registry.adapter(outgoing.model), outgoing)
    return server.requests[-1]


async def test_each_dialect_has_its_path_and_key_header(open_registry):
    with LocalServer(lambda *_: [head(400, 2), b"{}"]) as server:
        registry = open_registry(
            {
                "ANTHROPIC_API_KEY": CANARY,
                "ANTHROPIC_BASE_URL": server.url,
                "OPENAI_API_KEY": CANARY,
                "OPENAI_BASE_URL": f"{server.url}/v1",
            },
            providers={
                "gateway": ProviderConfig(
                    api="messages", base_url=f"{server.url}/anthropic", headers={"x-team": "blue"}
                )
            },
        )
        line, headers, body = await sent_by(registry, "anthropic:claude-x", server)
        assert line == "POST /v1/messages HTTP/1.1"
        assert (headers["x-api-key"], headers["anthropic-version"]) == (CANARY, "2023-06-01")
        assert "authorization" not in headers
        assert json.loads(body)["model"] == "claude-x"
        line, headers, body = await sent_by(registry, "openai:gpt-x", server)
        assert line == "POST /v1/responses HTTP/1.1"
        assert headers["authorization"] == f"Bearer {CANARY}"
        assert json.loads(body)["model"] == "gpt-x"
        line, headers, _ = await sent_by(registry, "gateway:m", server)
        assert line == "POST /anthropic/v1/messages HTTP/1.1"
        assert headers["x-team"] == "blue"
        assert not {"x-api-key", "authorization"} & headers.keys()


async def test_openai_uses_chat_completions_if_configured(open_registry):
    with LocalServer(lambda *_: [head(400, 2), b"{}"]) as server:
        registry = open_registry(
            {"OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": f"{server.url}/v1"},
            providers={"openai": ProviderConfig(api="chat")},
        )
        line, _, _ = await sent_by(registry, "openai:gpt-x", server)
    assert line == "POST /v1/chat/completions HTTP/1.1"


async def test_ollama_needs_no_key_and_uses_the_address_in_its_variable(open_registry):
    assert open_registry().configuration_problem("ollama") is None
    assert open_registry().default_model() == "demo:tour"
    assert open_registry({"OLLAMA_HOST": "gpu.example"}).configuration_problem("ollama") is None
    with LocalServer(lambda *_: [head(400, 2), b"{}"]) as server:
        registry = open_registry({"OLLAMA_HOST": f"127.0.0.1:{server.port}"})
        line, headers, body = await sent_by(registry, "ollama:qwen3:8b", server)
    assert line == "POST /api/chat HTTP/1.1"
    assert "authorization" not in headers
    assert json.loads(body)["model"] == "qwen3:8b"


@pytest.mark.req("R-OLL-03")
async def test_error_for_stopped_ollama_explains_how_to_start_it(open_registry):
    with LocalServer(lambda *_: []) as server:
        port = server.port
    registry = open_registry({"OLLAMA_HOST": f"0.0.0.0:{port}"}, limits=Limits(max_retries=0))
    outgoing = request(model=model("ollama:qwen3:8b"))
    _, error = await collect_events(registry.adapter(outgoing.model), outgoing)
    assert error is not None
    assert error.error_class == "network"
    assert f"`127.0.0.1:{port}` could not be reached" in str(error)
    assert "`ollama serve` starts it" in str(error)


async def test_provider_lists_its_models_with_its_key(open_registry):
    listed = b'{"data":[{"id":"claude-x"}]}'
    with LocalServer(lambda *_: [head(200, len(listed)), listed]) as server:
        registry = open_registry({"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": server.url})
        [found] = await fetch_models(registry, "anthropic")
        [(_, headers, _)] = server.requests
    assert (found.id, found.known, found.price) == ("anthropic:claude-x", False, None)
    assert (headers["x-api-key"], headers["anthropic-version"]) == (CANARY, "2023-06-01")
    assert await fetch_models(registry, "demo") == ()
    with pytest.raises(AuthError, match="has no key"):
        await fetch_models(registry, "openai")


def test_server_found_later_is_added_and_never_replaces_another(open_registry):
    registry = open_registry(providers=local("http://127.0.0.1:1/v1"))
    found = ProviderSpec(name="vllm", api="chat", base_url="http://127.0.0.1:2/v1", label="vLLM")
    registry.add_provider(found)
    registry.add_provider(
        ProviderSpec(name="local", api="chat", base_url="http://x.example", label="x")
    )
    urls = {row.name: row.base_url for row in registry.providers()}
    assert (urls["vllm"], urls["local"]) == ("http://127.0.0.1:2/v1", "http://127.0.0.1:1/v1")
    assert registry.configuration_problem("vllm") is None
    assert (registry.spec("vllm"), registry.spec("lm-studio")) == (found, None)


@pytest.mark.remaining
async def test_official_client_sends_a_bearer_token(open_registry):
    with LocalServer(lambda *_: [head(400, 2), b"{}"]) as server:
        registry = open_registry({"ANTHROPIC_AUTH_TOKEN": CANARY, "ANTHROPIC_BASE_URL": server.url})
        _, headers, _ = await sent_by(registry, "anthropic:claude-x", server)
    assert headers["authorization"] == f"Bearer {CANARY}"
    assert headers["user-agent"] != "python-httpx2"
    assert "x-stainless-lang" in headers
    assert headers["anthropic-version"] == "2023-06-01"


@pytest.mark.remaining
async def test_row_can_select_the_official_client(open_registry):
    with LocalServer(lambda *_: [head(400, 2), b"{}"]) as server:
        registry = open_registry(
            {"OPENAI_API_KEY": CANARY},
            providers={"openai": ProviderConfig(base_url=server.url, sdk=True)},
        )
        line, headers, _ = await sent_by(registry, "openai:gpt-x", server)
    assert line == "POST /responses HTTP/1.1"
    assert headers["authorization"] == f"Bearer {CANARY}"
    assert "x-stainless-lang" in headers


async def test_adapter_is_cached_until_the_key_changes(open_registry):
    registry = open_registry({"OPENAI_API_KEY": "k"})
    registry.save_key("anthropic", "first-key")
    first = registry.adapter(model("anthropic:a"))
    assert registry.adapter(model("anthropic:b")) is first
    registry.save_key("anthropic", "second-key")
    assert registry.adapter(model("anthropic:a")) is not first
    assert registry.adapter(model("openai:a")) is not registry.adapter(model("anthropic:a"))


async def test_number_of_retries_is_configurable(open_registry):
    refusal = b'{"error": {"type": "api_error", "message": "oops"}}'
    with LocalServer(lambda *_: [head(500, len(refusal), retry_after_ms="1"), refusal]) as server:
        registry = open_registry(
            {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": server.url},
            limits=Limits(max_retries=0),
        )
        outgoing = request(model=model("anthropic:a"))
        events, error = await collect_events(registry.adapter(outgoing.model), outgoing)
    assert not any(isinstance(event, AttemptFailed) for event in events)
    assert error is not None
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("model_id", "kind", "words"),
    [
        ("anthropic:a", AuthError, "`anthropic` has no key"),
        ("nobody:a", AuthError, "There is no provider `nobody`"),
        ("demo:nothing", InvalidRequestError, "`demo:nothing` is no demo"),
        ("demo:file", InvalidRequestError, "`demo:file` is no demo"),
        ("odd:a", InvalidRequestError, "quirk"),
    ],
)
async def test_unusable_provider_fails_each_request_with_the_reason(
    open_registry, model_id, kind, words
):
    odd = {"odd": ProviderConfig(base_url="http://127.0.0.1:1", quirks={"wrong": True})}
    registry = open_registry(providers=odd)
    outgoing = request(model=model(model_id))
    events, error = await collect_events(registry.adapter(outgoing.model), outgoing)
    assert events == []
    assert isinstance(error, kind)
    assert words in str(error)


async def test_script_file_is_a_model(open_registry, tmp_path):
    (tmp_path / "s.json").write_text('{"replies": [[{"say": "from the file"}]]}')
    registry = open_registry(
        {"YOURTOOL_DEMO_PACE": "0"}, providers={"demo": ProviderConfig(quirks={"script": "s.json"})}
    )
    outgoing = request(model=model("demo:file"))
    events, _ = await collect_events(registry.adapter(outgoing.model), outgoing)
    assert isinstance(events[-1], MessageComplete)
    assert events[-1].final_content == (TextBlock("from the file"),)


async def test_registry_can_be_closed_twice(open_registry):
    registry = open_registry({"ANTHROPIC_API_KEY": CANARY})
    registry.adapter(model("anthropic:a"))
    await registry.close()
    await registry.close()


@pytest.mark.req("R-CRD-02")
async def test_canary_key_is_in_no_reason_error_or_log(open_registry, caplog):
    caplog.set_level(logging.DEBUG)
    texts = []
    with LocalServer(lambda *_: [head(401, 2), b"{}"]) as server:
        environ = {"ANTHROPIC_API_KEY": CANARY, "ANTHROPIC_BASE_URL": f"{server.url}/?k={CANARY}"}
        registry = open_registry(environ, {"openai": CANARY}, limits=Limits(max_retries=0))
        for name in ("anthropic:a", "openai:a"):
            texts += [
                repr(registry.adapter(model(name))),
                repr(registry),
                registry.configuration_problem("x"),
            ]
        outgoing = request(model=model("anthropic:a"))
        texts.append(await collect_events(registry.adapter(outgoing.model), outgoing))
    unreachable = open_registry(environ, limits=Limits(max_retries=0))
    texts.append(await collect_events(unreachable.adapter(outgoing.model), outgoing))
    assert len(server.requests) == 1
    assert CANARY not in f"{texts} {LlmCallFailed.__name__}"
    assert CANARY not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("yourtool")
    )


def test_checking_providers_imports_no_dialect_client_or_package():
    code = """
import sys
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials
from yourtool.paths import resolve_paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.providers.provider_specs import ProviderSpec
paths = resolve_paths()
Catalogue.load(paths)
Registry(Config(), Credentials(paths)).default_model()
print(*sorted(sys.modules))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    late = {"httpx", "httpx2", "anthropic", "openai", "yourtool.providers.wire"}
    assert late.isdisjoint(loaded)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter", "google", "ollama"])
def test_prepared_provider_imports_nothing_in_the_first_request(provider, tmp_path):
    program = f"""
import sys
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials
from yourtool.models import AdapterCapabilities, Model
from yourtool.paths import resolve_paths
from yourtool.providers.registry import Registry

keys = dict.fromkeys(["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"], "k" * 40)
environ = {{**keys, "GEMINI_API_KEY": "k" * 40}}
registry = Registry(Config(), Credentials(resolve_paths({str(tmp_path)!r}), environ), environ)
model = Model(id="{provider}:any", wire_name="any", capabilities=AdapterCapabilities())
registry.prepare(model)
before = set(sys.modules)
registry.adapter(model)
print(sorted(set(sys.modules) - before))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.startswith("[]"), run.stdout + run.stderr


def test_imported_client_imports_nothing_that_blocks_its_first_request():
    program = """
import asyncio, sys
from yourtool.errors import NetworkError
from yourtool.providers.registry import import_client
from yourtool.providers.transports.http import HttpTransport

async def ask():
    transport = HttpTransport("http://127.0.0.1:1", {})
    try:
        await transport.get("/models")
    except NetworkError:
        await transport.close()

import_client()
before = set(sys.modules)
asyncio.run(ask())
print(sorted(each for each in set(sys.modules) - before if each.startswith("http")))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "[]\n", run.stdout + run.stderr


def test_preparing_an_unusable_provider_does_nothing(open_registry):
    registry = open_registry(providers=local("http://127.0.0.1:1/v1", quirks={"effort": "?"}))
    for name in ("anthropic:x", "local:x", "nobody:x", "demo:tour"):
        registry.prepare(model(name))
