"""One session at a terminal with recorded replies of six providers."""

import os
import re
from dataclasses import dataclass, replace

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import (
    ANTHROPIC_PATH,
    CHAT_PATH,
    GOOGLE_PATH,
    OLLAMA_PATH,
    OPENROUTER_PATH,
    RESPONSES_PATH,
    ProviderServer,
    replay,
)
from tests.providers.recorded_exchanges import expected, recorded
from tests.sandbox_here import NO_SANDBOX

pytestmark = pytest.mark.remaining

ANTHROPIC, OPENAI = "anthropic:claude-haiku-4-5", "openai:gpt-5.5-2026-04-23"
GOOGLE, OPENROUTER = "google:gemini-3.5-flash", "openrouter:x-ai/grok-4.1-fast"
CHAT, OLLAMA = "chat:gpt-5-2025-08-07", "ollama:gpt-oss"
PATHS = {
    ANTHROPIC: ANTHROPIC_PATH,
    CHAT: CHAT_PATH,
    OPENAI: RESPONSES_PATH,
    GOOGLE: GOOGLE_PATH,
    OLLAMA: OLLAMA_PATH,
    OPENROUTER: OPENROUTER_PATH,
}


@dataclass(frozen=True)
class Script:
    """Models with the replies of their turns: calls, then the answer."""

    first: tuple[tuple[str, tuple[str, ...]], ...]
    resumed: tuple[tuple[str, tuple[str, ...]], ...]
    calls_shell: str
    """A reply whose call is replaced by one of `shell`."""
    renamed: tuple[tuple[bytes, bytes], ...]
    """The replacement."""
    program: str
    """The command of that call."""
    unknown: str
    """A tool of another reply, which does not exist."""

    @property
    def asked(self):
        """Return the script of the server: the requests and their replies."""
        return [(model, name) for model, names in (*self.first, *self.resumed) for name in names]


OWN = Script(
    first=(
        (ANTHROPIC, ("anthropic-messages-call-stream", "anthropic-messages-after-call-stream")),
        (CHAT, ("openai-chat-parallel-calls-stream", "openai-chat-after-calls-stream")),
        (OPENAI, ("openai-responses-call-stream", "openai-responses-after-calls-stream")),
        (GOOGLE, ("gemini-generate-parallel-calls-stream", "gemini-generate-after-calls-stream")),
        (OLLAMA, ("ollama-chat-thinking-stream",)),
        (OPENROUTER, ("openrouter-chat-after-calls-stream",)),
    ),
    resumed=(
        (ANTHROPIC, ("anthropic-messages-thinking-stream",)),
        (OPENAI, ("openai-responses-thinking-stream",)),
        (GOOGLE, ("gemini-generate-signed-text-stream",)),
        (OPENROUTER, ("openrouter-chat-thinking-stream",)),
    ),
    calls_shell="openai-responses-call-stream",
    renamed=((b"read_file", b"shell"), (b"path", b"command")),
    program="notes/tide.txt",
    unknown="list_files",
)
RECORDED = Script(
    first=(
        (ANTHROPIC, ("anthropic-messages-36913693", "anthropic-messages-b0fd1c9d")),
        (CHAT, ("openai-chat-120ff12e", "openai-chat-69b21b79")),
        (OPENAI, ("openai-responses-eabbd6ae", "openai-responses-6420495e")),
        (GOOGLE, ("gemini-generate-c1aa0e6b", "gemini-generate-ea8f1642")),
        (OLLAMA, ("ollama-chat-935d1f64",)),
        (OPENROUTER, ("openrouter-chat-570055f8",)),
    ),
    resumed=(
        (ANTHROPIC, ("anthropic-messages-1df92f33",)),
        (OPENAI, ("openai-responses-17af3070",)),
        (GOOGLE, ("gemini-generate-ac371c76",)),
        (OPENROUTER, ("openrouter-chat-825fdb47",)),
    ),
    calls_shell="openai-responses-eabbd6ae",
    renamed=((b"get_capital", b"shell"), (b"country", b"command")),
    program="PotatoLand",
    unknown="fixed_version",
)
SIZE = {"columns": 110, "rows": 110}
"""The height that shows the full conversation."""


def new_discovery(script, name):
    reply = replay(name)
    if name == script.calls_shell:
        for before, after in script.renamed:
            reply = replace(reply, body=reply.body.replace(before, after))
    return reply


def set_up(home, program, server):
    home.mkdir()
    (home / "config.toml").write_text(
        f'[providers.chat]\napi = "chat"\nbase_url = "{server.url}/v1"\n'
    )
    (home / "models.toml").write_text(f'[models."{CHAT}"]\nuses_max_completion_tokens = true\n')
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\necho Potato City\n")
    program.chmod(0o755)


def run_turns(terminal, script, turns):
    """Run the turns, each with its model, and check that every answer is shown in full."""
    for model, names in turns:
        if f"{model}  ask" not in terminal.text:
            terminal.say(f"/model {model}")
            terminal.wait(f"{re.escape(model)}  ask")
        terminal.say(f"What do you say, {model}?")
        if script.calls_shell in names:
            terminal.wait("Run this command")
            terminal.answer("a")
        terminal.wait(lambda screen, names=names: is_shown(screen, names))
        terminal.wait(r"\? keys")


def is_shown(screen, names):
    """Return whether the texts of recorded replies are on the screen, word for word."""
    seen = words(screen)
    return all(words(expected(name)["text"]) in seen for name in names)


def words(text):
    """Return the words of a text, without line ends and emphasis."""
    return " ".join(text.replace("*", "").split())


def get_conversation(screen):
    """Return the conversation, without the prompt and the rows below it."""
    return screen[screen.index("❯ What") : screen.rindex("╭")].rstrip()


def strings_in(value):
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(strings_in, inside))


def sealed_in(name):
    """Return the parts of a reply that only its model can read."""
    right = expected(name)
    signed = [*right["thinking"], *right["tool_calls"], *right.get("part_signatures", ())]
    signatures = {each.get("signature") for each in signed} - {None}
    return signatures | set(right["redacted_thinking"])


@pytest.mark.parametrize("script", [pytest.param(OWN, id="own"), recorded(RECORDED, id="recorded")])
def test_each_provider_gets_only_its_own_encrypted_reasoning_back(script, work, home, tmp_path):
    """R-ADP-04, R-ADP-17: replies of six providers, a call that runs, and a resume."""
    with ProviderServer([new_discovery(script, name) for _, name in script.asked]) as server:
        programs = work if "/" in script.program else tmp_path / "programs"
        set_up(tmp_path / "home", programs / script.program, server)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        env = {**home, **server.environment, "PATH": path}
        if programs != work:
            env |= NO_SANDBOX  # it hides programs in a temporary directory
        with Terminal((*YOURTOOL, "-m", ANTHROPIC), cwd=work, env=env, **SIZE) as terminal:
            terminal.wait(f"{ANTHROPIC}  ask")
            run_turns(terminal, script, script.first)
            before = get_conversation(terminal.text)
            terminal.say("/quit")
            assert terminal.end() == 0
        with Terminal((*YOURTOOL, "--continue"), cwd=work, env=env, **SIZE) as terminal:
            terminal.wait(f"{OPENROUTER}  ask")
            terminal.wait("❯ What")
            terminal.wait(lambda screen: get_conversation(screen) == before)
            run_turns(terminal, script, script.resumed)
            terminal.say("/quit")
            assert terminal.end() == 0
        assert [path for path, _ in server.requests] == [PATHS[model] for model, _ in script.asked]
        bodies = [body for _, body in server.requests]
    assert f"There is no tool `{script.unknown}`." in before
    assert re.search(rf"✓ Ran {script.program}.*\n  │ Potato City\n", before)
    every = set().union(*(sealed_in(name) for _, name in script.asked))
    for number, (model, _) in enumerate(script.asked):
        earlier = script.asked[:number]
        own = set().union(*(sealed_in(name) for each, name in earlier if each == model))
        assert strings_in(bodies[number]) & every == own
        assert own or number < len(script.asked) - len(script.resumed)
