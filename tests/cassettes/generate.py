"""Write the cassettes: `python -m tests.cassettes.generate`.

The files are generated from the scripted replies of the modules in this directory and are the same
every time; README.md describes them.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cassettes.anthropic import Anthropic
from tests.cassettes.google import Gemini
from tests.cassettes.ollama import Ollama
from tests.cassettes.openai_chat import CompatibleChat, OpenAIChat, OpenRouter
from tests.cassettes.openai_responses import CompatibleResponses, OpenAIResponses
from tests.cassettes.scenarios import STREAM_ONLY
from tests.cassettes.script import Dialect, Failure, Reply, expected, expected_failure

HERE = Path(__file__).parent
DIALECTS: tuple[Dialect, ...] = (
    Anthropic(),
    OpenAIChat(),
    OpenAIResponses(),
    OpenRouter(),
    Gemini(),
    Ollama(),
    CompatibleChat(),
    CompatibleResponses(),
)
_ARGUMENTS_ARE_TEXT = ("chat", "responses")
"""APIs whose unstreamed replies have call arguments as text, which a limit can cut."""


def files() -> dict[str, str]:
    """Return the text of every file by its path below this directory."""
    found: dict[str, str] = {}
    index: list[dict[str, Any]] = []
    for dialect in DIALECTS:
        for exchange, right in _cassettes(dialect):
            name = exchange["id"]
            assert f"exchanges/{name}.json" not in found, name
            found[f"exchanges/{name}.json"] = _json(exchange)
            found[f"expected/{name}.json"] = _json(right)
            index.append(_row(exchange))
    return {**found, "index.json": _json(sorted(index, key=lambda row: row["id"]))}


def _cassettes(dialect: Dialect) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for reply in dialect.replies():
        for each in _forms(dialect, reply):
            name = f"{dialect.prefix}-{each.name}{'-stream' if each.is_stream else ''}"
            yield _exchange(dialect, name, each), expected(dialect, name, each)
    for name, failure in dialect.failures():
        identifier = f"{dialect.prefix}-error-{name}"
        yield _refusal(dialect, identifier, failure), expected_failure(identifier, failure)


def _forms(dialect: Dialect, reply: Reply) -> Iterator[Reply]:
    """Yield the reply streamed and unstreamed, if the API has both forms of it."""
    yield _streamed(reply)
    is_broken_call = reply.name == "token-limit-in-call"
    if reply.name not in STREAM_ONLY and (not is_broken_call or dialect.api in _ARGUMENTS_ARE_TEXT):
        yield reply


def _streamed(reply: Reply) -> Reply:
    return replace(reply, is_stream=True, answers=reply.answers and _streamed(reply.answers))


def _exchange(dialect: Dialect, name: str, reply: Reply) -> dict[str, Any]:
    path, body = dialect.request(reply)
    text = dialect.stream(reply) if reply.is_stream else dialect.document(reply)
    kind = dialect.stream_type if reply.is_stream else "application/json"
    response = {"status": 200, "headers": {"content-type": kind}, "body": text}
    return _whole(dialect, name, path, body, response) | {"traits": _traits(dialect, reply)}


def _refusal(dialect: Dialect, name: str, failure: Failure) -> dict[str, Any]:
    path, body = dialect.request(Reply("refused"))
    text = dialect.error_body(failure) if failure.body is None else failure.body
    kind = "text/html" if text.startswith("<") else "application/json"
    headers = {"content-type": kind, **failure.headers}
    response = {"status": failure.status, "headers": headers, "body": text}
    traits = ["nonstream", "error", f"http_{failure.status}"]
    return _whole(dialect, name, path, body, response) | {"traits": traits}


def _whole(
    dialect: Dialect, name: str, path: str, body: dict[str, Any], response: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": name,
        "provider": dialect.provider,
        "api": dialect.api,
        "title": name.removeprefix(f"{dialect.prefix}-").replace("-", " "),
        "origin": "invented",
        "framing": "verbatim",
        "request": {
            "method": "POST",
            "path": path,
            "headers": {"content-type": "application/json"},
            "body": body,
        },
        "response": response,
        "edits": [],
    }


def _traits(dialect: Dialect, reply: Reply) -> list[str]:
    if not reply.is_stream:
        return ["nonstream"]
    traits = (
        ["ndjson", "stream"]
        if dialect.api == "chat" and "ndjson" in dialect.stream_type
        else ["stream"]
    )
    if reply.is_cut:
        traits.append("cut_stream")
    if reply.failure is not None:
        traits.append("error_in_stream")
    return traits


def _row(exchange: dict[str, Any]) -> dict[str, Any]:
    copied = {key: exchange[key] for key in ("id", "provider", "api", "origin", "traits")}
    response = exchange["response"]
    return {**copied, "status": response["status"], "bytes": len(response["body"].encode())}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    made = files()
    for old in HERE.glob("ex*/*.json"):
        if str(old.relative_to(HERE)) not in made:
            old.unlink()
    for path, text in made.items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
