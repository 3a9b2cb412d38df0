"""One session at a terminal, in which six providers answer what they really answered."""

import os
import re
from dataclasses import replace

from tests.e2e.terminal import YOURTOOL, Terminal
from tests.provider_server import (
    ANTHROPIC_PATH,
    CHAT_PATH,
    GOOGLE_PATH,
    OLLAMA_PATH,
    OPENROUTER_PATH,
    RESPONSES_PATH,
    ProviderServer,
    recorded,
)
from tests.providers.exchanges import expected

CALLS_SHELL = "openai-responses-eabbd6ae"
"""It calls a tool that knows the capitals of countries; that is a program here."""
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
FIRST = (
    (ANTHROPIC, ("anthropic-messages-36913693", "anthropic-messages-b0fd1c9d")),
    (CHAT, ("openai-chat-120ff12e", "openai-chat-69b21b79")),
    (OPENAI, (CALLS_SHELL, "openai-responses-6420495e")),
    (GOOGLE, ("gemini-generate-c1aa0e6b", "gemini-generate-ea8f1642")),
    (OLLAMA, ("ollama-chat-935d1f64",)),
    (OPENROUTER, ("openrouter-chat-570055f8",)),
)
"""Models, and the recorded replies of the turn that each one takes: calls, then the answer."""
RESUMED = (
    (ANTHROPIC, ("anthropic-messages-1df92f33",)),
    (OPENAI, ("openai-responses-17af3070",)),
    (GOOGLE, ("gemini-generate-ac371c76",)),
    (OPENROUTER, ("openrouter-chat-825fdb47",)),
)
ASKED = [(model, name) for model, names in (*FIRST, *RESUMED) for name in names]
"""Who gets which request, and what it answers."""
SIZE = {"columns": 110, "rows": 94}
"""The whole conversation fits."""


def answer_of(name):
    reply = recorded(name)
    if name != CALLS_SHELL:
        return reply
    body = reply.body.replace(b"get_capital", b"shell").replace(b"country", b"command")
    return replace(reply, body=body)


def set_up(home, programs, server):
    home.mkdir()
    (home / "config.toml").write_text(
        f'[providers.chat]\napi = "chat"\nbase_url = "{server.url}/v1"\n'
    )
    (home / "models.toml").write_text(f'[models."{CHAT}"]\nuses_max_completion_tokens = true\n')
    programs.mkdir()
    (programs / "PotatoLand").write_text("#!/bin/sh\necho Potato City\n")
    (programs / "PotatoLand").chmod(0o755)


def converse(terminal, turns):
    """Take the turns, each one with its model; see the whole of every answer."""
    for model, names in turns:
        if f"{model}  ask" not in terminal.text:
            terminal.say(f"/model {model}")
            terminal.wait(f"{re.escape(model)}  ask")
        terminal.say(f"What do you say, {model}?")
        if CALLS_SHELL in names:
            terminal.wait("Allow shell")
            terminal.answer("a")
        terminal.wait(lambda screen, names=names: shows(screen, names))
        terminal.wait(f"{re.escape(model)} · your choice")


def shows(screen, names):
    """Return whether the texts of recorded replies stand on a screen, word for word."""
    seen = words(screen)
    return all(words(expected(name)["text"]) in seen for name in names)


def words(text):
    """Return the words, wherever lines end, without what marks them as important."""
    return " ".join(text.replace("*", "").split())


def told(screen):
    """Return the conversation, without the prompt and what stands below it."""
    return screen[screen.index("❯ What") : screen.rindex("╭")].rstrip()


def strings_in(value):
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(strings_in, inside))


def sealed_in(name):
    """Return what only the model that gave a reply can read of it."""
    right = expected(name)
    signed = [*right["thinking"], *right["tool_calls"], *right.get("part_signatures", ())]
    signatures = {each.get("signature") for each in signed} - {None}
    return signatures | set(right["redacted_thinking"])


def test_each_provider_gets_back_what_it_sealed_and_no_other_does(work, home, tmp_path):
    """R-ADP-04, R-ADP-17: recorded replies of six providers, a call that runs, and a resume."""
    with ProviderServer([answer_of(name) for _, name in ASKED]) as server:
        set_up(tmp_path / "home", tmp_path / "programs", server)
        path = f"{tmp_path / 'programs'}{os.pathsep}{os.environ['PATH']}"
        env = {**home, **server.environment, "PATH": path}
        with Terminal((*YOURTOOL, "-m", ANTHROPIC), cwd=work, env=env, **SIZE) as terminal:
            terminal.wait(f"{ANTHROPIC}  ask")
            converse(terminal, FIRST)
            before = told(terminal.text)
            terminal.say("/quit")
            assert terminal.end() == 0
        with Terminal((*YOURTOOL, "--continue"), cwd=work, env=env, **SIZE) as terminal:
            terminal.wait(f"{OPENROUTER}  ask")
            terminal.wait("❯ What")
            terminal.wait(lambda screen: told(screen) == before)
            converse(terminal, RESUMED)
            terminal.say("/quit")
            assert terminal.end() == 0
        assert [path for path, _ in server.requests] == [PATHS[model] for model, _ in ASKED]
        bodies = [body for _, body in server.requests]
    assert "There is no tool `fixed_version`." in before
    assert re.search(r"✓ shell PotatoLand.*\n  │ Potato City\n", before)
    every = set().union(*(sealed_in(name) for _, name in ASKED))
    for number, (model, _) in enumerate(ASKED):
        own = set().union(*(sealed_in(name) for each, name in ASKED[:number] if each == model))
        assert strings_in(bodies[number]) & every == own
        assert own or number < len(ASKED) - len(RESUMED)
