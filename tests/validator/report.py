"""Problems of a request body, and access to parts of an unvalidated body."""

from typing import Any, Literal, NamedTuple


class Problem(NamedTuple):
    """One reason why a provider would refuse a request."""

    rule: str
    severity: Literal["error", "warning"]
    """`error`: the provider answers 400. `warning`: some models or servers refuse or misread it."""
    path: str
    """The path in the body, for example `messages[2].content[0].text`."""
    message: str


class Report:
    """Collects the problems of one body."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def error(self, rule: str, path: str, message: str) -> None:
        self.problems.append(Problem(rule, "error", path, message))

    def warning(self, rule: str, path: str, message: str) -> None:
        self.problems.append(Problem(rule, "warning", path, message))


def array(value: Any) -> list[Any]:
    """Return a list unchanged, and an empty list for anything else."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of an array; other items are reported by the structure check."""
    return [item for item in array(value) if isinstance(item, dict)]


def mapping(value: Any) -> dict[str, Any]:
    """Return an object unchanged, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
