"""The cache of model lists between runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.providers.fakes import build_catalogue
from yourtool.agent.commands.model_list import format_source
from yourtool.models import AdapterCapabilities, Model
from yourtool.paths import resolve_paths
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.model_tables import Tables
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials

QWEN = Model(
    id="llama-cpp:qwen",
    wire_name="qwen",
    capabilities=AdapterCapabilities(max_context_tokens=12_345, supports_images=True),
)
SERVER = ProviderSpec(
    name="llama-cpp",
    api="chat",
    base_url="http://127.0.0.1:8080/v1",
    label="llama.cpp",
    headers={"x-secret": "hunter2"},
)


def registry(**environ: str) -> Registry:
    return Registry(Config(), Credentials(resolve_paths()), environ)


@pytest.mark.req("R-EASE-03")
def test_local_server_and_its_models_are_available_in_the_next_run(tmp_path):
    file, catalogue, known = tmp_path / "cache" / "models.json", build_catalogue(), registry()
    discovery_cache.save_discoveries(file, [discovery_cache.new_discovery(SERVER, (QWEN,))])
    assert b"hunter2" not in file.read_bytes()
    discovery_cache.apply_discoveries(discovery_cache.load_discoveries(file), known, catalogue)
    assert catalogue.get("llama-cpp:qwen").capabilities == QWEN.capabilities
    assert known.configuration_problem("llama-cpp") is None
    discovered = catalogue.discovered_at("llama-cpp:qwen")
    assert discovered is not None
    assert format_source(discovered, None, discovered + timedelta(days=3)) == (
        "from its server, 3 d ago"
    )
    assert format_source(None, None, discovered) == ""


@pytest.mark.req("R-EASE-03")
def test_settings_of_the_user_override_the_cache():
    rows: dict[str, Any] = {"llama-cpp:qwen": {"max_context_tokens": 9_000}}
    catalogue = type(build_catalogue())([QWEN], "2026-01-01", Tables(rows=rows))
    discovery_cache.apply_discoveries(
        [discovery_cache.new_discovery(SERVER, (QWEN,))], registry(), catalogue
    )
    capabilities = catalogue.get("llama-cpp:qwen").capabilities
    assert (capabilities.max_context_tokens, capabilities.supports_images) == (9_000, True)


def test_cached_list_of_another_address_is_ignored():
    catalogue = build_catalogue()
    model = replace(QWEN, id="ollama:qwen")
    row = ProviderSpec(name="ollama", api="ollama", base_url="http://127.0.0.1:11434", label="")
    answers = [discovery_cache.new_discovery(row, (model,))]
    discovery_cache.apply_discoveries(
        answers, registry(OLLAMA_HOST="http://gpu.example:11434"), catalogue
    )
    assert not catalogue.get("ollama:qwen").known
    discovery_cache.apply_discoveries(answers, registry(), catalogue)
    assert catalogue.get("ollama:qwen").known


@pytest.mark.parametrize(
    ("name", "url"), [("evil", "http://127.0.0.1:1/v1"), ("vllm", "http://evil.example/v1")]
)
def test_cached_list_adds_no_other_provider(name, url):
    known = registry()
    row = replace(SERVER, name=name, base_url=url)
    discovery_cache.apply_discoveries(
        [discovery_cache.new_discovery(row, (QWEN,))], known, build_catalogue()
    )
    assert name not in {row.name for row in known.providers()}


def test_cached_list_adds_no_models_of_another_provider():
    catalogue, known = build_catalogue(), registry()
    theirs = replace(QWEN, id="anthropic:qwen")
    discovery_cache.apply_discoveries(
        [discovery_cache.new_discovery(SERVER, (theirs, QWEN))], known, catalogue
    )
    assert catalogue.get(QWEN.id).known
    assert not catalogue.get(theirs.id).known


def test_later_list_replaces_that_of_the_same_provider_only(tmp_path):
    file = tmp_path / "models.json"
    other = replace(SERVER, name="vllm")
    discovery_cache.save_discoveries(
        file,
        [discovery_cache.new_discovery(SERVER, (QWEN,)), discovery_cache.new_discovery(other, ())],
    )
    discovery_cache.save_discoveries(file, [discovery_cache.new_discovery(SERVER, ())])
    assert [(each.provider, each.models) for each in discovery_cache.load_discoveries(file)] == [
        ("llama-cpp", ()),
        ("vllm", ()),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["models.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"[{}]", b"\xff\xfe", b'"\\u001b[2J"', b'[{"x":' + b"[" * 10**6],
    ids=["empty", "cut", "numbers", "nothing", "no text", "a sequence", "nested"],
)
@pytest.mark.req("R-EASE-03")
def test_damaged_file_is_reported_and_rewritten(tmp_path, content):
    file = tmp_path / "models.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"are not used: .* writes a new one") as error:
        discovery_cache.load_discoveries(file)
    assert "\x1b" not in str(error.value)
    discovery_cache.save_discoveries(file, [discovery_cache.new_discovery(SERVER, (QWEN,))])
    [cached] = discovery_cache.load_discoveries(file)
    assert cached.models == (QWEN,)
    assert cached.at <= datetime.now(UTC)


def test_too_large_file_is_not_read(tmp_path):
    file = tmp_path / "models.json"
    with file.open("wb") as stream:
        stream.truncate(9 * 2**20)
    with pytest.raises(ValueError, match="too large"):
        discovery_cache.load_discoveries(file)
