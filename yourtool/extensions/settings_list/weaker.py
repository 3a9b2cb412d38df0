"""Changes of settings that weaken the protection."""

from collections.abc import Callable, Mapping
from typing import Any

from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.settings.tables import TableKey

_MODES = (Mode.PLAN, Mode.ASK, Mode.ACCEPT_EDITS)


def _adds(old: Any, new: Any) -> bool:
    return not set(new) <= set(old)


def _removes(old: Any, new: Any) -> bool:
    return _adds(new, old)


def _switches_on(old: Any, new: Any) -> bool:
    return bool(new) and not old


def _switches_off(old: Any, new: Any) -> bool:
    return new is False and old is not False


def _lowers_level(old: Any, new: Any) -> bool:
    return SandboxLevel(new).rank < SandboxLevel(old).rank


def _asks_less(old: Any, new: Any) -> bool:
    return _MODES.index(new) > _MODES.index(old)


def _differs(old: Any, new: Any) -> bool:
    return old != new


_OUTSIDE = "Commands of models then reach more than now"
_KEYS = "Requests with your key then go to another address"
_WEAKER: Mapping[TableKey, tuple[Callable[[Any, Any], bool], str]] = {
    ("mode",): (_asks_less, "Edits of files then need no approval"),
    ("sandbox", "enabled"): (_switches_off, "Commands of models then run with all your rights"),
    ("sandbox", "fallback"): (_differs, "Another sandbox then encloses commands"),
    ("sandbox", "require"): (_lowers_level, "Rules then allow commands in a weaker sandbox"),
    ("sandbox", "auto_allow"): (_switches_on, "Commands in the full sandbox then run unasked"),
    ("sandbox", "writable"): (_adds, _OUTSIDE),
    ("sandbox", "readable"): (_adds, _OUTSIDE),
    ("sandbox", "hidden"): (_removes, _OUTSIDE),
    ("sandbox", "hosts"): (_adds, _OUTSIDE),
    ("sandbox", "ports"): (_adds, _OUTSIDE),
    ("sandbox", "outside"): (_adds, "These commands then run outside the sandbox"),
    ("shell", "environment", "hide"): (_removes, "Commands of models then get more variables"),
    ("shell", "environment", "allow"): (_adds, "Commands of models then get more variables"),
    ("ui", "enter_approves"): (_switches_on, "Enter alone then allows a call"),
}


def describe_weakening(key: TableKey, old: Any, new: Any) -> str:
    """Return what a change makes less safe, as a sentence without its dot; empty: nothing.

    >>> describe_weakening(("sandbox", "enabled"), True, False)
    'Commands of models then run with all your rights'
    """
    if key[0] == "providers" and key[-1] in ("base_url", "key_env"):
        return _KEYS if old != new else ""
    if (found := _WEAKER.get(key)) is None:
        return ""
    is_weaker, sentence = found
    return sentence if is_weaker(old, new) else ""
