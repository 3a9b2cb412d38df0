"""Test requests to models: what they show, and what it changes."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.provider_server import OLLAMA_PATH, ProviderServer, Reply
from tests.providers.fakes import build_catalogue, build_paths
from yourtool.errors import AdapterError
from yourtool.events.deltas import MessageComplete, TokenUsage
from yourtool.extensions.lab.trial_requests import TrialResult, run_trial
from yourtool.messages.blocks import TextBlock
from yourtool.messages.metadata import StopReason
from yourtool.models import AdapterCapabilities, Model
from yourtool.providers.base import Adapter
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.trials import ModelTrial
from yourtool.providers.estimate import estimate_text
from yourtool.providers.registry import Registry
from yourtool.settings.config import Config, ProviderConfig
from yourtool.settings.credentials import Credentials

AT = datetime(2026, 11, 23, tzinfo=UTC)
WORDS = re.compile(r"code word is ([a-z]+-[0-9a-f]+)")


@dataclass
class Server:
    """What a server with one model can really do, which its description may not show."""

    tools: bool = True
    images: bool = True
    streaming: bool = True
    window: int = 100_000
    """Longer prompts lose their start without an error."""
    rejects_long: bool = False
    counts: bool = True

    def answer(self, path: str, body: dict[str, Any]) -> Reply:
        if body["stream"] and not self.streaming:
            return Reply(status=400, body=b'{"error": {"message": "stream is not supported"}}')
        text, has_image = read_prompt(body)
        tokens = round(estimate_text(text))
        if tokens > self.window:
            if self.rejects_long:
                message = "This model's maximum context length is exceeded"
                code = "context_length_exceeded"
                told = {"error": {"message": message, "code": code}}
                return Reply(status=400, body=json.dumps(told).encode())
            text = text[-round(len(text) * self.window / tokens) :]
            tokens = self.window
        reply = self.reply(text, has_image=has_image, has_tools=bool(body.get("tools")))
        reply.prompt_tokens = tokens if self.counts else 0
        if not body["stream"]:
            return unstreamed(reply)
        return reply

    def reply(self, text: str, *, has_image: bool, has_tools: bool) -> Reply:
        if has_tools and self.tools:
            return Reply(calls=[("report_number", {"number": 4711})])
        if has_tools:
            return Reply('{"name": "report_number", "arguments": {"number": 4711}}')
        if has_image:
            return Reply("Blue and yellow." if self.images else "I see a red square.")
        return Reply(" ".join(WORDS.findall(text)) or "ready")


def read_prompt(body: dict[str, Any]) -> tuple[str, bool]:
    [message] = body["messages"]
    content = message["content"]
    if isinstance(content, str):
        return content, bool(message.get("images"))
    texts = [part["text"] for part in content if part["type"] == "text"]
    return "\n\n".join(texts), len(texts) < len(content)


def unstreamed(reply: Reply) -> Reply:
    calls = [
        {"id": "c1", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments in reply.calls
    ]
    message = {"role": "assistant", "content": reply.text, "tool_calls": calls}
    usage = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": 5}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return Reply(body=json.dumps({"choices": choices, "usage": usage}).encode())


@contextmanager
def adapter_of(server: Server, tmp_path, *, is_ollama: bool = False) -> Iterator[Adapter]:
    """Yield the adapter of a provider `mine` that sends to a real server."""
    with ProviderServer(answer=server.answer) as provider:
        url = provider.url if is_ollama else provider.compatible_url
        own = ProviderConfig(api="ollama" if is_ollama else "chat", base_url=url)
        config = replace(Config(), providers={"mine": own})
        registry = Registry(config, Credentials(build_paths(tmp_path)), {})
        yield registry.adapter(model())
        paths = {path for path, _ in provider.requests}
        assert (paths == {OLLAMA_PATH}) == is_ollama


def model(window: int = 8_192, **able: Any) -> Model:
    can = AdapterCapabilities(max_context_tokens=window, **able)
    return Model(id="mine:x", wire_name="x", capabilities=can)


def run(server: Server, tmp_path, tried: Model | None = None, **how: bool) -> TrialResult:
    async def send() -> TrialResult:
        try:
            return await run_trial(adapter, tried or model())
        finally:
            await adapter.close()

    with adapter_of(server, tmp_path, **how) as adapter:
        return asyncio.run(send())


@pytest.mark.req("R-EASE-03")
@pytest.mark.parametrize("is_ollama", [False, True])
def test_model_that_can_do_everything_is_shown_to_do_so(tmp_path, is_ollama):
    result = run(Server(), tmp_path, is_ollama=is_ollama)
    trial = result.trial
    assert (trial.streaming, trial.tools, trial.images) == (True, True, True)
    assert not trial.is_limited
    assert trial.window is not None
    assert trial.window > 5_000
    assert (result.problems, result.requests) == ((), 4)


@pytest.mark.req("R-EASE-03")
@pytest.mark.parametrize("is_ollama", [False, True])
def test_silent_truncation_is_found_by_the_tokens_that_the_server_counts(tmp_path, is_ollama):
    result = run(Server(window=2_048), tmp_path, is_ollama=is_ollama)
    assert (result.trial.window, result.trial.is_limited) == (2_048, True)
    assert result.requests == 4


@pytest.mark.req("R-EASE-03")
def test_silent_truncation_without_counts_is_found_by_the_code_words(tmp_path):
    result = run(Server(window=2_048, counts=False), tmp_path)
    assert result.trial.is_limited
    assert result.trial.window is not None
    assert 1_024 <= result.trial.window <= 2_048


def test_window_that_rejects_long_prompts_is_found_by_shorter_ones(tmp_path):
    result = run(Server(window=3_000, rejects_long=True), tmp_path)
    assert result.trial.is_limited
    assert result.trial.window is not None
    assert 1_500 <= result.trial.window <= 3_000


def test_calls_written_as_text_and_a_wrong_colour_show_no_tools_and_no_images(tmp_path):
    trial = run(Server(tools=False, images=False), tmp_path).trial
    assert (trial.streaming, trial.tools, trial.images) == (True, False, False)


def test_model_that_rejects_streamed_requests_gets_the_others_unstreamed(tmp_path):
    result = run(Server(streaming=False), tmp_path)
    trial = result.trial
    assert (trial.streaming, trial.tools, trial.images) == (False, True, True)
    assert "stream is not supported" in result.problems[0]


def test_server_that_fails_every_request_is_not_tested(tmp_path):
    class Broken(Server):
        def answer(self, path, body):
            return Reply(status=400, body=b'{"error": {"message": "no such model"}}')

    with pytest.raises(AdapterError, match="no such model"):
        run(Broken(), tmp_path)


class Truncating:
    """An adapter whose model loses the start of long prompts; counts tokens, or not."""

    def __init__(self, window: int, *, counts: bool) -> None:
        self.window, self.counts = window, counts

    async def stream(self, request):
        [message] = request.messages
        text = message.text
        tokens = round(estimate_text(text))
        if tokens > self.window:
            text, tokens = text[-round(len(text) * self.window / tokens) :], self.window
        yield MessageComplete(
            message_id=request.message_id,
            stop_reason=StopReason.END_TURN,
            final_content=(TextBlock(" ".join(WORDS.findall(text)) or "ready"),),
            usage=TokenUsage(input_tokens=tokens if self.counts else 0, output_tokens=3),
            latency_ms=1,
        )

    def encode_ahead(self, request):
        pass

    def estimate_input_tokens(self, messages, tools):
        return 0

    async def close(self):
        pass


@given(
    real=st.integers(min_value=1_100, max_value=40_000),
    reported=st.integers(min_value=2_048, max_value=200_000),
    counts=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_found_window_is_never_larger_than_the_real_one(real, reported, counts):
    result = asyncio.run(run_trial(Truncating(real, counts=counts), model(reported)))
    trial = result.trial
    assert trial.window is not None
    assert trial.window <= real + 100  # the question and the code words
    if not trial.is_limited:
        assert trial.window >= min(0.6 * (reported - 1_024), 32_768)


def trial(**shown: Any) -> ModelTrial:
    return ModelTrial(model="mine:x", at=AT, **shown)


def test_result_changes_the_capabilities_until_a_new_one_does():
    catalogue = build_catalogue()
    catalogue.add_discovered("mine", [model(supports_tools=False)])
    catalogue.add_trials(
        [trial(streaming=False, tools=True, images=True, window=2_048, is_limited=True)]
    )
    can = catalogue.get("mine:x").capabilities
    assert (can.supports_streaming, can.supports_tools, can.supports_images) == (False, True, True)
    assert "image/png" in can.accepted_image_media_types
    assert (can.max_context_tokens, can.max_output_tokens) == (2_048, 2_048)
    assert catalogue.get_untried("mine:x").capabilities.max_context_tokens == 8_192
    catalogue.add_discovered("mine", [model(16_384)])
    assert catalogue.get("mine:x").capabilities.max_context_tokens == 2_048
    assert catalogue.get_untried("mine:x").capabilities.max_context_tokens == 16_384
    catalogue.add_trials([trial(window=9_000)])
    assert catalogue.get("mine:x").capabilities.max_context_tokens == 16_384


def test_what_a_test_does_not_show_changes_nothing():
    catalogue = build_catalogue()
    catalogue.add_discovered("mine", [model(supports_images=True)])
    before = catalogue.get("mine:x").capabilities
    catalogue.add_trials([trial()])
    assert catalogue.get("mine:x").capabilities == before


@pytest.mark.req("R-EASE-03")
def test_rows_of_the_user_override_test_results(tmp_path):
    paths = build_paths(tmp_path)
    (tmp_path / "models.toml").write_text(
        '[models."mine:x"]\nsupports_tools = true\nmax_context_tokens = 6_000\n'
    )
    catalogue = Catalogue.load(paths)
    catalogue.add_trials([trial(tools=False, images=True, window=2_048, is_limited=True)])
    can = catalogue.get("mine:x").capabilities
    assert (can.supports_tools, can.supports_images, can.max_context_tokens) == (True, True, 6_000)


def test_results_override_the_shipped_rows(tmp_path):
    catalogue = Catalogue.load(build_paths(tmp_path))
    shown = replace(trial(images=False), model="anthropic:claude-sonnet-4-6")
    catalogue.add_trials([shown])
    assert not catalogue.get(shown.model).capabilities.supports_images


def test_model_that_no_list_has_keeps_its_result():
    catalogue = build_catalogue()
    catalogue.add_trials([trial(images=True)])
    found = catalogue.get("mine:x")
    assert (found.known, found.capabilities.supports_images) == (True, True)


def stored_registry(url: str, tmp_path) -> Registry:
    config = replace(Config(), providers={"mine": ProviderConfig(api="chat", base_url=url)})
    return Registry(config, Credentials(build_paths(tmp_path)), {})


@pytest.mark.req("R-EASE-03")
def test_results_are_stored_with_their_date_and_survive_a_new_list(tmp_path):
    file, url = tmp_path / "cache" / "models.json", "http://127.0.0.1:9000/v1"
    registry = stored_registry(url, tmp_path)
    row = registry.spec("mine")
    assert row is not None
    discovery_cache.save_trial(file, row, trial(tools=True))
    other = replace(trial(images=True), model="mine:y")
    discovery_cache.save_trial(file, row, other)
    discovery_cache.save_discoveries(file, [discovery_cache.new_discovery(row, (model(),))])
    catalogue = build_catalogue()
    assert discovery_cache.restore_discoveries(file, registry, catalogue) == []
    assert catalogue.find_trial("mine:x") == trial(tools=True)
    assert catalogue.find_trial("mine:y") == other
    elsewhere, moved = build_catalogue(), stored_registry("http://127.0.0.1:9001/v1", tmp_path)
    discovery_cache.restore_discoveries(file, moved, elsewhere)
    assert elsewhere.find_trial("mine:x") is None


def test_result_for_the_model_of_another_provider_is_ignored(tmp_path):
    file, registry = tmp_path / "models.json", stored_registry("http://127.0.0.1:9/v1", tmp_path)
    row = registry.spec("mine")
    assert row is not None
    discovery_cache.save_trial(file, row, replace(trial(), model="anthropic:claude-sonnet-4-6"))
    catalogue = build_catalogue()
    discovery_cache.restore_discoveries(file, registry, catalogue)
    assert catalogue.find_trial("anthropic:claude-sonnet-4-6") is None
