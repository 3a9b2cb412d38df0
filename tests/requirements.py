"""List the tests that cover each requirement: `python -m tests.requirements`.

A test names the requirements that it covers with `@pytest.mark.req("R-CLI-01", …)`.
"""

import re
import sys
from collections import defaultdict

import pytest

_PARTS = re.compile(r"\d+|\D+")


class Coverage:
    """A pytest plugin that collects the names of tests by requirement."""

    def __init__(self) -> None:
        self.tests: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            name = item.nodeid.partition("[")[0]
            for mark in item.iter_markers("req"):
                for code in mark.args:
                    self.tests[code].add(name)


def report(tests: dict[str, set[str]]) -> str:
    """Return one paragraph for each requirement, in the order of the codes."""
    return "\n".join(
        "\n".join([code, *(f"  {name}" for name in sorted(tests[code]))])
        for code in sorted(tests, key=_sort_key)
    )


def _sort_key(code: str) -> list[tuple[bool, int | str]]:
    return [
        (not part.isdigit(), int(part) if part.isdigit() else part) for part in _PARTS.findall(code)
    ]


def main() -> int:
    coverage = Coverage()
    options = ["--collect-only", "-p", "no:terminal", "-p", "no:xdist", "-m", ""]
    code = pytest.main([*options, "tests"], plugins=[coverage])
    sys.stdout.write(report(coverage.tests) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
