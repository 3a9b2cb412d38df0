"""Rules of Ollama's native chat API, which ignores unknown fields."""

from typing import Any

from tests.validator.media import is_base64
from tests.validator.report import Report, array, mapping, objects
from tests.validator.tool_schemas import check_tool_schema

_KEYS = frozenset(
    {"model", "messages", "tools", "format", "stream", "keep_alive", "options", "think", "truncate",
     "shift", "logprobs", "top_logprobs", "_debug_render_only"}
)  # fmt: skip
_MESSAGE_KEYS = frozenset(
    {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
)
_OPTIONS = frozenset(
    {"num_keep", "seed", "num_predict", "top_k", "top_p", "min_p", "typical_p", "repeat_last_n",
     "temperature", "repeat_penalty", "presence_penalty", "frequency_penalty", "stop", "num_ctx",
     "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict", "numa",
     "penalize_newline", "use_mlock", "low_vram", "f16_kv", "logits_all", "vocab_only",
     "embedding_only", "tfs_z", "mirostat", "mirostat_tau", "mirostat_eta"}
)  # fmt: skip
_EFFORTS = ("low", "medium", "high", "max")
_ROLES = ("system", "user", "assistant", "tool")


def check_ollama_chat(report: Report, body: dict[str, Any]) -> None:
    if not isinstance(body.get("model"), str) or not body["model"]:
        report.error("schema-missing", "model", "required")
    if not isinstance(body.get("messages", []), list):
        report.error("schema-type", "messages", "expected an array")
    for key in sorted(body.keys() - _KEYS):
        report.warning("unknown-key", key, "Ollama ignores this key")
    for key in sorted(mapping(body.get("options")).keys() - _OPTIONS):
        report.warning("unknown-option", f"options.{key}", "Ollama ignores this option")
    if body.get("format") not in (None, "", "json") and not isinstance(body["format"], dict):
        report.error("format", "format", "'json' or a JSON schema object")
    think = body.get("think")
    if think is not None and not isinstance(think, bool) and think not in _EFFORTS:
        report.error("think", "think", f"true, false or one of {_EFFORTS}")
    for index, tool in enumerate(objects(body.get("tools"))):
        path, function = f"tools[{index}].function", mapping(tool.get("function"))
        if not function.get("name"):
            report.error("tool-shape", path, "{'type': 'function', 'function': {'name', …}}")
        elif function.get("parameters") is not None:
            check_tool_schema(report, function["parameters"], f"{path}.parameters")
    has_calls = False
    for index, message in enumerate(array(body.get("messages"))):
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            report.error("schema-type", path, "expected an object")
            continue
        _check_message(report, message, path)
        if message.get("role") == "assistant":
            has_calls = bool(objects(message.get("tool_calls")))
        elif message.get("role") == "tool" and not has_calls:
            report.warning("tool-orphan", path, "no tool call before this tool message")


def _check_message(report: Report, message: dict[str, Any], path: str) -> None:
    if message.get("role") not in _ROLES:
        report.error("role", f"{path}.role", f"{message.get('role')!r}: invalid role")
    if not isinstance(message.get("content", ""), str):
        report.error("content-string", f"{path}.content", "a string: no parts and no null")
    for key in sorted(message.keys() - _MESSAGE_KEYS):
        report.warning("unknown-key", f"{path}.{key}", "Ollama ignores this key")
    for index, image in enumerate(array(message.get("images"))):
        if not is_base64(image):
            report.error("image-base64", f"{path}.images[{index}]", "no data: prefix, no URL")
    for index, call in enumerate(objects(message.get("tool_calls"))):
        where, function = f"{path}.tool_calls[{index}].function", mapping(call.get("function"))
        if not isinstance(function.get("arguments", {}), dict):
            report.error("arguments-object", f"{where}.arguments", "must be an object, not text")
        if not function.get("name"):
            report.error("tool-call-name", f"{where}.name", "required")
    is_named = message.get("tool_name") or message.get("tool_call_id")
    if message.get("role") == "tool" and not is_named:
        report.warning("tool-name", path, "many templates cannot tell which tool answered")
