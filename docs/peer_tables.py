"""Tables of the words of other agents."""

from yourtool.settings.peer_words import WordKind, read_peer_words

_TITLES: dict[WordKind, str] = {
    "command": "Commands of the shell",
    "option": "Options",
    "slash": "Commands in the interface",
    "setting": "Settings",
}


def peer_tables() -> str:
    """Return the tables of `docs/coming-from.md`."""
    parts: list[str] = []
    for kind, rows in read_peer_words().items():
        sign = "/" if kind == "slash" else ""
        lines = [
            f"| {', '.join(f'`{sign}{word}`' for word in row.words)} | {row.agents} | {row.ours} |"
            for row in rows
        ]
        head = [f"## {_TITLES[kind]}", "", "| word | of | here |", "|---|---|---|"]
        parts.append("\n".join([*head, *lines]))
    return "\n\n".join(parts) + "\n"
