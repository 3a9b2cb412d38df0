"""Values of settings as texts for people."""

from types import UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import Meta, Struct, json, to_builtins

from yourtool.process.environment import is_secret
from yourtool.settings.tables import TableKey, describe_fields, get_choices

UNSET_VALUE = "–"
_HIDDEN = "***"


class SettingField(Struct, frozen=True):
    """The type of a setting, for the table of its section."""

    annotation: Any
    description: str = ""
    choices: tuple[str, ...] = ()
    """The only values, if there are few."""

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of which a value is one."""
        bare = get_args(self.annotation)[0] if _get_meta(self.annotation) else self.annotation
        is_union = get_origin(bare) in (Union, UnionType)
        return get_args(bare) if is_union else (get_origin(bare) or bare,)


def find_field(key: TableKey, kind: type[Struct]) -> SettingField | None:
    """Return the type of a setting of a table; None for an unknown key and inside a list."""
    name, *rest = key
    if (field := describe_fields(kind).get(name)) is None:
        return None
    if not rest:
        meta = _get_meta(field.annotation)
        choices = get_choices(field.annotation)
        return SettingField(field.annotation, (meta and meta.description) or "", choices)
    inner = tuple(rest[1:] if field.is_map else rest)
    return find_field(inner, field.table) if field.table is not None and inner else None


def redact(key: TableKey, value: Any) -> Any:
    """Return a value of JSON without what can be a key."""
    plain = to_builtins(value)
    if key[0] == "providers" and key[-1] == "headers":
        return dict.fromkeys(plain, _HIDDEN)  # a header can contain a key
    if key == ("shell", "environment", "set"):
        return {name: _HIDDEN if is_secret(name, each) else each for name, each in plain.items()}
    return plain


def format_value(key: TableKey, value: Any) -> str:
    """Return a value as JSON, without keys.

    >>> format_value(("ui", "vim"), True)
    'true'
    """
    return UNSET_VALUE if value is None else json.encode(redact(key, value)).decode()


def _get_meta(annotation: Any) -> Meta | None:
    metas = getattr(annotation, "__metadata__", ())
    return next((each for each in metas if isinstance(each, Meta)), None)
