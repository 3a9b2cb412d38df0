"""Session modes and settings for clients."""

from typing import TYPE_CHECKING

import msgspec
from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from yourtool.agent.commands.modes import MODE_DESCRIPTIONS
from yourtool.errors import UsageError
from yourtool.foundation.text import printable
from yourtool.models import EFFORTS, Effort
from yourtool.settings.config import Mode

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session

MODEL, EFFORT = "model", "effort"
_DEFAULT = "default"
_MAX_MODELS = 300


def build_modes(session: "Session") -> SessionModeState:
    """Return the approval modes."""
    modes = [
        SessionMode(id=mode.value, name=mode.value, description=description)
        for mode, description in MODE_DESCRIPTIONS.items()
    ]
    return SessionModeState(current_mode_id=session.mode.value, available_modes=modes)


def parse_mode(name: str) -> Mode:
    """Return the approval mode with a name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Mode(name)
    except ValueError as error:
        names = ", ".join(f"`{mode.value}`" for mode in Mode)
        raise UsageError(f"there is no mode `{printable(name)}`; choose one of {names}") from error


def parse_effort(level: str) -> Effort | None:
    """Return the reasoning effort of a value; None for the default of each model.

    Raises:
        UsageError: there is none.
    """
    if level == _DEFAULT:
        return None
    try:
        return msgspec.convert(level, Effort)
    except msgspec.ValidationError as error:
        names = ", ".join(f"`{each}`" for each in (_DEFAULT, *EFFORTS))
        text = f"there is no reasoning effort `{printable(level)}`; choose one of {names}"
        raise UsageError(text) from error


def build_options(session: "Session", runtime: "Runtime") -> list[SessionConfigOptionSelect]:
    """Return the model and the reasoning effort, with the values that they can have."""
    return [_build_model_option(session, runtime), _build_effort_option(session)]


def _build_model_option(session: "Session", runtime: "Runtime") -> SessionConfigOptionSelect:
    current = session.model.id
    usable = [
        model.id
        for model in runtime.catalogue.all()
        if runtime.registry.configuration_problem(model.provider) is None
    ]
    names = list(dict.fromkeys([current, *usable]))[:_MAX_MODELS]
    return SessionConfigOptionSelect(
        type="select",
        id=MODEL,
        name="Model",
        category="model",
        current_value=current,
        options=[SessionConfigSelectOption(value=name, name=printable(name)) for name in names],
    )


def _build_effort_option(session: "Session") -> SessionConfigOptionSelect:
    levels = (_DEFAULT, *EFFORTS)
    return SessionConfigOptionSelect(
        type="select",
        id=EFFORT,
        name="Reasoning effort",
        category="thought_level",
        current_value=session.effort or _DEFAULT,
        options=[SessionConfigSelectOption(value=level, name=level) for level in levels],
    )
