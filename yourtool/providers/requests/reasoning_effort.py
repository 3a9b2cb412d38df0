"""Reasoning efforts that a model supports."""

from yourtool.models import EFFORTS, Effort, Model

_DEFAULT_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
_BUDGET_EFFORTS: tuple[Effort, ...] = EFFORTS[1:]


def supported_efforts(model: Model) -> tuple[Effort, ...]:
    """Return the supported efforts, lowest first; empty if the model has no such setting."""
    if not model.capabilities.supports_thinking:
        return ()
    if model.thinking_levels:
        return tuple(sorted(model.thinking_levels, key=EFFORTS.index))
    return _BUDGET_EFFORTS if model.thinking == "budget" else _DEFAULT_EFFORTS


def effective_effort(model: Model, wanted: Effort | None) -> Effort | None:
    """Return the effort to request from the model; None for the default of the model.

    An unsupported effort becomes the next lower one, or else the lowest one, but never `off`.
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
    """Describe how an unsupported effort is adjusted; None if it is used unchanged."""
    level = effective_effort(model, wanted)
    if wanted is None or level == wanted:
        return None
    if level is None:
        return None if wanted == "off" else f"`{model.id}` has no reasoning effort."
    named = ", ".join(f"`{each}`" for each in supported_efforts(model))
    return f"`{model.id}` supports no effort `{wanted}`, only {named}; `{level}` is used."


def describe_effort(model: Model, wanted: Effort | None) -> str:
    """Describe the requested and the supported efforts in one line."""
    if not (supported := supported_efforts(model)):
        return f"Reasoning effort: not supported by `{model.id}`."
    level = effective_effort(model, wanted)
    now = "model default" if level is None else level
    instead = f" instead of {wanted}" if level != wanted else ""
    return f"Reasoning effort: {now}{instead}; `/effort` takes {', '.join(supported)}."
