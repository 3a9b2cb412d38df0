"""The content of `docs/prompt.md`: what every model reads before the conversation."""

import textwrap
from pathlib import Path

from yourtool.agent.requests.prompt import (
    build_sandbox_text,
    build_situation_text,
    build_stable_text,
)
from yourtool.agent.session.system_prompt import system_messages
from yourtool.providers.estimate import estimate_tokens
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel

_SURROUNDINGS = """\
Working directory: /home/me/project
System: Linux x86_64; shell commands run in bash
Git repository: yes; when the session began, on branch main with 1 changed file
   M src/app.py"""
_INSTRUCTIONS = [("the project, from AGENTS.md", "Run `make test` after a change.")]


def prompt_page() -> str:
    """Return the prompt, and its part about the moment in each mode."""
    around = f"{_SURROUNDINGS}\n{build_sandbox_text(SandboxLevel.FULL)}"
    stable = build_stable_text(around, _INSTRUCTIONS)
    tokens = estimate_tokens(system_messages(Path("/home/me/project"), ""), ())
    lines = [
        f"Without instructions, it has about {round(tokens, -1):,} tokens.",
        "",
        "```markdown",
        *stable.splitlines(),
        "```",
        "",
        "The part about the moment, in each mode and with `-p`:",
        "",
    ]
    for mode in Mode:
        lines += _quote(build_situation_text("2026-01-01", mode, is_answered=True))
    lines += _quote(build_situation_text("2026-01-01", Mode.ASK, is_answered=False))
    return "\n".join(lines).rstrip() + "\n"


def _quote(text: str) -> list[str]:
    wrapped = (textwrap.wrap(line, 98, break_on_hyphens=False) for line in text.splitlines())
    return ["```text", *(line for lines in wrapped for line in lines), "```", ""]
