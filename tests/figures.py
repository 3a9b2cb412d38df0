"""The table of figures that `make security` prints."""

ROWS: list[tuple[str, str, str]] = []


def record_figure(measure: str, goal: str, value: str) -> None:
    """Add a row: what was measured, what was to be reached, and what was."""
    ROWS.append((measure, goal, value))


def format_figures() -> list[str]:
    """Return the lines of the table."""
    rows = [("measure", "goal", "measured"), *ROWS]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows]  # fmt: skip
