"""External text and numbers at every boundary (D16).

Lone surrogates, NUL, marks and line separators that some readers treat as line ends, NaN, numbers
beyond the range of floats, JSON of any depth, and bytes that are not UTF-8.
"""

import base64
import json
import math
from io import StringIO

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.agent.harness import Bench, play
from tests.providers.dialect_cases import DIALECTS, EACH, sse
from tests.providers.histories import reply_metadata
from tests.providers.recorded_exchanges import (
    Playback,
    collect_events,
    complete,
    model,
    problems,
    request,
)
from tests.strategies import Writer
from tests.trusted_folders import trust
from yourtool.agent.session.system_prompt import system_messages
from yourtool.effects import SideEffects
from yourtool.errors import ConfigError, NetworkError
from yourtool.foundation.text import MAX_JSON_DEPTH, storable, storable_json
from yourtool.headless import Printer, read_schema
from yourtool.messages.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from yourtool.messages.codec import decode_content, encode_content
from yourtool.messages.message import Role
from yourtool.paths import Paths, shipped_directory
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.idle_timer import StreamTimeouts
from yourtool.providers.json_access import decode
from yourtool.providers.replies.arguments import parse_arguments
from yourtool.providers.requests.request_view import build_request_view
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.providers.wire import WireAdapter
from yourtool.settings.config import load_config
from yourtool.settings.credentials import Credentials
from yourtool.tools.base import Args, ToolOutput, tool
from yourtool.tui.theme.themes import load_theme

ANY = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    ["\ud83d", "\ude00x", "a\0b", "\ufeffa", "a\u2028b\u2029c\x85d", "\U0001f600", "\ud83d\ude00"]
)
HUGE = 2**53 + 1
SLOW = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def written(value):
    """JSON of a careless server, with escaped lone surrogates and NaN."""
    return json.dumps(value).encode()


def body(dialect, words, arguments):
    """A reply of one text and one call; `arguments` is JSON."""
    said, raw = written(words), written(arguments.decode())
    match dialect:
        case "anthropic":
            return sse(
                b'{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}',
                b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
                b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}'
                % said,
                b'{"type":"content_block_start","index":1,"content_block":'
                b'{"type":"tool_use","id":"toolu_1","name":"t","input":{}}}',
                b'{"type":"content_block_delta","index":1,"delta":'
                b'{"type":"input_json_delta","partial_json":%s}}' % raw,
                b'{"type":"content_block_stop","index":1}',
                b'{"type":"message_delta","delta":{"stop_reason":"tool_use"},'
                b'"usage":{"output_tokens":1}}',
                b'{"type":"message_stop"}',
            )
        case "chat" | "openrouter":
            return sse(
                b'{"choices":[{"index":0,"delta":{"content":%s}}]}' % said,
                b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1",'
                b'"function":{"name":"t","arguments":%s}}]},"finish_reason":"tool_calls"}]}' % raw,
                b"[DONE]",
            )
        case "responses":
            return sse(
                b'{"type":"response.completed","response":{"status":"completed","output":['
                b'{"type":"message","content":[{"type":"output_text","text":%s}]},'
                b'{"type":"function_call","call_id":"c1","name":"t","arguments":%s}]}}'
                % (said, raw)
            )
        case "google":
            return sse(
                b'{"candidates":[{"content":{"parts":[{"text":%s},'
                b'{"functionCall":{"name":"t","args":%s}}]},"finishReason":"STOP"}]}'
                % (said, arguments)
            )
        case _:
            return (
                b'{"message":{"content":%s,"tool_calls":[{"function":{"name":"t","arguments":%s}}]},'
                b'"done":true,"done_reason":"stop"}\n' % (said, arguments)
            )


async def read(dialect, stream):
    speaks, provider, _ = DIALECTS[dialect]
    adapter = WireAdapter(
        speaks, Playback([stream]), provider, timeouts=StreamTimeouts(linger=0.001)
    )
    return await collect_events(adapter, request(model(provider)))


def blocks_of(events):
    content = complete(events).final_content
    return "".join(block.text for block in content if isinstance(block, TextBlock)), [
        block for block in content if isinstance(block, ToolUseBlock)
    ]


@EACH
@SLOW
@given(words=ANY.filter(str.strip), name=ANY, value=ANY)
async def test_a_provider_s_text_becomes_storable_text(dialect, words, name, value):
    events, error = await read(dialect, body(dialect, words, written({name: value})))
    assert error is None
    said, [call] = blocks_of(events)
    assert said == storable(json.loads(written(words)))
    sent = json.loads(written({name: value}))
    if "\0" in name + value:
        assert call.input == {}
        assert "NUL" in complete(events).tool_input_errors[call.id].error
    else:
        assert call.input == {storable(key): storable(inner) for key, inner in sent.items()}
    content = complete(events).final_content
    assert decode_content(encode_content(content), where="test") == content


@EACH
async def test_whole_numbers_stay_exact_at_any_length(dialect):
    events, _ = await read(dialect, body(dialect, "x", written({"n": HUGE, "m": 10**30})))
    _, [call] = blocks_of(events)
    assert call.input == {"n": HUGE, "m": 10**30}
    assert complete(events).tool_input_errors == {}


@EACH
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
async def test_no_call_runs_with_an_invalid_number(dialect, number):
    events, error = await read(dialect, body(dialect, "x", written({"n": number})))
    assert error is None
    _, [call] = blocks_of(events)
    assert call.input == {}
    assert call.id in complete(events).tool_input_errors


@EACH
@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 900, 100_000])
async def test_arguments_of_any_depth_are_an_error_and_never_a_crash(dialect, depth):
    deep = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
    events, error = await read(dialect, body(dialect, "x", deep))
    if error is None:
        _, [call] = blocks_of(events)
        assert "nested too deeply" in complete(events).tool_input_errors[call.id].error
    else:
        assert isinstance(error, NetworkError)


@EACH
async def test_invalid_utf_8_is_replaced(dialect):
    stream = body(dialect, "caf~", b"{}").replace(b"caf~", b"caf\xe9 \xff")
    events, error = await read(dialect, stream)
    assert error is None
    assert blocks_of(events)[0] == "caf\ufffd \ufffd"


@EACH
async def test_line_separators_and_marks_of_unicode_end_no_event(dialect):
    words = "a\u2028b\u2029c\x85d\ufeffe"
    stream = body(dialect, "~", b"{}").replace(
        b'"~"', json.dumps(words, ensure_ascii=False).encode()
    )
    events, error = await read(dialect, b"\xef\xbb\xbf" + stream)
    assert error is None
    assert blocks_of(events)[0] == words


def based(content):
    return ImageSource("base64", base64.b64encode(content).decode())


def attached(text):
    """Files with unusual names, content and locations."""
    name, content = storable(text), text.encode("utf-8", "surrogatepass")
    return [
        DocumentBlock(based(b"%PDF-1.7\n" + content), "application/pdf", name),
        DocumentBlock(based(content), "text/plain", name),
        DocumentBlock(ImageSource("url", f"https://example.org/{name}"), "application/pdf", name),
        DocumentBlock(ImageSource("file_ref", name), "application/pdf", name),
        DocumentBlock(ImageSource("base64", name), "application/pdf", name),
        AudioBlock(based(b"RIFF\0\0\0\0WAVE" + content), "audio/wav"),
        AudioBlock(based(content), "audio/mpeg"),
        AudioBlock(ImageSource("file_ref", f"sha256:{name}"), "audio/wav"),
        ImageBlock(ImageSource("file_ref", name), "image/png"),
        ImageBlock(ImageSource("url", name), "image/png"),
    ]


def able(provider):
    """A model that supports everything that its wire format can represent."""
    plain = model(provider, "gpt-audio" if provider == "openai" else "some-model")
    can = replace(plain.capabilities, supports_audio=True, supports_documents=True)
    return replace(plain, capabilities=can)


@EACH
@SLOW
@given(text=ANY, result=ANY)
@pytest.mark.parametrize("target", [model, able])
def test_all_stored_text_can_be_sent_as_valid_utf_8(dialect, target, text, result):
    speaks, provider, api = DIALECTS[dialect]
    writer, target = Writer(), target(provider)
    use = writer.tool_use_id()
    history = (
        writer.message(Role.USER, [TextBlock(storable(text) or "?"), *attached(text)]),
        writer.message(
            Role.ASSISTANT,
            [
                ThinkingBlock(storable(text), storable(result)),
                RedactedThinkingBlock(storable(result)),
                ToolUseBlock(use, "read_file", storable_json({"path": text, "n": HUGE})),
                ToolUseBlock(f"{use}x", storable(text), {}),
            ],
            reply_metadata(target.id),
        ),
        writer.message(
            Role.TOOL, [ToolResultBlock(use, (TextBlock(storable(result)), *attached(text)[-2:]))]
        ),
        writer.message(Role.TOOL, [ToolResultBlock(f"{use}x", (), is_error=True)]),
    )
    sent = speaks.to_wire(request(target, build_request_view(history, target))).body
    assert problems(provider, api, sent) == []
    assert str(HUGE) in sent.decode("utf-8")


class Nothing(Args, frozen=True):
    """No arguments."""


@SLOW
@given(text=ANY.filter(str.strip).filter(lambda text: not text.startswith(("@", "\\@"))))
async def test_a_prompt_and_a_tool_s_output_are_stored_as_they_were_used(tmp_path_factory, text):
    @tool(SideEffects.READ)
    async def tell(args: Nothing, context: object) -> ToolOutput:
        """Print an unusual text."""
        return ToolOutput(
            (TextBlock(text),),
            details={text: [text, HUGE]},
            files_modified=(text,),
            command_executed=text,
        )

    bench = Bench(tmp_path_factory.mktemp("odd"))
    try:
        session = await bench.session(Scripted([calls("tell"), says("done")]), tools=[tell])
        events = await play(session.send(text))
        await session.close()
        stored = await bench.store.read(session.id)
        assert [message.content for message in messages(stored)] == [
            message.content for message in session.state.messages
        ]
        assert [message.metadata for message in messages(stored)] == [
            message.metadata for message in session.state.messages
        ]
        lines(events)
    finally:
        await bench.close()


def messages(facts):
    return [fact.message for fact in facts if getattr(fact, "message", None) is not None]


def lines(events):
    """Print events as a program reads them; every line is one JSON object."""
    out = StringIO()
    printer = Printer("stream-json", out, StringIO())
    for event in events:
        printer.show(event)
    found = out.getvalue().encode("utf-8").split(b"\n")
    assert found.pop() == b""
    return [msgspec.json.decode(line) for line in found]


@pytest.mark.parametrize("data", [b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}'])
def test_invalid_numbers_are_accepted_in_unused_fields(data):
    assert not math.isfinite(decode(data)["a"])


def test_json_of_any_depth_is_refused_and_never_a_crash():
    for depth in (MAX_JSON_DEPTH + 1, 900, 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            decode(b"[" * depth + b"]" * depth)
    assert decode(b"[" * MAX_JSON_DEPTH + b"]" * MAX_JSON_DEPTH)


@given(raw=ANY)
def test_any_text_is_parsed_as_arguments_or_refused_with_the_reason(raw):
    value, error = parse_arguments(raw)
    assert isinstance(value, dict)
    assert error is None or value == {}


FILES = pytest.mark.parametrize("name", ["config.toml", "models.toml", "prices.toml"])


def load(home):
    paths = Paths(home, home, home, home)
    load_config(paths, {})
    Catalogue.load(paths)


@FILES
@SLOW
@given(text=ANY)
def test_a_file_of_any_text_is_read_or_refused_by_name(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load(tmp_path)
    except ConfigError as error:
        assert name in str(error)


@FILES
def test_a_byte_order_mark_is_not_part_of_a_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf# nothing\n")
    load(tmp_path)


MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_not_part_of_the_keys(tmp_path):
    keys = Credentials(Paths(tmp_path, tmp_path, tmp_path, tmp_path), {})
    keys.save("p", "sk-0123456789")
    keys.path.write_bytes(MARK + keys.path.read_bytes())
    found = keys.find("p")
    assert found is not None and found.secret.reveal() == "sk-0123456789"
    keys.save("q", "sk-another")
    assert keys.stored_keys() == {"sk-0123456789", "sk-another"}


def test_a_byte_order_mark_is_not_part_of_the_grants(tmp_path):
    first, second = Rule.parse("glob"), Rule.parse("shell(make)")
    grants = Grants(tmp_path / "permissions.toml", tmp_path, {})
    grants.add(first)
    (tmp_path / "permissions.toml").write_bytes(MARK + (tmp_path / "permissions.toml").read_bytes())
    grants.add(second)
    assert grants.load().rules == RuleSet((first, second))


def test_a_byte_order_mark_is_not_part_of_a_theme(tmp_path):
    shipped_theme = next(shipped_directory("themes").glob("*.toml"))
    own = tmp_path / shipped_theme.name
    own.write_bytes(MARK + shipped_theme.read_bytes())
    assert load_theme(own) == load_theme(shipped_theme)


def test_a_byte_order_mark_is_not_part_of_a_schema_or_instructions(tmp_path):
    (tmp_path / "schema.json").write_bytes(MARK + b'{"type": "object"}')
    assert read_schema(tmp_path / "schema.json")["type"] == "object"
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_bytes(MARK + b"Be brief.")
    trust(tmp_path)
    stable = system_messages(tmp_path, "s")[0].text
    assert "Be brief." in stable
    assert "\ufeff" not in stable


@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_a_price_that_is_not_a_number_is_refused(tmp_path, number):
    (tmp_path / "prices.toml").write_text(
        f'pricing_version = "2026-11-21"\n[models."a:b"]\n'
        f"input_per_mtok_usd = {number}\noutput_per_mtok_usd = 1\n"
    )
    with pytest.raises(ConfigError, match="input_per_mtok_usd"):
        load(tmp_path)
