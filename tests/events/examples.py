"""Values of the types of events."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

VALUES = {
    str: "x",
    int: 1,
    float: 1.0,
    bool: True,
    Any: "x",
    Decimal: Decimal(1),
    datetime: datetime(2026, 5, 9, tzinfo=UTC),
}


def example(kind: Any) -> Any:
    """Return a value of a type, with the required fields only."""
    origin = get_origin(kind)
    if kind in VALUES:
        return VALUES[kind]
    if isinstance(kind, type) and issubclass(kind, Struct):
        fields = msgspec.structs.fields(kind)
        return kind(**{each.name: example(each.type) for each in fields if each.required})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (tuple, list, Sequence):
        return ()
    if origin in (dict, Mapping):
        return {}
    assert origin is Annotated or get_args(kind), kind
    return example(get_args(kind)[0])
