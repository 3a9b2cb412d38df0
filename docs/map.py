"""The packages of the program, from their first lines: `python -m docs.map`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]


class Room(Struct, frozen=True):
    """A package, or the root, with its modules.

    Example: `Room("yourtool/tui/theme", "Colours, styles …", "", ("themes.py",))`.
    """

    path: str
    summary: str
    """The first line of its docstring."""
    more: str
    """The rest: where a change of a kind goes."""
    modules: tuple[str, ...]


def list_rooms(top: Path = ROOT / "yourtool") -> Iterator[Room]:
    """Yield the packages from the outermost on, in order of their names."""
    for init in sorted(top.rglob("__init__.py")):
        text = ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""
        summary, _, more = text.partition("\n")
        names = sorted(each.name for each in init.parent.glob("*.py") if each != init)
        path = str(init.parent.relative_to(top.parent))
        yield Room(path, summary, more.strip(), tuple(names))


def write_map(rooms: Iterator[Room]) -> str:
    """Return the map as a page in Markdown."""
    parts = ["# Map"]
    for each in rooms:
        parts.append(f"## `{each.path}`\n\n{each.summary}")
        if each.modules:
            parts.append(", ".join(f"`{name}`" for name in each.modules))
        if each.more:
            parts.append(each.more)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(write_map(list_rooms()), end="")  # noqa: T201 - the page
