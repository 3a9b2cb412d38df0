"""Rules of OpenAI's Responses API and of compatible servers."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.validator.media import DATA_URL, check_image_url
from tests.validator.report import Report, is_number, mapping, objects
from tests.validator.structure import check_structure
from tests.validator.tool_schemas import check_strict_schema, check_tool_schema

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
_ID_PREFIXES = {
    "function_call": "fc",
    "message": "msg",
    "reasoning": "rs",
    "custom_tool_call": "ctc",
    "web_search_call": "ws",
}
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call")
_OUTPUTS = tuple(f"{kind}_output" for kind in _CALLS)
_MAX_CALL_ID = 64
_MIN_OUTPUT_TOKENS = 16


def check_responses(report: Report, body: dict[str, Any], *, strict: bool) -> None:
    """Report what the API refuses; `strict` for OpenAI itself, not for compatible servers."""
    _Responses(report, body, strict).check()


@dataclass(frozen=True)
class _Responses:
    report: Report
    body: dict[str, Any]
    strict: bool

    @property
    def items(self) -> list[dict[str, Any]]:
        return objects(self.body.get("input"))

    @property
    def is_chained(self) -> bool:
        """Return whether the previous conversation is stored at the provider."""
        return bool(self.body.get("previous_response_id") or self.body.get("conversation"))

    def check(self) -> None:
        body = self.body
        if self.strict:
            check_structure(self.report, "openai.responses", body)
        if not body.get("model") and not body.get("prompt"):
            self.report.error("schema-missing", "model", "required")
        if body.get("input") is None and not body.get("prompt") and not self.is_chained:
            self.report.error("schema-missing", "input", "required")
        self._check_tools()
        self._check_options()
        for index, item in enumerate(self.items):
            self._check_item(item, index)
        self._check_pairs()

    def _check_tools(self) -> None:
        for index, tool in enumerate(objects(self.body.get("tools"))):
            path, name, parameters = f"tools[{index}]", tool.get("name"), tool.get("parameters")
            if tool.get("type") != "function":
                continue
            if isinstance(tool.get("function"), dict):
                self.report.error("tool-shape", path, "name and parameters belong at the top")
            if isinstance(name, str) and not _NAME.match(name):
                self.report.error("tool-name", f"{path}.name", f"{name!r}: not {_NAME.pattern}")
            if parameters is not None:
                check_tool_schema(self.report, parameters, f"{path}.parameters")
            if tool.get("strict"):
                check_strict_schema(self.report, parameters, f"{path}.parameters")
        has_tools = self.body.get("tools") or self.is_chained
        if isinstance(self.body.get("tool_choice"), dict) and not has_tools:
            self.report.error("tool-choice", "tool_choice", "only allowed when tools are given")

    def _check_options(self) -> None:
        limit, temperature = self.body.get("max_output_tokens"), self.body.get("temperature")
        if isinstance(limit, int) and limit < _MIN_OUTPUT_TOKENS:
            path = "max_output_tokens"
            self.report.error("max-output-tokens", path, f"at least {_MIN_OUTPUT_TOKENS}")
        if temperature is not None and is_number(temperature) and not 0 <= temperature <= 2:
            self.report.error("temperature", "temperature", "from 0 to 2")
        form = mapping(mapping(self.body.get("text")).get("format"))
        if form.get("type") == "json_schema" and form.get("strict"):
            check_strict_schema(self.report, form.get("schema"), "text.format.schema")

    def _check_item(self, item: dict[str, Any], index: int) -> None:
        kind, path, identifier = _kind(item), f"input[{index}]", item.get("id")
        prefix = _ID_PREFIXES.get(str(kind), "")
        if self.strict and isinstance(identifier, str) and not identifier.startswith(prefix):
            self.report.error("item-id", f"{path}.id", f"{identifier!r}: begins with {prefix!r}")
        match kind:
            case "function_call":
                if not isinstance(item.get("arguments"), str):
                    self.report.error("arguments-string", f"{path}.arguments", "must be JSON text")
                if len(str(item.get("call_id"))) > _MAX_CALL_ID:
                    self.report.error("call-id", f"{path}.call_id", f"at most {_MAX_CALL_ID}")
            case "message":
                self._check_message(item, path)
            case "reasoning":
                self._check_reasoning(item, index)
            case _ if kind in _OUTPUTS:
                output = item.get("output")
                for place, part in enumerate(objects(output)):
                    self._check_media(part, f"{path}.output[{place}]")
                if kind == "function_call_output" and not isinstance(output, str | list):
                    self.report.error("output-type", f"{path}.output", "a string or an array")
            case _:
                pass

    def _check_message(self, item: dict[str, Any], path: str) -> None:
        is_reply = item.get("role") == "assistant"
        for index, part in enumerate(objects(item.get("content"))):
            where, kind = f"{path}.content[{index}]", part.get("type")
            if is_reply and kind not in ("output_text", "refusal", "reasoning_text", "text"):
                self.report.error("part-type", f"{where}.type", f"{kind!r} in a reply")
            if not is_reply and kind in ("output_text", "refusal"):
                self.report.error("part-type", f"{where}.type", f"{kind!r} outside a reply")
            self._check_media(part, where)

    def _check_media(self, part: dict[str, Any], path: str) -> None:
        if part.get("type") == "input_image" and part.get("image_url"):
            check_image_url(self.report, part["image_url"], f"{path}.image_url")
        if part.get("type") == "input_file" and isinstance(part.get("file_data"), str):
            data = DATA_URL.match(part["file_data"])
            if data and data[1].split("/")[0] in ("audio", "video", "image"):
                self.report.error("file-type", f"{path}.file_data", f"unsupported: {data[1]}")

    def _check_reasoning(self, item: dict[str, Any], index: int) -> None:
        path, identifier = f"input[{index}]", item.get("id")
        rest = self.items[index + 1 :]
        after = next((each for each in rest if each.get("type") != "reasoning"), None)
        is_stored = self.body.get("store") is not False
        if identifier and not self.is_chained and (after is None or _is_input(after)):
            self.report.error("reasoning-alone", path, "the item that it led to must follow")
        if not self.strict or not identifier:
            return
        if is_stored and after and after.get("role") == "assistant" and not after.get("id"):
            said = "a stored item is followed by the very item that it led to, with its id"
            self.report.error("reasoning-follower-id", path, said)
        if not is_stored and not item.get("encrypted_content"):
            self.report.error("reasoning-encrypted", path, "store=false needs encrypted_content")

    def _check_pairs(self) -> None:
        """Check that each call has one output, and each output a call before it."""
        items = self.items
        referenced = any(_kind(each) in ("item_reference", "compaction") for each in items)
        on_server = [str(each["call_id"]) for each in items if _is_run_by_server(each)]
        calls, outputs = dict[str, str](), set[str]()
        for index, item in enumerate(items):
            path, identifier = f"input[{index}]", str(item.get("call_id"))
            if _kind(item) in _CALLS and item.get("call_id"):
                calls[identifier] = path
            elif _kind(item) in _OUTPUTS:
                if identifier in outputs:
                    self.report.warning("output-twice", path, f"{identifier!r} is answered twice")
                outputs.add(identifier)
                is_known = identifier in calls or identifier in on_server
                if not is_known and not self.is_chained and not referenced:
                    self.report.error("output-orphan", path, f"no call {identifier!r} before it")
        for identifier, path in calls.items():
            if identifier not in outputs and identifier not in on_server:
                self.report.error("output-missing", path, f"no output for call {identifier!r}")
        for index, (item, after) in enumerate(pairwise(items)):
            is_answered = _kind(item) == "function_call" and str(item.get("call_id")) in outputs
            if is_answered and after.get("role") == "assistant":
                said = "a message between parallel calls: refused by some compatible servers"
                self.report.warning("calls-interleaved", f"input[{index + 1}]", said)


def _kind(item: dict[str, Any]) -> str | None:
    return item.get("type") or ("message" if "role" in item else None)


def _is_input(item: dict[str, Any]) -> bool:
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        return True
    return _kind(item) == "message" and item.get("role") in ("user", "system", "developer")


def _is_run_by_server(item: dict[str, Any]) -> bool:
    """Return whether a program at the provider made this call."""
    is_search = item.get("type") == "tool_search_call"
    return bool(item.get("call_id") and (is_search or item.get("caller")))
