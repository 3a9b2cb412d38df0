"""The rows of the pickers; pure."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from yourtool.amounts import format_duration
from yourtool.errors import SwapRefusedError
from yourtool.messages import Message, Role
from yourtool.models import Model
from yourtool.tui.drafts import Draft
from yourtool.tui.reports import price_words, spent, tokens_words
from yourtool.tui.screens.picker import Choice

_LONGEST_TITLE = 1_000
IN_WORDS, FORK, CANCEL = "in words", "fork", "cancel"
LEGEND = "⚒ tools  ▣ images  ♪ recordings  ▤ documents  ✻ thinking"


class Summary(Protocol):
    """What the session list knows of a session."""

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


class Found(Protocol):
    """What a search knows of a message."""

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
    told: Callable[[str], str] = lambda _: "",
) -> list[Choice]:
    """Return the configured models first; the others say what they lack.

    `told` says of a model's id how old its own server's description of it is.
    """
    rows: list[Choice] = []
    for model in models:
        reason = why_not(model.provider)
        alias = f" ({', '.join(model.aliases)})" if model.aliases else ""
        mark = " ← in use" if model.id == current else ""
        about = reason or model_words(model) + told(model.id)
        rows.append(Choice(model.id, f"{model.id}{alias}{mark}", about, reason is None))
    return sorted(rows, key=lambda choice: (not choice.enabled, choice.value))


def model_words(model: Model) -> str:
    """Return abilities, window and price of a model."""
    can = model.capabilities
    able = {
        "⚒": can.supports_tools,
        "▣": can.supports_images,
        "♪": can.supports_audio,
        "▤": can.supports_documents,
        "✻": can.supports_thinking,
    }
    abilities = "".join(sign if has else "-" for sign, has in able.items())
    guess = "" if model.known else "  capabilities are a guess"
    window = tokens_words(can.max_context_tokens)
    return f"{abilities}  {window} context  {price_words(model.price)}{guess}"


def session_choices(summaries: Iterable[Summary], workspace: Path, now: datetime) -> list[Choice]:
    """Return the sessions of this workspace first, each group by age."""
    rows: list[tuple[bool, float, Choice]] = []
    for each in summaries:
        here = each.workspace_path == str(workspace)
        age = (now - each.updated_at).total_seconds()
        turns = "1 turn" if each.turn_count == 1 else f"{each.turn_count} turns"
        facts = (
            _ago(age),
            turns,
            spent(each.cost_usd, unpriced=each.unpriced),
            each.active_model or "default model",
            "here" if here else each.workspace_path,
        )
        choice = Choice(each.id, each.title or "(nothing said yet)", " · ".join(facts))
        rows.append((not here, age, choice))
    return [choice for *_, choice in sorted(rows, key=lambda row: row[:2])]


def fork_choices(prompts: Sequence[Message], now: datetime) -> list[Choice]:
    """Return everything, then the prompts to fork before, the latest first, by message id."""
    rows = [Choice("", "Everything so far", "the copy goes on where this session is")]
    for number, each in reversed(list(enumerate(prompts, 1))):
        age = _ago((now - each.created_at).total_seconds())
        words = " ".join(each.text[:_LONGEST_TITLE].split()) or "(no words)"
        rows.append(Choice(each.id, words, f"before prompt {number} · {age}"))
    return rows


def way_out_choices(
    refused: SwapRefusedError, active: Model, prompts: Sequence[Message], fork_at: str
) -> list[Choice]:
    """Return what can be done about a model that takes no such media."""
    placeholders = f"it is sent a placeholder for each; the session keeps the {refused.media}"
    rows = [Choice(IN_WORDS, f"Send placeholders for the {refused.media}", placeholders)]
    for number, each in enumerate(prompts, 1):
        if each.id == fork_at:
            about = f"in a copy of the session, from before prompt {number}"
            rows.append(Choice(FORK, f"Fork before the first of the {refused.media}", about))
    return [*rows, Choice(CANCEL, "Cancel", f"{active.id} stays active")]


def hit_choices(hits: Sequence[Found], workspace: Path, now: datetime) -> list[Choice]:
    """Return what a search found; the value is the index."""
    rows: list[Choice] = []
    for at, hit in enumerate(hits):
        age = _ago((now - hit.created_at).total_seconds())
        here = "here" if hit.workspace_path == str(workspace) else hit.workspace_path
        who = "you" if hit.role is Role.USER else hit.role.value
        about = f"{who} · {age} · {here} · in: {hit.title or '(untitled)'} · {at + 1}"
        rows.append(Choice(str(at), hit.snippet, about))
    return rows


def history_choices(entries: Sequence[Draft]) -> list[Choice]:
    """Return earlier prompts, the latest first, each once; the value is the index."""
    seen: dict[str, Choice] = {}
    for at in range(len(entries) - 1, -1, -1):
        first, _, rest = entries[at].text.strip().partition("\n")
        title = f"{first[:_LONGEST_TITLE]} …" if rest else first[:_LONGEST_TITLE]
        seen.setdefault(entries[at].text, Choice(str(at), title))
    return list(seen.values())


def told_words(told: datetime | None, now: datetime) -> str:
    """Write how old a server's description of its model is."""
    return f"  as told {_ago((now - told).total_seconds())}" if told else ""


def _ago(seconds: float) -> str:
    return f"{format_duration(int(seconds))} ago"
