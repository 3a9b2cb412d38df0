"""Conversations with a real model server, if this machine has one."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from tests.e2e.terminal import YOURTOOL
from tests.e2e.untrained_model import write_model
from yourtool.providers.catalogue.local_servers import discover_servers
from yourtool.providers.provider_specs import ProviderSpec

LLAMA = os.environ.get("YOURTOOL_LLAMA_SERVER") or shutil.which("llama-server")
OLLAMA = shutil.which("ollama")
PATIENCE = 1_200
"""Number of waits of 50 ms."""
WINDOW = 32_768
CALL = ('I will ', 'look ', 'around.\n', '<tool_call>', '\n{"name": "list_dir", ', '"arguments": ',
        '{"path": ', '"."}}\n', '</tool_call>')  # fmt: skip
DONE = ("The **directory** ", "has been ", "listed.")

NEITHER = "neither `llama-server` nor `ollama` is on PATH: no real model server was asked"
needs_llama = pytest.mark.skipif(
    not LLAMA, reason="`llama-server` is not on PATH" if OLLAMA else NEITHER
)


@contextmanager
def served(command, port, health, env=None):
    with subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for _ in range(PATIENCE):
                assert process.poll() is None, f"{command[0]} ended by itself"
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}{health}", timeout=1).close()
                except (OSError, urllib.error.URLError):
                    time.sleep(0.05)
                else:
                    break
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextmanager
def llama_server(directory, window=WINDOW):
    """Serve a model that calls `list_dir`, and generates a text after the result."""
    write_model(directory / "scripted.gguf", call=CALL, done=DONE, context=WINDOW)
    port = free_port()
    command = [LLAMA, "-m", directory / "scripted.gguf", "--port", str(port), "-c", str(window)]
    with served([*command, "--parallel", "1", "--jinja"], port, "/health") as url:
        yield url


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    with llama_server(tmp_path_factory.mktemp("llama")) as url:
        yield url


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def ran(tmp_path, model, config, *options, **environ):
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(config)
    env = {**os.environ, "YOURTOOL_HOME": str(home), **environ}
    command = (*YOURTOOL, "-p", "List the files.", "-m", model, "--output-format", "json", *options)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout)


@needs_llama
def test_a_session_swaps_between_the_dialects_of_a_real_server(tmp_path, llama):
    """Each turn calls a tool and continues; the second request starts like the first.

    `llama-server` supports three of the dialects, and caches the prefix.
    """
    (tmp_path / "one.txt").write_text("a file")
    apis = {"chat": f"{llama}/v1", "messages": llama, "responses": f"{llama}/v1"}
    rows = (f'[providers.{api}]\napi = "{api}"\nbase_url = "{url}"' for api, url in apis.items())
    config, sessions = "\n".join(rows), set()
    for turn, api in enumerate((*apis, "chat")):
        code, result = ran(tmp_path, f"{api}:scripted", config, *["--continue"] * bool(turn))
        assert (code, result["result"]) == (0, "".join(DONE))
        assert result["num_requests"] == result["unpriced_requests"] == 2
        read, cached = (result["usage"][name] for name in ("input_tokens", "cached_input_tokens"))
        assert cached > (read + cached) / 3 > 0
        sessions.add(result["session_id"])
    assert len(sessions) == 1


@needs_llama
@pytest.mark.req("R-EASE-02")
async def test_llama_server_is_found_with_its_real_window_and_tools(llama):
    place = ProviderSpec(
        name="llama-cpp", api="chat", base_url=f"{llama}/v1", label="llama.cpp", needs_key=False
    )
    (server,) = await discover_servers(specs=[place])
    (model,) = server.models
    assert model.capabilities.max_context_tokens == WINDOW
    assert model.capabilities.supports_tools


@needs_llama
def test_long_conversation_rejected_by_llama_server_is_a_context_overflow(tmp_path):
    with llama_server(tmp_path, window=4_096) as url:
        config = f'[providers.real]\napi = "chat"\nbase_url = "{url}/v1"\n'
        code, result = ran(tmp_path, "real:scripted", config)
    assert result["error"]["class"] == "context_overflow"
    assert code == result["exit_code"] != 0


@needs_llama
def test_a_stopped_llama_server_is_a_network_error(tmp_path):
    with llama_server(tmp_path) as url:
        pass
    config = f'[limits]\nmax_retries = 0\n[providers.real]\napi = "chat"\nbase_url = "{url}/v1"\n'
    code, result = ran(tmp_path, "real:scripted", config)
    assert (code, result["error"]["class"]) == (75, "network")


@pytest.mark.skipif(not OLLAMA, reason="`ollama` is not on PATH" if LLAMA else NEITHER)
def test_ollama_answers_with_a_model_that_it_has(tmp_path):
    port = free_port()
    env = {**os.environ, "OLLAMA_HOST": f"127.0.0.1:{port}"}
    with served([OLLAMA, "serve"], port, "/api/tags", env) as url:
        with urllib.request.urlopen(f"{url}/api/tags", timeout=10) as listed:
            models = [each["name"] for each in json.load(listed)["models"]]
        if not models:
            pytest.skip("`ollama` is on PATH and has no model; nothing was asked of it")
        code, result = ran(tmp_path, f"ollama:{models[0]}", "", OLLAMA_HOST=f"127.0.0.1:{port}")
    assert (code, result["stop_reason"]) == (0, "end_turn")
    assert result["cost_usd"] == "0"
