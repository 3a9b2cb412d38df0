"""The choices of the pickers, as pure functions."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from yourtool.amounts import format_duration
from yourtool.errors import SwapRefusedError
from yourtool.messages.message import Message, Role
from yourtool.models import Model
from yourtool.tui.drafts import Draft
from yourtool.tui.reports import format_price, format_spending, format_tokens
from yourtool.tui.screens.picker import Choice

_LONGEST_TITLE = 1_000
IN_WORDS, FORK, CANCEL = "in words", "fork", "cancel"
LEGEND = "⚒ tools  ▣ images  ♪ audio  ▤ documents  ✻ reasoning"


class SessionRow(Protocol):
    """The fields of a session that the session picker shows."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def workspace_path(self) -> str: ...
    @property
    def active_model(self) -> str | None: ...
    @property
    def turn_count(self) -> int: ...
    @property
    def cost_usd(self) -> Decimal: ...
    @property
    def unpriced(self) -> bool: ...
    @property
    def updated_at(self) -> datetime: ...


class MessageHit(Protocol):
    """The fields of a message that the search results show."""

    @property
    def role(self) -> Role: ...
    @property
    def snippet(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def workspace_path(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


def model_choices(
    models: Iterable[Model],
    why_not: Callable[[str], str | None],
    current: str,
    source: Callable[[str], str] = lambda _: "",
) -> list[Choice]:
    """Return the usable models first, then the others with the reason why they are not.

    `source` returns the age of a server's description of a model, by its id.
    """
    rows: list[Choice] = []
    for model in models:
        reason = why_not(model.provider)
        alias = f" ({', '.join(model.aliases)})" if model.aliases else ""
        mark = " ← in use" if model.id == current else ""
        detail = reason or format_model(model) + source(model.id)
        rows.append(Choice(model.id, f"{model.id}{alias}{mark}", detail, reason is None))
    return sorted(rows, key=lambda choice: (not choice.enabled, choice.value))


def format_model(model: Model) -> str:
    """Return the capabilities, context window and price of a model."""
    capabilities = model.capabilities
    supported = {
        "⚒": capabilities.supports_tools,
        "▣": capabilities.supports_images,
        "♪": capabilities.supports_audio,
        "▤": capabilities.supports_documents,
        "✻": capabilities.supports_thinking,
    }
    symbols = "".join(symbol if is_supported else "-" for symbol, is_supported in supported.items())
    guess = "" if model.known else "  capabilities are a guess"
    window = format_tokens(capabilities.max_context_tokens)
    return f"{symbols}  {window} context  {format_price(model.price)}{guess}"


def session_choices(
    summaries: Iterable[SessionRow], workspace: Path, now: datetime
) -> list[Choice]:
    """Return the sessions of this workspace first, then the others, both newest first."""
    rows: list[tuple[bool, float, Choice]] = []
    for each in summaries:
        here = each.workspace_path == str(workspace)
        age = (now - each.updated_at).total_seconds()
        turns = "1 turn" if each.turn_count == 1 else f"{each.turn_count} turns"
        details = (
            _format_age(age),
            turns,
            format_spending(each.cost_usd, unpriced=each.unpriced),
            each.active_model or "default model",
            "here" if here else each.workspace_path,
        )
        choice = Choice(each.id, each.title or "(empty)", " · ".join(details))
        rows.append((not here, age, choice))
    return [choice for *_, choice in sorted(rows, key=lambda row: row[:2])]


def fork_choices(prompts: Sequence[Message], now: datetime) -> list[Choice]:
    """Return a choice for the entire session, then one per prompt, latest first."""
    rows = [Choice("", "Entire session", "copy everything so far")]
    for number, each in reversed(list(enumerate(prompts, 1))):
        age = _format_age((now - each.created_at).total_seconds())
        title = " ".join(each.text[:_LONGEST_TITLE].split()) or "(no text)"
        rows.append(Choice(each.id, title, f"before prompt {number} · {age}"))
    return rows


def swap_choices(
    refused: SwapRefusedError, active: Model, prompts: Sequence[Message], fork_at: str
) -> list[Choice]:
    """Return the choices if a model does not support the media in the session."""
    placeholders = f"the model gets placeholders; the session still has the {refused.media}"
    rows = [Choice(IN_WORDS, f"Send placeholders for the {refused.media}", placeholders)]
    for number, each in enumerate(prompts, 1):
        if each.id == fork_at:
            detail = f"continue in a copy of the session, up to prompt {number}"
            rows.append(Choice(FORK, f"Fork before the first of the {refused.media}", detail))
    return [*rows, Choice(CANCEL, "Cancel", f"{active.id} stays active")]


def hit_choices(hits: Sequence[MessageHit], workspace: Path, now: datetime) -> list[Choice]:
    """Return search results; the value is the index."""
    rows: list[Choice] = []
    for at, hit in enumerate(hits):
        age = _format_age((now - hit.created_at).total_seconds())
        here = "here" if hit.workspace_path == str(workspace) else hit.workspace_path
        who = "you" if hit.role is Role.USER else hit.role.value
        detail = f"{who} · {age} · {here} · in: {hit.title or '(untitled)'} · {at + 1}"
        rows.append(Choice(str(at), hit.snippet, detail))
    return rows


def history_choices(entries: Sequence[Draft]) -> list[Choice]:
    """Return distinct earlier prompts, latest first; the value is the index."""
    seen: dict[str, Choice] = {}
    for at in range(len(entries) - 1, -1, -1):
        first, _, rest = entries[at].text.strip().partition("\n")
        title = f"{first[:_LONGEST_TITLE]} …" if rest else first[:_LONGEST_TITLE]
        seen.setdefault(entries[at].text, Choice(str(at), title))
    return list(seen.values())


def format_source(described_at: datetime | None, now: datetime) -> str:
    """Return the age of a server's description of its model."""
    return (
        f"  from its server, {_format_age((now - described_at).total_seconds())}"
        if described_at
        else ""
    )


def _format_age(seconds: float) -> str:
    return f"{format_duration(int(seconds))} ago"
