"""Links that a terminal may open.

A terminal gets a link as the sequence OSC 8
(https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda), whose address has printable
ASCII characters only. The text of a link comes from a model, so an address has to be what it seems.
"""

import re
from functools import lru_cache
from urllib.parse import quote

_MAX_LENGTH = 2_000
"""Characters of an address; VTE ignores a link that is longer than 2,083 bytes."""
_ADDRESS = re.compile(
    r"(?P<start>https?://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)"
    r"(?P<rest>(?:[/?#].*)?)",
    re.IGNORECASE,
)
"""Without a name and a password before the host, and without letters that only look like ASCII."""
_SAFE = "%/:?#[]@!$&'()*+,;=-._~"
"""Characters of an address besides letters and digits (RFC 3986)."""


@lru_cache(1_024)
def parse_link(address: str) -> str | None:
    """Return the address that a terminal may open, or None.

    It is `http` or `https`, has no name and no password, an ASCII host, and no control characters.

    >>> parse_link("https://example.org/a b")
    'https://example.org/a%20b'
    >>> parse_link("https://name:word@example.org/") is None
    True
    """
    if len(address) > _MAX_LENGTH or not address.isprintable():
        return None
    if (found := _ADDRESS.fullmatch(address)) is None:
        return None
    link = found["start"] + quote(found["rest"], _SAFE, errors="replace")
    return link if len(link) <= _MAX_LENGTH else None
