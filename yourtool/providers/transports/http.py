"""Transport for API keys."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Literal

import httpx2

from yourtool.providers.transports import certificates
from yourtool.providers.transports.exchange import ClientTransport, Timeouts
from yourtool.providers.urls import is_loopback

_PIECE_BYTES = 64 * 1024
"""Sending and encrypting a large body in one piece would block the event loop."""


class HttpTransport(ClientTransport):
    """HTTP client for one base URL with fixed headers."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        timeouts: Timeouts | None = None,
        *,
        start_command: str = "",
    ) -> None:
        """`headers` are sent with every request and include the key."""
        super().__init__(base_url.rstrip("/"), timeouts)
        self._headers = headers
        self._hint = (
            f"; `{start_command}` starts it" if start_command and is_loopback(base_url) else ""
        )
        self._opening = asyncio.Lock()
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(
        self, method: Literal["GET", "POST"], path: str, body: bytes = b""
    ) -> httpx2.Response:
        async with self._opening:
            if self._client is None:
                load_context = partial(certificates.ssl_context, self._base_url)
                self._client = await asyncio.to_thread(self._build_client, load_context)
            client = self._client
        headers, content = self._headers, None
        if method == "POST":
            framing = {"content-type": "application/json", "content-length": str(len(body))}
            headers, content = framing | {**headers}, _iter_pieces(body)
        try:
            url = self._base_url + path
            request = client.build_request(method, url, content=content, headers=headers)
            return await client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise self.unreachable(self._describe(error)) from error

    def _describe(self, error: Exception) -> str:
        """Return the reason why no response arrived, without addresses."""
        match error:
            case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
                return f"no connection within {self._timeouts.connect:g} s"
            case httpx2.TimeoutException():
                return f"it was silent for {self._timeouts.read:g} s"
            case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
                return (
                    "its base URL is not a web address; it must start with `http://` or `https://`"
                )
            case UnicodeError():
                return "one of its headers has characters beyond ASCII"
            case httpx2.LocalProtocolError():
                return "one of its headers has control characters"
            case httpx2.ConnectError():
                return f"{str(error) or 'it refused the connection'}{self._hint}"
            case httpx2.ProxyError():
                return "the proxy did not let the request through"
            case _:
                return "the connection was lost"


def import_client() -> None:
    """Import what httpx2 imports with its first client only."""
    httpx2.AsyncHTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


async def _iter_pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]
