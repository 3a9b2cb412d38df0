"""Writes what is told in two places, the code and a page, from the code alone.

`make docs` runs it; a test fails when a page and the code have drifted apart.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from yourtool.agent.commands import COMMANDS
from yourtool.config import ENVIRONMENT, Config
from yourtool.deltas import MessageComplete
from yourtool.effects import SideEffects, ToolDefinition
from yourtool.events import UNSTAMPED, Event
from yourtool.ids import new_id
from yourtool.interrupt import Interrupt
from yourtool.messages import (
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    ImageSource,
    Message,
    MessageMetadata,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    canonical_json,
)
from yourtool.models import AdapterCapabilities, Model, ModelId
from yourtool.outcome import Result
from yourtool.paths import Paths
from yourtool.providers.base import OneTool, Request
from yourtool.providers.cache_plan import plan_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.quirks import HOSTS, Quirks
from yourtool.providers.registry import dialect_of
from yourtool.providers.replies.reply import Reply
from yourtool.providers.requests import hygiene
from yourtool.providers.requests.media import in_mib
from yourtool.providers.rows import BUILT_IN, ProviderRow
from yourtool.providers.tool_ids import ToolIdMap
from yourtool.providers.wire import Dialect
from yourtool.tables import Key, dotted
from yourtool.tui.keys import KEYS

ROOT = Path(__file__).parents[1]
_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAQAAAAAAA="
_PDF, _WAV, _FLAC = "JVBERi0xLjcK", "UklGRgAAAABXQVZFZm10IA==", "ZkxhQwAAACI="
_THOUGHT, _SIGNED, _SEALED = "(thought)", "c2lnbmVk", "c2VhbGVk"
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "title": "(a field)"}}}
_TOOL = ToolDefinition(
    name="read_file", description="x", input_schema=_SCHEMA, side_effects=SideEffects.READ
)
_ITEM = {"type": "reasoning", "summary": [{"type": "summary_text", "text": _THOUGHT}]}
_CALL = {"name": _TOOL.name, "arguments": "{}"}
_PART = {"functionCall": {"name": _TOOL.name}, "thoughtSignature": _SIGNED}
_CALLS = ("call_1", "call_2")
_CHAT_CALLS = [{"id": call, "function": _CALL} for call in _CALLS]
_REPLIES: dict[str, dict[str, Any]] = {
    "messages": {
        "content": [
            {"type": "thinking", "thinking": _THOUGHT, "signature": _SIGNED},
            {"type": "redacted_thinking", "data": _SEALED},
            *({"type": "tool_use", "id": call, "name": _TOOL.name} for call in _CALLS),
        ]
    },
    "responses": {
        "output": [
            {**_ITEM, "encrypted_content": _SEALED},
            *({"type": "function_call", "call_id": call, **_CALL} for call in _CALLS),
        ]
    },
    "chat": {
        "reasoning_details": [
            {"type": "reasoning.text", "text": _THOUGHT, "signature": _SIGNED},
            {"type": "reasoning.encrypted", "data": _SEALED},
        ],
        "tool_calls": _CHAT_CALLS,
    },
    "others": {"reasoning_content": _THOUGHT, "tool_calls": _CHAT_CALLS},
    "generate-content": {"parts": [{"text": _THOUGHT, "thought": True}, _PART, _PART]},
    "ollama": {"thinking": _THOUGHT, "tool_calls": [{"function": _CALL}] * 2},
}
"""A message with one of everything in each wire format; `others`: of most servers with `chat`."""
_AROUND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "chat": lambda message: {"choices": [{"message": message}]},
    "generate-content": lambda content: {"candidates": [{"content": content}]},
    "ollama": lambda message: {"message": message, "done": True},
}
"""What stands around it."""
_ELSEWHERE = ProviderRow(name="others", api="chat", label="Servers like OpenAI's")
BEGIN, END = "<!-- made by `make docs` -->\n", "<!-- end -->\n"


class Setting(Struct, frozen=True):
    """A key of `config.toml` as its documentation needs it."""

    key: Key
    kind: str
    default: Any
    """None: not set."""
    example: Any
    description: str


def settings(kind: type[Struct], at: Key = ()) -> Iterator[Setting]:
    """Yield every key below a Struct; of many by name, those of one example."""
    for field in msgspec.structs.fields(kind):
        bare, meta = _split(field.type)
        key = (*at, field.name)
        if _is_struct(bare):
            yield from settings(bare, key)
        elif get_origin(bare) is dict and _is_struct(get_args(bare)[1]):
            name = str(meta.examples[0]) if meta.examples else "NAME"
            yield from settings(get_args(bare)[1], (*key, name))
        else:
            factory = field.default_factory
            default = field.default if factory is NODEFAULT else factory()
            example = meta.examples[0] if meta.examples else default
            yield Setting(key, _kind(bare), default, example, meta.description or "")


def template() -> str:
    """Return `config/config.toml`: every key, commented out, at its default."""
    lines = [
        "# The settings of yourtool, each at its default. To change one, take away the `#` in",
        "# front of it and of the `[table]` above it. `yourtool config check` tells mistakes, and",
        "# `yourtool config show` what is in force and why.",
    ]
    table: Key = ()
    for each in sorted(settings(Config), key=lambda each: len(each.key) > 1):
        if each.key[:-1] != table:
            table = each.key[:-1]
            lines += ["", f"#[{dotted(table)}]"]
        unset = " Not set by default." if each.default is None else ""
        lines += [*([] if table else [""]), f"# {each.description}{unset}"]
        lines.append(f"#{each.key[-1]} = {_toml(each.example)}")
    return "\n".join(lines) + "\n"


def settings_table() -> str:
    """Return the table of `docs/configuration.md`."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for each in settings(Config):
        default = "–" if each.default is None else f"`{_toml(each.default)}`"
        key = ".".join(part if part.isidentifier() else "NAME" for part in each.key)
        key = key.replace("workspaces.NAME", 'workspaces."DIRECTORY"')
        rows.append(f"| `{key}` | {each.kind} | {default} | {each.description} |")
    variables = ", ".join(f"`{name}` (`{dotted(key)}`)" for name, key in ENVIRONMENT.items())
    return "\n".join([*rows, "", f"Environment variables: {variables}."]) + "\n"


def commands_table() -> str:
    """Return the table of `docs/commands.md`."""
    rows = ["| command | what it does |", "|---|---|"]
    for command in COMMANDS:
        aliases = "".join(f", `/{alias}`" for alias in command.aliases)
        wait = "" if command.during_turn else " (not while a turn runs)"
        usage = command.usage.replace("|", "\\|")
        rows.append(f"| `{usage}`{aliases} | {command.summary}{wait} |")
    return "\n".join(rows) + "\n"


def keys_table() -> str:
    """Return the tables of `docs/keys.md`."""
    places = {"chat": "Everywhere", "prompt": "In the prompt", "question": "At a question"}
    parts: list[str] = []
    for place, title in places.items():
        rows = [f"| {key.shown} | {key.description} |" for key in KEYS if key.place == place]
        parts.append("\n".join([f"## {title}", "", "| key | what it does |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def events_schema() -> str:
    """Return `docs/events.schema.json`: every line that `stream-json` can print."""
    schema = msgspec.json.schema(Event | Result)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A line of `yourtool -p --output-format stream-json`"
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def quirks_table() -> str:
    """Return the tables of `docs/models.md`: quirks, and which well-known host has which."""
    rows = ["| quirk | value | default | meaning |", "|---|---|---|---|"]
    for each in settings(Quirks):
        default = "–" if each.default is None else f"`{_toml(each.default)}`"
        rows.append(f"| `{each.key[-1]}` | {each.kind} | {default} | {each.description} |")
    hosts = ["| host | address | quirks |", "|---|---|---|"]
    for host in HOSTS:
        addresses = ", ".join(
            f"`{'*' if each.startswith('.') else ''}{each}`" for each in host.addresses
        )
        quirks = ", ".join(f"`{name} = {_toml(value)}`" for name, value in host.quirks.items())
        hosts.append(f"| {host.label} | {addresses} | {quirks or 'none'} |")
    return "\n".join([*rows, "", *hosts]) + "\n"


def providers_table() -> str:
    """Return the tables of `docs/providers.md`: what a request to each provider holds."""
    rows = [row for row in BUILT_IN if row.api != "scripted"]
    head = ["| provider | `api` | key | address |", "|---|---|---|---|"]
    for row in rows:
        keys = ", ".join(f"`{name}`" for name in row.key_env) or "–"
        head.append(f"| `{row.name}` | `{row.api}` | {keys} | `{row.base_url}` |")
    names = " | ".join(f"`{row.name}`" for row in rows)
    table = [f"| | {names} | others with `chat` |", f"|---|---{'|---' * len(rows)}|"]
    found = [_carried(row) for row in (*rows, _ELSEWHERE)]
    table += [f"| {what} | {' | '.join(each[what] for each in found)} |" for what in found[0]]
    most = [f"| at most | {names} | others |", table[1]]
    nobody = Paths(home=ROOT / "docs", data=ROOT, state=ROOT, cache=ROOT)  # adds no model
    shipped = {model.id: model for model in Catalogue.load(nobody).all()}
    limits = [_limits(shipped.get(row.default_model or "")) for row in (*rows, _ELSEWHERE)]
    most += [f"| {what} | {' | '.join(each[what] for each in limits)} |" for what in limits[0]]
    return "\n".join([*head, "", *table, "", *most]) + "\n"


def _limits(model: Model | None) -> dict[str, str]:
    """Say what a request may hold at a provider's default model; None: at one without a row."""
    can = model.capabilities if model else AdapterCapabilities()
    return {
        "a picture (`max_image_bytes`)": in_mib(can.max_image_bytes),
        "a PDF or a recording (`max_file_bytes`)": in_mib(can.max_file_bytes),
        "pictures in a request (`max_images`)": f"{can.max_images:,}",
        "all that is sent (`max_request_bytes`)": in_mib(can.max_request_bytes),
    }


def _carried(row: ProviderRow) -> dict[str, str]:
    """Say what of a conversation is found again in the request that is made of it."""
    model, dialect = _sample_model(row), dialect_of(row)
    reply = canonical_json(_AROUND.get(row.api, dict)(_REPLIES.get(row.name) or _REPLIES[row.api]))
    logging.disable(logging.WARNING)
    own, foreign, forced, formed = (
        dialect.to_wire(asked).body.decode()
        for asked in (
            _sample(model, _history(_said_by(model, dialect, reply))),
            _sample(model, _history(_said_by_another())),
            _sample(model, (), tools=(_TOOL,), tool_choice=OneTool(_TOOL.name)),
            _sample(model, (), output_schema=_TOOL.input_schema),
        )
    )
    logging.disable(logging.NOTSET)

    def returned(mark: str) -> str:
        return "–" if mark not in reply.decode() else "sent back" if mark in own else "left out"

    aside = "in a message after it" if "images that the tools returned" in own else "in its place"
    flagged = '"is_error":true' in own or '{"error":' in own
    is_forced = '"tool_choice"' in forced or "allowedFunctionNames" in forced
    return {
        "its own reasoning": returned(_THOUGHT),
        "signatures of it": returned(_SIGNED),
        "sealed reasoning": returned(_SEALED),
        "another model's reasoning": "sent" if _THOUGHT in foreign else "left out",
        "pictures by address": "sent" if "https://example.org" in own else "left out",
        "pictures in tool results": aside if _PICTURE in own else "left out",
        "PDFs": "sent" if _PDF in own else "left out",
        "PDFs by address": "sent" if "a.pdf" in own else "left out",
        "recordings (WAV, MP3)": "sent" if _WAV in own else "left out",
        "recordings (Ogg, FLAC)": "sent" if _FLAC in own else "left out",
        "failed tool results": "marked" if flagged else "told in words",
        "a call that must be made": "demanded" if is_forced else "the only tool there is",
        "a schema for the answer": "sent" if "(a field)" in formed else "left out",
        "marks for the cache": "yes" if "cache_control" in own else "no",
        "stop sequences": "sent" if "(stop)" in own else "left out",
    }


def _sample_model(row: ProviderRow) -> Model:
    can = AdapterCapabilities(
        supports_thinking=True,
        supports_images=True,
        supports_audio=True,
        supports_documents=True,
        supports_prompt_caching=True,
    )
    name = ModelId.parse(row.default_model).name if row.default_model else "some-model"
    return Model(id=f"{row.name}:{name}", wire_name=name, capabilities=can, least_cached_tokens=0)


def _sample(model: Model, conversation: Sequence[Message], **options: Any) -> Request:
    system = _said(Role.SYSTEM, TextBlock("(system)"))
    messages = (system, *hygiene.view(conversation, model))
    return Request(
        request_id="",
        session_id="",
        message_id="",
        model=model,
        messages=messages,
        max_output_tokens=32_000,
        stop_sequences=("(stop)",),
        cache=plan_cache(messages, (), model, "short"),
        tool_ids=ToolIdMap(),
        interrupt=Interrupt(),
        **options,
    )


def _said_by(model: Model, dialect: Dialect, document: bytes) -> Message:
    """Return a reply as the provider's own adapter reads and keeps it."""
    reply = Reply(_sample(model, ()), api=dialect.api)
    *_, whole = (*dialect.whole(document, reply), *reply.finish())
    assert isinstance(whole, MessageComplete), "the last event of a reply"
    metadata = MessageMetadata(
        model=model.id, provider=model.provider, provider_raw=whole.provider_raw
    )
    return msgspec.structs.replace(_said(Role.ASSISTANT, *whole.final_content), metadata=metadata)


def _said_by_another() -> Message:
    content = (ThinkingBlock(_THOUGHT, _SIGNED), TextBlock("x"))
    return msgspec.structs.replace(
        _said(Role.ASSISTANT, *content), metadata=MessageMetadata(model="other:model")
    )


def _history(reply: Message) -> list[Message]:
    picture = ImageBlock(ImageSource("base64", _PICTURE), "image/png")
    linked = ImageBlock(ImageSource("url", "https://example.org/a.png"), "image/png")
    results = [
        ToolResultBlock(call.id, (TextBlock("x"), *([] if number else [picture])), bool(number))
        for number, call in enumerate(reply.tool_uses)
    ]
    return [
        _said(Role.USER, TextBlock("?"), linked, *_files()),
        reply,
        *(_said(Role.TOOL, result) for result in results),
        _said(Role.USER, TextBlock("?")),
    ]


def _files() -> tuple[ContentBlock, ...]:
    return (
        DocumentBlock(ImageSource("base64", _PDF), "application/pdf"),
        DocumentBlock(ImageSource("url", "https://example.net/a.pdf"), "application/pdf"),
        AudioBlock(ImageSource("base64", _WAV), "audio/wav"),
        AudioBlock(ImageSource("base64", _FLAC), "audio/flac"),
    )


def _said(role: Role, *content: ContentBlock) -> Message:
    return Message(id=new_id(), session_id="", role=role, content=content, created_at=UNSTAMPED)


WHOLE: dict[str, Callable[[], str]] = {
    "config/config.toml": template,
    "docs/events.schema.json": events_schema,
}
PARTS: dict[str, Callable[[], str]] = {
    "docs/configuration.md": settings_table,
    "docs/commands.md": commands_table,
    "docs/keys.md": keys_table,
    "docs/models.md": quirks_table,
    "docs/providers.md": providers_table,
}


def pages() -> Iterable[tuple[Path, str]]:
    """Yield every file with what should be in it."""
    for name, content in WHOLE.items():
        yield ROOT / name, content()
    for name, content in PARTS.items():
        path = ROOT / name
        before, _, rest = path.read_text("utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        yield path, f"{before}{BEGIN}\n{content()}\n{END}{after}"


def _split(annotation: Any) -> tuple[Any, Meta]:
    if get_origin(annotation) is Annotated:
        bare, meta = get_args(annotation)
        return bare, meta
    return annotation, Meta()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _kind(bare: Any) -> str:
    names = {"str": "text", "int": "integer", "float": "number", "Decimal": "amount"}
    choices = () if get_origin(bare) is Literal else get_args(bare)
    parts = [part for part in (choices or (bare,)) if part is not type(None)]
    if get_origin(bare) is dict:
        return "table"
    if get_origin(parts[0]) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(parts[0]))
    return names.get(parts[0].__name__, "yes or no" if parts[0] is bool else "text")


def _toml(value: Any) -> str:
    # JSON is TOML for texts, numbers and empty tables.
    if isinstance(value, dict):
        return "{}"
    plain = float(value) if type(value).__name__ == "Decimal" else value
    return msgspec.json.encode(plain).decode()


def main() -> None:
    """Write the files that are not as they should be."""
    for path, content in pages():
        if not path.exists() or path.read_text("utf-8") != content:
            path.write_text(content, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
