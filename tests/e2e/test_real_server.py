"""A conversation with a model server that somebody else wrote, where this machine has one."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from tests.e2e.terminal import YOURTOOL
from tests.shared import SHARED

LLAMA = os.environ.get("YOURTOOL_LLAMA_SERVER") or shutil.which("llama-server")
OLLAMA = shutil.which("ollama")
PATIENCE = 1_200
"""Times 50 ms."""

NEITHER = "neither `llama-server` nor `ollama` is on PATH: no real model server was asked"


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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def answer_of(tmp_path, model, config, **environ):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(config)
    env = {**os.environ, "YOURTOOL_HOME": str(tmp_path / "home"), **environ}
    command = (*YOURTOOL, "-p", "List the files.", "-m", model, "--output-format", "json")
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    result = json.loads(done.stdout)
    assert done.returncode == 0, (result, done.stderr)
    return result


@pytest.mark.skipif(
    not (find_spec("gguf") and find_spec("numpy")),
    reason="`gguf` and `numpy`, which write a model without trained weights, are not installed",
)
@pytest.mark.skipif(not LLAMA, reason="`llama-server` is not on PATH" if OLLAMA else NEITHER)
def test_llama_server_calls_a_tool_and_goes_on_after_its_result(tmp_path):
    """The model is a chain of words: it calls a tool that is not there, then says it is done."""
    maker = SHARED / "bench" / "mkgguf.py"
    subprocess.run([sys.executable, maker, tmp_path], check=True)
    port = free_port()
    model = tmp_path / "scripted.gguf"
    command = [LLAMA, "-m", model, "--port", str(port), "-c", "32768", "--jinja", "--no-webui"]
    with served(command, port, "/health") as url:
        config = f'[providers.real]\napi = "chat"\nbase_url = "{url}/v1"\n'
        result = answer_of(tmp_path, "real:scripted", config)
    assert result["result"] == "Done: the **directory** is listed."
    assert result["num_requests"] == 2
    assert result["usage"]["input_tokens"] > 0
    assert result["unpriced_requests"] == 2


@pytest.mark.skipif(not OLLAMA, reason="`ollama` is not on PATH" if LLAMA else NEITHER)
def test_ollama_answers_with_a_model_that_it_has(tmp_path):
    port = free_port()
    env = {**os.environ, "OLLAMA_HOST": f"127.0.0.1:{port}"}
    with served([OLLAMA, "serve"], port, "/api/tags", env) as url:
        with urllib.request.urlopen(f"{url}/api/tags", timeout=10) as listed:
            models = [each["name"] for each in json.load(listed)["models"]]
        if not models:
            pytest.skip("`ollama` is on PATH and has no model; nothing was asked of it")
        result = answer_of(tmp_path, f"ollama:{models[0]}", "", OLLAMA_HOST=f"127.0.0.1:{port}")
    assert result["stop_reason"] == "end_turn"
    assert result["cost_usd"] == "0"
