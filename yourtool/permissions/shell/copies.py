"""Files that a copying program only reads."""

import re
from collections.abc import Sequence

_COPIERS = frozenset({"cp", "gcp"})
_COPYING = re.compile(
    r"-[abdfHiLnPpRrTuvx]+|--(?:archive|force|no-clobber|parents|recursive|verbose)"
)
"""Options that have no value and make no links."""
_ONE_WORD = re.compile(r"[\w./+@:,=-]+")
"""Written as it is when the command runs."""


def skip_sources(name: str, arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments of a program without the files that it only copies, as far as known."""
    operands = [word for word in arguments if not word.startswith("-")]
    if name not in _COPIERS or not operands or _ONE_WORD.fullmatch(operands[-1]) is None:
        return arguments
    options = [word for word in arguments if word.startswith("-")]
    return operands[-1:] if all(map(_COPYING.fullmatch, options)) else arguments
