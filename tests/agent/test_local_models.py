"""Models of a server on this machine, which reports their capabilities."""

import pytest

from tests.agent.harness import User, play
from tests.providers.local_server import serve
from yourtool.agent.route_preview import RoutePreview
from yourtool.agent.runtime import Runtime
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions

DETAILS = {
    "qwen3:8b": {
        "capabilities": ["completion", "tools"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 131_072},
    },
    "small": {"capabilities": ["completion"], "model_info": {}},
}
PAGES = {
    "/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "small"}]},
    "/api/show": lambda body: DETAILS[body["model"]],
}


@pytest.mark.req("R-OLL-02")
async def test_choosing_a_local_model_requests_its_capabilities(tmp_path, monkeypatch):
    with serve(PAGES) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        session = await runtime.new_session(User())
        assert not runtime.catalogue.get("ollama:qwen3:8b").known
        await play(session.select_model("ollama:qwen3:8b"))
        model = session.model
        assert model.known
        assert model.capabilities.supports_tools
        assert model.price is not None
        await session.close()
        await runtime.close()


@pytest.mark.req("R-OLL-03")
async def test_turn_reports_that_the_local_server_is_not_running(tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    (resolve_paths().home / "config.toml").write_text("[limits]\nmax_retries = 0\n")
    runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
    session = await runtime.new_session(User())
    await play(session.select_model("ollama:qwen3:8b"))
    await play(session.send("hello"))
    failed = session.state.branch.last_error
    assert failed is not None
    assert failed.error_class == "network"
    assert "127.0.0.1:9" in failed.error_message_redacted
    assert "ollama serve" in failed.error_message_redacted
    await session.close()
    await runtime.close()


async def test_unreachable_server_is_queried_once_and_again_for_an_explicit_choice(
    tmp_path, monkeypatch
):
    tags = {"models": [{"name": "small"}]}
    with serve({**PAGES, "/api/tags": tags}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        session = await runtime.new_session(User())
        requested_paths = []
        for step in (session.select_model("ollama:qwen3:8b"), session.send("hello")):
            await play(step)
            await session.load_model_description()
            requested_paths.append([line for line, *_ in server.requests if "/api/tags" in line])
        assert [len(lines) for lines in requested_paths] == [1, 1]
        assert not session.model.known
        tags["models"].append({"name": "qwen3:8b"})
        await play(session.select_model("ollama:qwen3:8b"))
        assert session.model.known
        await session.close()
        await runtime.close()


@pytest.mark.req("R-QLT-01")
async def test_server_is_not_queried_before_the_first_message(tmp_path, monkeypatch):
    (resolve_paths().home / "config.toml").write_text('model = "ollama:qwen3:8b"\n')
    with serve(PAGES) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        session = await runtime.new_session(User())
        session.explain()
        await session.context.compose()
        (await RoutePreview.open(runtime)).decide("hello")
        assert (session.model.id, server.requests) == ("ollama:qwen3:8b", [])
        await play(session.send("hello"))
        assert "/api/tags" in server.requests[0][0]
        await session.close()
        await runtime.close()


async def test_configured_local_servers_are_found_and_no_others_are_queried(tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("MINE_KEY", "sk-mine-0000000000000000")
    with serve({"/v1/models": {"data": [{"id": "qwen"}]}}) as server:
        (resolve_paths().home / "config.toml").write_text(
            f'[providers.mine]\nbase_url = "{server.url}/v1"\n'
            '[providers.gone]\nbase_url = "http://127.0.0.1:9/v1"\n'
            '[providers.far]\nbase_url = "http://far.invalid/v1"\nkey_env = "MINE_KEY"\n'
        )
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        found = await runtime.find_servers(elsewhere=False)
        assert "mine" in [each.spec.name for each in found]
        assert runtime.catalogue.resolve("qwen").id == "mine:qwen"
        await runtime.close()
        again = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        assert "mine:qwen" in [model.id for model in again.catalogue.all()]
        await again.close()


@pytest.mark.req("R-EASE-02")
async def test_local_servers_are_found_and_their_models_can_be_chosen(tmp_path, monkeypatch):
    with serve(PAGES) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        runtime = await Runtime.open(resolve_paths(), RunOptions(workspace=tmp_path))
        found = await runtime.find_servers(elsewhere=False)
        assert "ollama" in [each.spec.name for each in found]
        assert runtime.catalogue.resolve("qwen3:8b").id == "ollama:qwen3:8b"
        await runtime.close()
