"""Whether a provider would accept the body of a request.

Two layers: the structure that the providers' SDKs define (`structure.py`), then the rules that the
live APIs enforce and no schema has, one module per API. An empty list is no proof: the limits of
single models are not checked.
"""

from typing import Any

from tests.validator.anthropic import check_messages
from tests.validator.google import check_generate_content
from tests.validator.ollama import check_ollama_chat
from tests.validator.openai_chat import check_chat
from tests.validator.openai_responses import check_responses
from tests.validator.report import Problem, Report


def validate(provider: str, api: str, body: Any, model: str = "", beta: str = "") -> list[Problem]:
    """Return every problem of `body`.

    `model`: for Gemini, whose model is in the URL. `beta`: the header `anthropic-beta`.
    """
    report = Report()
    if not isinstance(body, dict):
        report.error("schema-type", "", "the body must be a JSON object")
        return report.problems
    match provider, api:
        case "anthropic", "messages":
            check_messages(report, body, beta)
        case "openai", "chat":
            check_chat(report, body, "openai")
        case "openrouter", "chat":
            check_chat(report, body, "openrouter")
        case "openai-compat", "chat":
            check_chat(report, body, "compatible")
        case (("openai" | "openai-compat"), "responses"):
            check_responses(report, body, strict=provider == "openai")
        case "gemini", "generateContent":
            check_generate_content(report, body, model)
        case "ollama", "chat":
            check_ollama_chat(report, body)
        case _:
            raise ValueError(f"no rules for {provider}/{api}")
    return report.problems


def errors(problems: list[Problem]) -> list[Problem]:
    """Return the problems to which the provider responds with 400."""
    return [problem for problem in problems if problem.severity == "error"]
