"""Requests that are built incrementally have the bytes of requests that are built in full."""

import json
import random
import shutil
from base64 import b64decode, b64encode

import pytest
from msgspec.structs import astuple, replace

from tests.doubling import steps
from tests.providers.dialect_journeys import SWAP_TARGETS
from tests.providers.histories import PNG, image
from tests.providers.random_conversations import build_legal_history, damage_history, wire_ids
from tests.providers.recorded_exchanges import READ, model, request
from tests.strategies import Writer
from yourtool.agent.history.elision import elide_tool_outputs
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import (
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.message import Role
from yourtool.messages.metadata import ResultMetadata
from yourtool.providers import encoded_history
from yourtool.providers.base import FileRoots
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.dialects.chat.dialect import ChatDialect
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.requests.request_view import RequestView, ViewRules, build_request_view
from yourtool.providers.tool_ids import ToolIdMap

SONNET = model("anthropic", "claude-sonnet-4-6", thinking="budget")
CLAUDE = model("openrouter", "anthropic/claude-sonnet-4.6")
BARE = model("openai", "bare")
MODELS = {
    **{name: (station.model, station.dialect()) for name, station in SWAP_TARGETS.items()},
    "budget": (SONNET, SWAP_TARGETS["anthropic"].dialect()),
    "several breakpoints": (
        model("openrouter", "anthropic/claude"),
        SWAP_TARGETS["openrouter"].dialect(),
    ),
    "short ids": (model("ollama", "mistral-large"), ChatDialect({"reply_after_tools": True})),
    "numbered ids": (model("openrouter", "kimi-k2.5"), ChatDialect()),
    "one call at a time": (
        replace(BARE, capabilities=replace(BARE.capabilities, supports_parallel_tool_calls=False)),
        ChatDialect({"images_in_tool_results": True}),
    ),
    "no system message": (
        replace(
            BARE, capabilities=replace(BARE.capabilities, supports_system_messages_in_list=False)
        ),
        ChatDialect(),
    ),
}
NAMES = sorted({each.id for each, _ in MODELS.values()})


class Journey:
    """A session that grows, and compares each of its requests with one that is built in full."""

    def __init__(self, seed, messages, blobs):
        self.draw, self.messages = random.Random(seed), messages
        self.ids, self.places = ToolIdMap(wire_ids(messages)), FileRoots(blobs, blobs)
        self.settings, self.through, self.rejected = {}, None, None
        self.resume()

    def resume(self):
        self.view, self.encoded = RequestView(), EncodedHistory()

    def change(self):
        """Change something that requests depend on."""
        match self.draw.randrange(5):
            case 0:
                self.through = self.draw.choice([None, *(each.id for each in self.messages)])
            case 1:
                self.rejected = self.draw.choice([None, *(each.id for each in self.messages)])
            case 2:
                tools, effort = self.draw.choice(((), (READ,))), self.draw.choice((None, "high"))
                self.settings = {"tools": tools, "effort": effort}
            case 3:
                self.settings["retention"] = self.draw.choice(("none", "short", "long"))
            case _:
                self.resume()

    def send(self, name, messages):
        """Build the request after `messages` both ways."""
        target, dialect = MODELS[name]
        rules = ViewRules(target, api=dialect.api, omit_opaque_through=self.rejected)
        elided = elide_tool_outputs(messages, self.through)
        view = self.view.build(elided, rules)
        assert view == build_request_view(elided, *astuple(rules))
        system = Writer().message(Role.SYSTEM, [TextBlock(f"It is day {len(messages)}.")])
        settings = {"tools": (), **self.settings}
        retention = settings.pop("retention", "short")
        outgoing = request(
            target,
            (system, *view),
            **settings,
            cache=plan_cache((system, *view), settings["tools"], target, retention),
            tool_ids=self.ids,
            file_roots=self.places,
            encoded_history=self.encoded,
        )
        whole = replace(outgoing, encoded_history=EncodedHistory())
        assert dialect.to_wire(outgoing).body == dialect.to_wire(whole).body


@pytest.mark.req("R-ADP-18")
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.sample(24)
def test_growing_conversation_is_encoded_as_if_built_in_full(seed, tmp_path):
    draw, writer = random.Random(seed), Writer()
    messages = sum((build_legal_history(seed * 100 + part, NAMES, writer) for part in range(5)), ())
    if seed % 3 == 0:
        messages = tuple(damage_history(seed, messages))
    journey, name = Journey(seed, messages, tmp_path), draw.choice(sorted(MODELS))
    end = 1
    while end <= len(messages):
        if draw.random() < 0.1:
            name = draw.choice(sorted(MODELS))
        if draw.random() < 0.1:
            journey.change()
        journey.send(name, messages[:end])
        end += draw.choice((0, 1, 1, 2, 3))


def long_conversation(steps, *first):
    """A prompt, and as many calls of a tool."""
    writer = Writer()
    messages = [writer.message(Role.USER, [TextBlock("Read all files."), *first])]
    for number in range(steps):
        call = ToolUseBlock(writer.tool_use_id(), "read_file", {"path": f"{number}.txt"})
        messages.append(writer.message(Role.ASSISTANT, [TextBlock("Next."), call]))
        result = ToolResultBlock(call.id, (TextBlock(f"content of file {number}"),))
        metadata = ResultMetadata(parent_tool_use_id=call.id)
        messages.append(writer.message(Role.TOOL, [result], metadata))
    return messages


@pytest.mark.parametrize("name", MODELS)
def test_next_request_of_a_long_conversation_writes_only_new_messages(name, tmp_path):
    target, dialect = MODELS[name]
    messages = long_conversation(400)
    view, encoded, ids = RequestView(), EncodedHistory(), ToolIdMap()

    def send(end):
        shown = view.build(messages[:end], ViewRules(target))
        outgoing = request(target, shown, (READ,), tool_ids=ids, encoded_history=encoded)
        return dialect.to_wire(outgoing)

    whole = steps(lambda: send(797))
    assert steps(lambda: send(799)) * 8 < whole


@pytest.mark.parametrize("reasons", [True, False])
def test_long_reply_continues_with_reasoning_if_it_started_with_it(reasons):
    target, dialect = MODELS["budget"]
    messages, encoded, ids = long_conversation(6), EncodedHistory(), ToolIdMap()
    if reasons:
        content = (ThinkingBlock("hm", "c2ln"), *messages[1].content)
        messages[1] = replace(messages[1], content=content)
    for end in range(3, len(messages) + 1, 2):
        outgoing = request(
            target, messages[:end], (READ,), effort="high", tool_ids=ids, encoded_history=encoded
        )
        assert ("thinking" in json.loads(dialect.to_wire(outgoing).body)) is reasons


def test_changed_file_of_the_workspace_is_read_for_every_request(tmp_path):
    target, dialect = MODELS["anthropic"]
    path = image("a.png", "file_ref")
    messages, encoded = long_conversation(4, path), EncodedHistory()
    for content in (b64decode(PNG), b64decode(PNG) + b"more"):
        (tmp_path / "a.png").write_bytes(content)
        places = FileRoots(tmp_path, tmp_path)
        outgoing = request(target, messages, file_roots=places, encoded_history=encoded)
        assert b64encode(content) in dialect.to_wire(outgoing).body


def test_stored_attachment_is_encoded_once(tmp_path):
    target, dialect = MODELS["anthropic"]
    reference = store_blob(tmp_path, b64decode(PNG))
    stored = ImageBlock(ImageSource("file_ref", reference), "image/png")
    messages, encoded = long_conversation(4, stored), EncodedHistory()
    outgoing = request(
        target, messages, file_roots=FileRoots(tmp_path, tmp_path), encoded_history=encoded
    )
    before = dialect.to_wire(outgoing).body
    shutil.rmtree(tmp_path)
    assert dialect.to_wire(outgoing).body == before


@pytest.mark.parametrize("name", MODELS)
def test_encoded_messages_have_a_limit(name, monkeypatch):
    monkeypatch.setattr(encoded_history, "MAX_CACHED_BYTES", 1_000)
    target, dialect = MODELS[name]
    messages, encoded, ids = long_conversation(60), EncodedHistory(), ToolIdMap()
    for end in range(1, len(messages), 2):
        outgoing = request(target, messages[:end], tool_ids=ids, encoded_history=encoded)
        whole = replace(outgoing, encoded_history=EncodedHistory())
        assert dialect.to_wire(outgoing).body == dialect.to_wire(whole).body
    assert 1_000 < encoded.size < 2_000 < len(dialect.to_wire(outgoing).body)
