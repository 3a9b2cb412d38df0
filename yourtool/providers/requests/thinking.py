"""Thinking levels: which ones a model takes, and what it is asked for instead of the others."""

from yourtool.models import EFFORTS, Effort, Model

_USUAL: tuple[Effort, ...] = ("low", "medium", "high")
_BY_BUDGET: tuple[Effort, ...] = EFFORTS[1:]


def levels(model: Model) -> tuple[Effort, ...]:
    """Return what the model can be asked for, least first; nothing: it takes no level."""
    if not model.capabilities.supports_thinking:
        return ()
    if model.thinking_levels:
        return tuple(sorted(model.thinking_levels, key=EFFORTS.index))
    return _BY_BUDGET if model.thinking == "budget" else _USUAL


def asked(model: Model, wanted: Effort | None) -> Effort | None:
    """Return the level that the model is asked for; None: it thinks as it likes.

    A level that it does not take becomes the next lower one, or else the lowest, and never `off`.
    """
    taken = levels(model)
    if wanted in taken or wanted not in EFFORTS or not taken:
        return wanted if wanted in taken else None
    thinks: list[Effort] = [level for level in taken if level != "off"]
    below: list[Effort] = [
        level for level in thinks if EFFORTS.index(level) < EFFORTS.index(wanted)
    ]
    return below[-1] if below else next(iter(thinks), None)


def adjustment(model: Model, wanted: Effort | None) -> str | None:
    """Say what becomes of a level that the model does not take; None: it is asked for as it is."""
    level = asked(model, wanted)
    if wanted is None or level == wanted:
        return None
    if level is None:
        return None if wanted == "off" else f"`{model.id}` takes no thinking level; none is sent."
    named = ", ".join(f"`{each}`" for each in levels(model))
    return f"`{model.id}` cannot think at `{wanted}`, only at {named}; `{level}` is asked for."


def describe_effort(model: Model, wanted: Effort | None) -> str:
    """Say in a line what the model is asked for, and what it could be."""
    if not (taken := levels(model)):
        return f"Thinking: `{model.id}` takes no level."
    level = asked(model, wanted)
    now = "as the model likes" if level is None else level
    instead = f" instead of {wanted}" if level != wanted else ""
    return f"Thinking: {now}{instead}; `/effort` takes {', '.join(taken)}."
