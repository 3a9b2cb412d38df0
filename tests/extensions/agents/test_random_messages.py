"""Random messages of an agent: no exception, and one answer to each request."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.extensions.agents.agent import Agent
from yourtool.extensions.agents.calls import ForeignCall
from yourtool.extensions.agents.connection import Connection
from yourtool.extensions.agents.messages import Asked, Ended, FileRequest, Reported, Said
from yourtool.messages.blocks import canonical_json
from yourtool.tools.processes.process import ShellCommand

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(width=32)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
IDS = st.sampled_from(["c1", "c2", "c3"])
CONTENT = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["diff", "content", "terminal"])},
        optional={
            "content": st.fixed_dictionaries({"type": st.just("text"), "text": VALUES}) | VALUES,
            "path": VALUES,
            "oldText": VALUES,
            "newText": VALUES,
        },
    )
    | VALUES,
    max_size=3,
)
CALL = st.fixed_dictionaries(
    {},
    optional={
        "toolCallId": IDS | VALUES,
        "title": VALUES,
        "kind": st.sampled_from(["edit", "execute"]) | VALUES,
        "status": st.sampled_from(["pending", "in_progress", "completed", "failed"]) | VALUES,
        "rawInput": VALUES,
        "rawOutput": VALUES,
        "locations": st.lists(st.fixed_dictionaries({"path": VALUES}) | VALUES, max_size=2),
        "content": CONTENT | VALUES,
    },
)
UPDATE = st.sampled_from(["tool_call", "tool_call_update", "agent_message_chunk", "plan"]).flatmap(
    lambda kind: CALL.map(lambda call: call | {"sessionUpdate": kind})
)
OPTION = st.fixed_dictionaries({"optionId": VALUES, "kind": st.just("allow_once") | VALUES})
PARAMS = st.fixed_dictionaries(
    {"sessionId": st.just("s") | VALUES},
    optional={
        "update": UPDATE | VALUES,
        "toolCall": CALL | VALUES,
        "options": st.lists(OPTION, max_size=3) | VALUES,
        "path": VALUES,
        "content": VALUES,
        "line": VALUES,
        "limit": VALUES,
    },
)
METHODS = st.sampled_from(
    ["session/update", "session/request_permission", "fs/read_text_file", "fs/write_text_file", "x"]
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.integers(0, 5) | st.text(max_size=2),
        "method": METHODS,
        "params": PARAMS | VALUES,
        "result": VALUES,
        "error": st.fixed_dictionaries({}, optional={"code": VALUES, "message": VALUES}) | VALUES,
    },
).filter(lambda message: "method" in message or "id" in message)


class Silent(Connection):
    """Stores what is sent."""

    def __init__(self, agent: Agent) -> None:
        super().__init__("x", agent._take_request, agent._take_update)
        self.sent: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)


def open_agent() -> tuple[Agent, Silent]:
    def build() -> ShellCommand:
        raise AssertionError("it is not started")

    agent = Agent("acp:x", build, Path(), None)  # pyright: ignore[reportArgumentType]
    connection = Silent(agent)
    agent._connection, agent._session_id = connection, "s"
    agent._prompt = asyncio.get_running_loop().create_future()
    return agent, connection


@settings(max_examples=25)
@given(st.lists(MESSAGES, max_size=6))
@pytest.mark.remaining
def test_random_messages_are_events_or_are_refused(messages):
    async def receive() -> None:
        agent, connection = open_agent()
        for message in messages:
            connection._receive(message)
        open_requests = {each.key for each in agent._open.values()}
        answered = [each["id"] for each in connection.sent]
        for event in agent._events:
            assert isinstance(event, Said | Reported | Asked | FileRequest | Ended)
            if isinstance(event, Reported | Asked):
                check_call(event.call)
        agent.refuse_open("no")
        asked = [each["id"] for each in messages if "method" in each and "id" in each]
        waiting = [each.key for each in agent._events if isinstance(each, Asked | FileRequest)]
        assert sorted(map(str, (*answered, *waiting))) == sorted(map(str, asked))
        assert open_requests == set(waiting)

    asyncio.run(receive())


def check_call(call: ForeignCall) -> None:
    """Check that a call can be stored and shown."""
    canonical_json(call.build_input())
    preview = call.build_preview("acp:x")
    assert preview.kind in ("text", "diff") and isinstance(call.format_result(), str)
    assert not any(char in call.title for char in "\n\x1b")
