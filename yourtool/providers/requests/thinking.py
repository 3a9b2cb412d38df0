"""Thinking levels: which ones a model takes, and what it is asked for instead of the others."""

from yourtool.models import EFFORTS, Effort, Model

_DEFAULT_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
_BUDGET_EFFORTS: tuple[Effort, ...] = EFFORTS[1:]


def supported_efforts(model: Model) -> tuple[Effort, ...]:
    """Return what the model can be asked for, least first; nothing: it takes no level."""
    if not model.capabilities.supports_thinking:
        return ()
    if model.thinking_levels:
        return tuple(sorted(model.thinking_levels, key=EFFORTS.index))
    return _BUDGET_EFFORTS if model.thinking == "budget" else _DEFAULT_EFFORTS


def effective_effort(model: Model, wanted: Effort | None) -> Effort | None:
    """Return the level that the model is asked for; None: it thinks as it likes.

    A level that it does not take becomes the next lower one, or else the lowest, and never `off`.
    """
    supported = supported_efforts(model)
    if wanted in supported or wanted not in EFFORTS or not supported:
        return wanted if wanted in supported else None
    above_off: list[Effort] = [level for level in supported if level != "off"]
    lower: list[Effort] = [
        level for level in above_off if EFFORTS.index(level) < EFFORTS.index(wanted)
    ]
    return lower[-1] if lower else next(iter(above_off), None)


def describe_effort_change(model: Model, wanted: Effort | None) -> str | None:
    """Say what becomes of a level that the model does not take; None: it is asked for as it is."""
    level = effective_effort(model, wanted)
    if wanted is None or level == wanted:
        return None
    if level is None:
        return None if wanted == "off" else f"`{model.id}` takes no thinking level; none is sent."
    named = ", ".join(f"`{each}`" for each in supported_efforts(model))
    return f"`{model.id}` cannot think at `{wanted}`, only at {named}; `{level}` is asked for."


def describe_effort(model: Model, wanted: Effort | None) -> str:
    """Say in a line what the model is asked for, and what it could be."""
    if not (supported := supported_efforts(model)):
        return f"Thinking: `{model.id}` takes no level."
    level = effective_effort(model, wanted)
    now = "as the model likes" if level is None else level
    instead = f" instead of {wanted}" if level != wanted else ""
    return f"Thinking: {now}{instead}; `/effort` takes {', '.join(supported)}."
