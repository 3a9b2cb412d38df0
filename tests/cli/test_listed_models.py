"""A model that only its provider's model list describes, from discovery to cost."""

import json
import re
from decimal import Decimal

import pytest

from tests.providers.local_server import LocalServer, head

ENTRY = {
    "id": "acme/new",
    "context_length": 65_536,
    "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
    "pricing": {"prompt": "0.000001", "completion": "0.000002"},
    "top_provider": {"max_completion_tokens": 5_000},
    "supported_parameters": ["tools"],
}
CHUNKS = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Yes."}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1_000, "completion_tokens": 10}},
)
STREAM = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in CHUNKS)


@pytest.mark.req("R-ADP-14")
def test_model_of_a_provider_list_is_requested_and_billed(line, monkeypatch):
    asked = []

    def answer(_, body):
        if not body:
            text = json.dumps({"data": [ENTRY]}).encode()
            return [head(200, len(text), content_type="application/json"), text]
        asked.append(json.loads(body))
        text = STREAM + b"data: [DONE]\n\n"
        return [head(200, len(text)), text]

    with LocalServer(answer) as server:
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test-0000000000000000")
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
        rows = {row["id"]: row for row in json.loads(line("models", "--probe", "--json")[1])}
        result = line.result("-m", "openrouter:acme/new", "-p", "Well?")
    version = rows["openrouter:acme/new"]["pricing_version"]
    assert re.fullmatch(r"openrouter \d{4}-\d\d-\d\d", version)
    assert result["result"] == "Yes."
    assert re.fullmatch(rf"{version}@[0-9a-f]{{16}}", result["pricing_version"])
    assert Decimal(result["cost_usd"]) == Decimal("0.00102")
    assert asked[0]["max_tokens"] == 5_000
