"""Messages to the running turn: where they enter the history, and what is left of them."""

import base64
import json

import pytest
from msgspec.structs import replace

from tests.agent.harness import BLIND, DEFAULTS, Checked, User, names, play
from tests.agent.turn.test_loop import READ, cancel_when, valid
from tests.providers.dialect_cases import DIALECTS, EACH
from tests.validator.validate import errors, validate
from yourtool.errors import NetworkError, StoreError, UsageError
from yourtool.events.tools import ToolCompleted
from yourtool.events.turns import TurnSteered
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.messages.message import Role
from yourtool.messages.metadata import Origin, StopReason
from yourtool.providers.encoded_history import EncodedHistory
from yourtool.providers.scripted import Scripted, calls, fails, says, stops
from yourtool.store.forks import fork

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n a dot").decode()
IMAGE = ImageBlock(ImageSource("base64", PNG), "image/png")


class Steering:
    """Messages of the user, each for the next time that a turn asks."""

    def __init__(self, *messages) -> None:
        self.waiting = [(TextBlock(each),) if isinstance(each, str) else each for each in messages]
        self.asked = 0

    async def __call__(self):
        self.asked += 1
        return self.waiting.pop(0) if self.waiting else None


async def steered(bench, script, *texts, **options):
    """Return a session whose running turn gets messages, its adapter and the source of them."""
    (bench.workspace / "a.txt").write_text("a cat\n")
    adapter, source = Checked(Scripted(script)), Steering(*texts)
    session = await bench.session(adapter, **options)
    session.steer_with(source)
    return session, adapter, source


async def test_messages_follow_the_results_of_all_calls_in_their_order(bench):
    script = [says("I look.") + READ + READ, says("Both, briefly.")]
    session, adapter, _ = await steered(bench, script, "briefly", "in English")
    events = await play(session.send("What is in a.txt?"))
    assert names(events)[4:] == [
        "tool.called",
        "tool.called",
        "tool.completed",
        "tool.completed",
        "turn.steered",
        "turn.steered",
        "llm.call_started",
        "llm.call_completed",
        "turn.completed",
    ]
    *_, result, first, second, _ = session.state.messages
    assert (result.role, first.text, second.text) == (Role.TOOL, "briefly", "in English")
    assert {first.metadata.origin, second.metadata.origin} == {Origin.STEERING}
    assert [each.text for each in adapter.requests[1].messages[-2:]] == ["briefly", "in English"]
    assert valid(session)


@EACH
async def test_request_with_a_message_to_the_turn_is_valid(bench, dialect):
    session, adapter, _ = await steered(bench, [READ + READ, READ, says("ok")], "one", "two")
    await play(session.send("go"))
    translator, provider, api = DIALECTS[dialect]
    for sent in adapter.requests:
        body = translator.to_wire(replace(sent, encoded_history=EncodedHistory())).body
        assert errors(validate(provider, api, json.loads(body))) == []
    assert b"two" in body


async def test_turn_asks_for_messages_only_after_tool_results(bench):
    session, _, source = await steered(bench, [says("Done.")], "too late")
    await play(session.send("go"))
    assert source.asked == 0
    assert [message.text for message in session.state.messages] == ["go", "Done."]


async def test_paused_reply_is_continued_before_messages_are_inserted(bench):
    script = [says("I search.") + stops(StopReason.PAUSE_TURN), says("Done.")]
    session, _, source = await steered(bench, script, "too late")
    await play(session.send("go"))
    assert source.asked == 0


async def test_turn_that_its_last_tool_ends_takes_no_message(bench):
    session, _, source = await steered(bench, [READ, says("ok")], "later", max_requests=1)
    await play(session.send("go"))
    assert session.limit_reached is not None
    assert source.asked == 0


async def test_resumed_session_has_the_message_where_it_was(bench):
    session, *_ = await steered(bench, [READ, says("ok")], "briefly")
    await play(session.send("go"))
    await session.close()
    adapter = Checked(Scripted([says("again")]))
    resumed = await bench.session(adapter, resume=session.id)
    await play(resumed.send("once more"))
    roles = [(each.role, each.text) for each in adapter.requests[0].messages[-5:]]
    assert roles == [
        (Role.ASSISTANT, ""),
        (Role.TOOL, ""),
        (Role.USER, "briefly"),
        (Role.ASSISTANT, "ok"),
        (Role.USER, "once more"),
    ]


async def test_retry_of_a_failed_turn_sends_its_messages_once(bench):
    script = [READ, fails(NetworkError("no route")), says("ok")]
    session, adapter, _ = await steered(bench, script, "briefly")
    await play(session.send("go"))
    assert session.state.branch.last_turn_failed
    await play(session.retry())
    texts = [message.text for message in adapter.requests[-1].messages]
    assert (texts.count("go"), texts.count("briefly")) == (1, 1)
    assert valid(session)


async def test_message_of_a_turn_that_was_stopped_is_part_of_the_next_request(bench):
    (bench.workspace / "a.txt").write_text("a cat\n")
    adapter = Checked(Scripted([READ, says("never"), says("ok")]))
    session = await bench.session(adapter)
    session.steer_with(Steering("briefly"))
    await cancel_when(session, "go", lambda event: isinstance(event, TurnSteered))
    await play(session.send("go on"))
    assert [each.text for each in adapter.requests[-1].messages[-2:]] == ["briefly", "go on"]
    assert valid(session)


async def test_message_that_cannot_be_stored_ends_the_turn_with_an_error(bench, monkeypatch):
    session, *_ = await steered(bench, [READ, says("never"), says("ok")], "briefly")
    append = bench.store.append

    async def append_unless_steered(*facts):
        if any(isinstance(fact, TurnSteered) for fact in facts):
            raise StoreError("the disk is full")
        await append(*facts)

    monkeypatch.setattr(bench.store, "append", append_unless_steered)
    with pytest.raises(StoreError):
        await play(session.send("go"))
    monkeypatch.undo()
    await play(session.send("go on"))
    assert "briefly" not in [message.text for message in session.state.messages]
    assert valid(session)


async def test_message_to_the_turn_is_no_prompt_that_one_can_go_back_to(bench):
    session, *_ = await steered(bench, [READ, says("ok")], "briefly")
    await play(session.send("go"))
    assert [prompt.text for prompt in session.state.prompts] == ["go"]
    [message] = [each for each in session.state.messages if each.text == "briefly"]
    copy = await bench.store.read(await fork(bench.store, session.id, message.id))
    assert names(copy)[-2:] == ["turn.completed", "session.forked"]


async def test_content_of_a_message_is_checked_for_the_running_turn(bench):
    session = await bench.session(Checked(Scripted([says("ok")])))
    assert session.build_steering("briefly") == (TextBlock("briefly"),)
    assert session.build_steering("\\@test is a name") == (TextBlock("@test is a name"),)
    for text, part in [
        ("@other look", "The running turn stays with its model"),
        ("@ohter look", "neither a model nor a file"),
        (" ", "nothing to send"),
        ("word " * 300_000, "needs about"),
    ]:
        with pytest.raises(UsageError, match=part):
            session.build_steering(text)


async def test_image_is_refused_by_a_turn_whose_model_takes_none(bench):
    defaults = replace(DEFAULTS, global_default=BLIND.id)
    session = await bench.session(Checked(Scripted([says("ok")])), defaults=defaults)
    with pytest.raises(UsageError, match="takes no images"):
        session.build_steering((TextBlock("look"), IMAGE))


async def test_image_of_a_message_is_stored_as_a_file(bench):
    session, *_ = await steered(bench, [READ, says("A dot.")])
    session.steer_with(Steering((TextBlock("look"), IMAGE)))
    await play(session.send("go"))
    [message] = [each for each in session.state.messages if each.text == "look"]
    assert message.content[1].source.kind == "file_ref"


async def test_message_that_waits_during_an_approval_follows_its_result(bench):
    script = [calls("write_file", path="b.txt", content="b\n"), says("ok")]

    async def answer(confirmation):
        source.waiting.append((TextBlock("call it b"),))
        return await User()(confirmation)

    session, adapter, source = await steered(bench, script, confirm=answer)
    events = await play(session.send("write"))
    kinds = names(events)
    assert kinds.index("turn.steered") == kinds.index("tool.completed") + 1
    assert any(isinstance(event, ToolCompleted) for event in events)
    assert adapter.requests[1].messages[-1].text == "call it b"
