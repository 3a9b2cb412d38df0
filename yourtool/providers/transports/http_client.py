"""What a transport needs from an HTTP client, and the errors of all clients.

`direct.py` connects to the host itself and imports only the standard library; `proxied.py` uses
httpx, for the rare address that needs more.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from msgspec import Struct

LOST = "the connection was lost"
NOT_AN_ADDRESS = "its base URL is not a web address; it must start with `http://` or `https://`"
BEYOND_ASCII = "one of its headers has characters beyond ASCII"
CONTROL_CHARACTERS = "one of its headers has control characters"


class Timeouts(Struct, frozen=True):
    """HTTP timeouts in seconds; the adapter has its own idle timeouts."""

    connect: float = 10
    read: float = 600
    """Maximum time without any bytes; a last resort."""
    get: float = 10
    """Total time of `get`."""

    @property
    def no_connection(self) -> str:
        """Describe that no connection was made in time."""
        return f"no connection within {self.connect:g} s"

    @property
    def silence(self) -> str:
        """Describe that nothing arrived in time."""
        return f"it was silent for {self.read:g} s"


class UnreachableError(Exception):
    """No response, or the rest of it, arrived; the message completes "could not be reached: "."""


class RefusedError(UnreachableError):
    """Nothing accepted the connection."""


class BrokenBodyError(Exception):
    """The connection was lost in the middle of a body."""


class MalformedError(Exception):
    """Bytes are no response, or not all of it."""


class Response(Protocol):
    """A response whose body is not read yet."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the body as they arrive.

        Raises:
            BrokenBodyError: it is not complete.
            UnreachableError: the server is silent.
        """
        ...

    async def close(self) -> None:
        """Free the connection; it is closed unless the body was read to its end."""
        ...


class HttpClient(Protocol):
    """Sends requests to one host."""

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        """Send a request to a path under the base URL; follows no redirect and never retries.

        Raises:
            UnreachableError: no response arrived.
        """
        ...

    async def close(self) -> None:
        """Close the connections; idempotent."""
        ...
