"""Rules of OpenAI's Chat Completions API, of OpenRouter and of compatible servers."""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from tests.validator.media import check_image_url
from tests.validator.report import Report, array, mapping, objects
from tests.validator.structure import check_structure, properties_of
from tests.validator.tool_schemas import check_strict_schema, check_tool_schema

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_REASONER = re.compile(r"(?:openai/)?(o1|o3|o4|gpt-5)(?!.*chat)")
_WITHOUT_STOP = re.compile(r"o1-mini|o3(?!-mini)|o4|gpt-5")
_MAX_TOOLS = 128
_MAX_CALL_ID = 64
_OPENROUTER_KEYS = frozenset(
    {"provider", "models", "route", "transforms", "plugins", "reasoning", "usage", "top_k", "min_p",
     "top_a", "repetition_penalty", "include_reasoning", "preset", "session_id", "trace",
     "cache_control", "stream"}
)  # fmt: skip
_REASONING_DETAILS = ("reasoning.text", "reasoning.summary", "reasoning.encrypted")

Server = Literal["openai", "openrouter", "compatible"]


def check_chat(report: Report, body: dict[str, Any], server: Server) -> None:
    """Report what the server refuses; for compatible servers many errors are warnings."""
    _Chat(report, body, server).check()
    if server == "openrouter":
        _check_openrouter(report, body)


@dataclass(frozen=True)
class _Chat:
    report: Report
    body: dict[str, Any]
    server: Server

    @property
    def is_openai(self) -> bool:
        return self.server == "openai"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return objects(self.body.get("messages"))

    def strict(self, rule: str, path: str, message: str) -> None:
        """Report what OpenAI refuses and some compatible servers accept."""
        (self.report.error if self.is_openai else self.report.warning)(rule, path, message)

    def check(self) -> None:
        if self.is_openai:
            check_structure(self.report, "openai.chat", _with_image_objects(self.body))
        elif not isinstance(self.body.get("messages"), list):
            self.report.error("schema-missing", "messages", "required")
        if self.server == "openrouter" and not isinstance(self.body.get("model"), str):
            self.report.error("schema-missing", "model", "required")
        if self.body.get("messages") == []:
            self.report.error("messages-empty", "messages", "at least one message is required")
        self._check_tools()
        self._check_options()
        for index, message in enumerate(self.messages):
            self._check_message(message, f"messages[{index}]")
        self._check_order()

    def _check_tools(self) -> None:
        tools, choice, names = self.body.get("tools"), self.body.get("tool_choice"), list[Any]()
        for index, tool in enumerate(objects(tools)):
            path, kind = f"tools[{index}].function", tool.get("type", "function")
            function = tool.get("function" if kind == "function" else "custom")
            if tool.get("type") == "function" and not isinstance(function, dict):
                self.report.error("tool-shape", path, "required; the flat form is of Responses")
                continue
            names.append(self._check_function(mapping(function), path))
        if len(array(tools)) > _MAX_TOOLS and self.is_openai:
            self.report.error("tools-many", "tools", f"at most {_MAX_TOOLS}")
        if tools == []:
            self.strict("tools-empty", "tools", "an empty array is refused; leave the key out")
        if not tools:
            if choice not in (None, "none", "auto") or (choice and self.is_openai):
                self.report.error("tool-choice", "tool_choice", "only allowed when tools are given")
            if self.body.get("parallel_tool_calls") is not None and self.is_openai:
                path = "parallel_tool_calls"
                self.report.error("parallel-tool-calls", path, "only allowed when tools are given")
        elif isinstance(choice, dict):
            wanted = mapping(choice.get("function")).get("name")
            if wanted and wanted not in names:
                self.report.error("tool-choice", "tool_choice", f"no tool {wanted!r}")

    def _check_function(self, function: dict[str, Any], path: str) -> Any:
        name, parameters = function.get("name"), function.get("parameters")
        if isinstance(name, str) and not _NAME.match(name):
            self.report.error("tool-name", f"{path}.name", f"{name!r}: not {_NAME.pattern}")
        if parameters is not None:
            check_tool_schema(self.report, parameters, f"{path}.parameters")
        if function.get("strict") and self.is_openai:
            check_strict_schema(self.report, parameters, f"{path}.parameters")
        return name

    def _check_options(self) -> None:
        body, form = self.body, mapping(self.body.get("response_format"))
        if body.get("stream_options") and not body.get("stream"):
            self.strict("stream-options", "stream_options", "only allowed when stream is true")
        if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
            self.strict("max-tokens-twice", "max_tokens", "not with max_completion_tokens")
        if form.get("type") == "json_object" and "json" not in json.dumps(self.messages).lower():
            self.strict("json-word", "messages", "the word 'json' must occur with json_object")
        wanted = mapping(form.get("json_schema"))
        if form.get("type") == "json_schema" and wanted.get("strict") and self.is_openai:
            path = "response_format.json_schema.schema"
            check_strict_schema(self.report, wanted.get("schema"), path)
        model = body.get("model")
        if not self.is_openai or not isinstance(model, str) or not _REASONER.match(model):
            return
        if body.get("max_tokens") is not None:
            self.report.error("reasoner-max-tokens", "max_tokens", "use max_completion_tokens")
        if body.get("stop") is not None and _WITHOUT_STOP.search(model):
            self.report.error("reasoner-stop", "stop", "not supported with this model")
        if body.get("temperature") not in (None, 1) and not re.match(r"gpt-5\.\d", model):
            self.report.error("reasoner-temperature", "temperature", "only the default here")

    def _check_message(self, message: dict[str, Any], path: str) -> None:
        match message.get("role"):
            case "assistant":
                self._check_assistant(message, path)
            case "tool":
                for index, part in enumerate(objects(message.get("content"))):
                    if part.get("type") not in ("text", "image_url"):
                        where = f"{path}.content[{index}]"
                        self.strict("tool-content", where, "only text and image_url parts")
            case "user" | "system" | "developer" as role:
                self._check_input(message, role, path)
            case "function":
                pass
            case role:
                self.report.error("role", f"{path}.role", f"{role!r}")

    def _check_assistant(self, message: dict[str, Any], path: str) -> None:
        calls, content = message.get("tool_calls"), message.get("content")
        if calls == []:
            self.strict("tool-calls-empty", f"{path}.tool_calls", "leave the key out")
        others = ("function_call", "refusal", "audio")
        is_empty = not calls and not any(message.get(key) for key in others)
        if content in (None, []) and is_empty:
            self.strict("assistant-empty", f"{path}.content", "required without tool calls")
        for index, part in enumerate(objects(content)):
            if part.get("type") not in ("text", "refusal", "thinking"):
                where = f"{path}.content[{index}]"
                self.strict("assistant-part", where, "only text and refusal parts")
        known: list[Any] = []
        for index, call in enumerate(objects(calls)):
            where, identifier = f"{path}.tool_calls[{index}]", call.get("id")
            if not identifier:
                self.report.error("tool-call-id", f"{where}.id", "required, not empty")
            elif len(str(identifier)) > _MAX_CALL_ID and self.is_openai:
                self.report.error("tool-call-id", f"{where}.id", f"at most {_MAX_CALL_ID}")
            if identifier in known:
                self.report.error("tool-call-id-twice", f"{where}.id", "unique in a message")
            known.append(identifier)
            if isinstance(call.get("function"), dict):
                self._check_call(call["function"], f"{where}.function")

    def _check_call(self, function: dict[str, Any], path: str) -> None:
        name, arguments = function.get("name"), function.get("arguments")
        if not _NAME.match(str(name or "")):
            self.report.error("tool-name", f"{path}.name", f"{name!r}: not {_NAME.pattern}")
        where = f"{path}.arguments"
        if not isinstance(arguments, str):
            self.report.error("arguments-string", where, "must be JSON text, not an object")
            return
        try:
            if not isinstance(json.loads(arguments), dict):
                self.report.warning("arguments-json", where, "JSON, but not an object")
        except ValueError:
            self.report.warning("arguments-json", where, "not JSON; OpenAI alone accepts it")

    def _check_input(self, message: dict[str, Any], role: str, path: str) -> None:
        model = str(self.body.get("model"))
        if role != "user" and re.match(r"o1-(mini|preview)", model):
            self.report.error("reasoner-system", f"{path}.role", f"{role!r} is not supported")
        if message.get("content") is None:
            self.report.error("content-missing", f"{path}.content", "required")
        for index, part in enumerate(objects(message.get("content"))):
            where, kind = f"{path}.content[{index}]", part.get("type")
            hears = re.search("audio|realtime", model)
            if kind == "input_audio" and self.is_openai and not hears:
                self.report.error("audio-model", where, "this model takes text and image_url only")
            if kind == "image_url":
                url = part.get("image_url")
                if isinstance(url, str):
                    self.report.warning("image-url-object", where, "an object with url, not text")
                url = url.get("url") if isinstance(url, dict) else url
                check_image_url(self.report, url, f"{where}.image_url")
            if role != "user" and kind != "text":
                self.strict("system-part", where, "only text parts here")

    def _check_order(self) -> None:
        """Check that the tool messages right after each call answer it."""
        waiting: list[Any] = []
        known: list[Any] = []
        for index, message in enumerate(self.messages):
            path = f"messages[{index}]"
            if message.get("role") == "tool":
                identifier = message.get("tool_call_id")
                if identifier in waiting:
                    waiting.remove(identifier)
                elif identifier not in known:
                    self.report.error("tool-orphan", path, f"{identifier!r} answers no call")
                elif self.is_openai:
                    self.report.warning("tool-answer-twice", path, f"{identifier!r} twice")
                continue
            if waiting:
                self._report_missing(path, waiting)
            calls = message.get("tool_calls") if message.get("role") == "assistant" else None
            known = [call.get("id") for call in objects(calls)]
            waiting = list(known)
        if waiting:
            self._report_missing(f"messages[{len(self.messages)}]", waiting)

    def _report_missing(self, path: str, waiting: list[Any]) -> None:
        missing = sorted(map(str, waiting))
        self.report.error("tool-answer-missing", path, f"calls without an answer: {missing}")


def _with_image_objects(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with image URLs as objects; the plain form has a separate rule."""
    if not isinstance(body.get("messages"), list):
        return body
    copied = json.loads(json.dumps(body))
    for message in objects(copied["messages"]):
        for part in objects(message.get("content")):
            if isinstance(part.get("image_url"), str):
                part["image_url"] = {"url": part["image_url"]}
    return copied


def _check_openrouter(report: Report, body: dict[str, Any]) -> None:
    for key in sorted(body.keys() - properties_of("openai.chat") - _OPENROUTER_KEYS):
        report.warning("unknown-key", key, "not a documented parameter")
    for index, message in enumerate(objects(body.get("messages"))):
        for place, detail in enumerate(objects(message.get("reasoning_details"))):
            path = f"messages[{index}].reasoning_details[{place}]"
            if detail.get("type") not in _REASONING_DETAILS:
                report.error("reasoning-details", f"{path}.type", f"{detail.get('type')!r}")
            if message.get("role") != "assistant":
                report.error("reasoning-details", path, "only on assistant messages")
