"""Exchanges with one value replaced by junk: every place of every kind of event, once."""

import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

JUNK: dict[str, Any] = {
    "null": None,
    "true": True,
    "a number": 7,
    "a negative number": -3,
    "a huge number": 10**400,
    "a fraction": 0.5,
    "a list": ["x", {"type": "text"}, None],
    "a list of lists": [[[]]],
    "an object": {"type": "text", "text": {"x": 1}},
    "empty text": "",
    "huge text": "x" * 200_000,
    "text with NUL and half a character": "a\x00b\ud83d",
    "deep nesting": functools.reduce(lambda inner, _: {"type": [inner]}, range(40), "x"),
    "nesting that is too deep": functools.reduce(lambda inner, _: [inner], range(400), "x"),
}
"""Values put in places where something else is expected."""

Path = tuple[str | int, ...]
_ECHOED = ("format", "parameters", "tools")
"""Fields that repeat the schemas of the request; junk replaces them as a unit."""


class Recording(NamedTuple):
    """What a server sent to one request."""

    id: str
    provider: str
    api: str
    status: int
    body: str

    @property
    def dialect(self) -> str:
        """Which wire format it is in."""
        return "ollama" if self.provider == "ollama" else self.api


class Place(NamedTuple):
    """One value of one event of a recording."""

    recording: Recording
    event: int
    path: Path

    def bodies(self) -> Iterator[tuple[str, bytes]]:
        """Yield the body with each kind of junk in this place."""
        frames = _frames(self.recording.body)
        changed = frames[self.event]
        before = "".join(frame.text for frame in frames[: self.event])
        after = "".join(frame.text for frame in frames[self.event + 1 :])
        for name, junk in JUNK.items():
            value = json.dumps(_replaced(changed.value, self.path, junk))
            yield name, f"{before}{changed.prefix}{value}{changed.suffix}{after}".encode()


class _Frame(NamedTuple):
    """One line of a body, or all of it."""

    text: str
    value: Any = None
    prefix: str = ""
    suffix: str = ""
    is_json: bool = False


def places(recordings: Iterable[Recording]) -> list[Place]:
    """Return every place of every kind of event, each once over all recordings of a dialect."""
    found: dict[Any, Place] = {}
    for recording in recordings:
        for number, frame in enumerate(_frames(recording.body)):
            if frame.is_json:
                kind = (recording.dialect, _kind(frame.value))
                for path in _paths(frame.value):
                    general = tuple("*" if isinstance(step, int) else step for step in path)
                    found.setdefault((kind, general), Place(recording, number, path))
    return list(found.values())


@functools.lru_cache(maxsize=8)
def _frames(body: str) -> tuple[_Frame, ...]:
    """Return the lines of a stream, or one document; text that is not JSON is unchanged."""
    try:
        return (_Frame(body, json.loads(body), is_json=True),)
    except ValueError:
        return tuple(map(_frame, body.splitlines(keepends=True)))


def _frame(line: str) -> _Frame:
    prefix = "data: " if line.startswith("data:") else ""
    data = line.removeprefix("data:")
    try:
        value = json.loads(data)
    except ValueError:
        return _Frame(line)
    return _Frame(line, value, prefix, data[len(data.rstrip()) :], is_json=True)


def _kind(value: Any) -> Any:
    """Return the kind of an event: its own type and that of what it carries."""
    if not isinstance(value, dict):
        return type(value).__name__
    kinds = [value.get("type"), value.get("object")]
    for name in ("delta", "content_block", "item", "part"):
        inner = value.get(name)
        kinds.append(inner.get("type") if isinstance(inner, dict) else None)
    return tuple(kinds)


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    yield at
    if at and at[-1] in _ECHOED:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _paths(inner, (*at, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _paths(inner, (*at, number))


def _replaced(value: Any, path: Path, junk: Any) -> Any:
    if not path:
        return junk
    step, *rest = path
    copy = value.copy()
    copy[step] = _replaced(value[step], tuple(rest), junk)
    return copy
