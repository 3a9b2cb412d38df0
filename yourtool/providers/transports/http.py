"""Transport over HTTP, for API keys.

The key belongs to the origin of the base URL. Redirects are not followed, so it is never sent to
another host. Errors contain the host only, not the path, query or key.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.errors import AuthError, NetworkError, OtherAdapterError, ServerError
from yourtool.providers.base import WireResponse
from yourtool.providers.json_access import decode
from yourtool.providers.transports import proxied
from yourtool.providers.transports.direct import DirectClient
from yourtool.providers.transports.http_client import (
    BrokenBodyError,
    HttpClient,
    RefusedError,
    Response,
    Timeouts,
    UnreachableError,
)
from yourtool.providers.urls import host_of, is_loopback, split_url

MAX_RESPONSE_BYTES = 16 * 2**20
"""Limit for bodies that are not streamed: model lists."""
MAX_ERROR_BYTES = 2**20
"""Limit for the body of an error, which the client of a vendor parses on the event loop."""

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_HAS_SYSTEM_PROXIES = ("darwin", "win32")
"""Platforms whose settings have proxies, which only httpx looks for."""


class HttpTransport:
    """HTTP client for one base URL with fixed headers."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        timeouts: Timeouts | None = None,
        *,
        start_command: str = "",
        client: HttpClient | None = None,
    ) -> None:
        """`headers` are sent with every request and include the key."""
        base_url, self._timeouts = base_url.rstrip("/"), timeouts or Timeouts()
        self._host = host_of(base_url)
        self._headers = {**ACCEPTED, **headers}
        self._hint = (
            f"; `{start_command}` starts it" if start_command and is_loopback(base_url) else ""
        )
        self._client = client or build_client(base_url, self._timeouts)

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
        """
        return self._post(path, body)

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[WireResponse, None]:
        headers = {"content-type": "application/json", **self._headers}
        try:
            response = await self._client.send("POST", path, headers, body)
        except UnreachableError as error:
            raise self.network_error(error) from error
        try:
            yield _HttpResponse(response, self)
        finally:
            await response.close()

    async def get(self, path: str) -> Any:
        """Fetch JSON.

        Raises:
            AdapterError: the request failed.
        """
        timeout = self._timeouts.get
        try:
            async with asyncio.timeout(timeout):
                response = await self._client.send("GET", path, self._headers, None)
                try:
                    body = await _HttpResponse(response, self).read()
                finally:
                    await response.close()
        except UnreachableError as error:
            raise self.network_error(error) from error
        except TimeoutError as error:
            raise timeout_error(self._host, timeout) from error
        return await asyncio.to_thread(parse_response, self._host, response.status, body)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        await self._client.close()

    def network_error(self, error: UnreachableError) -> NetworkError:
        """Return the error for a response that did not arrive."""
        hint = self._hint if isinstance(error, RefusedError) else ""
        return NetworkError(f"`{self._host}` could not be reached: {error}{hint}")

    def connection_lost(self) -> NetworkError:
        """Return the error for an incomplete body."""
        return NetworkError(f"the connection to `{self._host}` was lost in the middle of the reply")

    def decompression_failed(self, error: CompressionError) -> OtherAdapterError:
        """Return the error for a body that cannot be decompressed."""
        return OtherAdapterError(f"`{self._host}`: {error}")


class _HttpResponse:
    headers: Mapping[str, str]

    def __init__(self, response: Response, transport: HttpTransport) -> None:
        self._response = response
        self._transport = transport
        self.status = response.status
        self.headers = response.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        encoding = self.headers.get("content-encoding", "")
        try:
            async with (
                aclosing(self._response.chunks()) as raw,
                aclosing(decompress(raw, encoding)) as pieces,
            ):
                async for piece in pieces:
                    yield piece
        except CompressionError as error:
            raise self._transport.decompression_failed(error) from error
        except UnreachableError as error:
            raise self._transport.network_error(error) from error
        except BrokenBodyError as error:
            raise self._transport.connection_lost() from error

    async def read(self) -> bytes:
        return await read_limited(self.chunks(), self.status)


def build_client(base_url: str, timeouts: Timeouts) -> HttpClient:
    """Return the client for a base URL: the direct one, unless the address needs more."""
    if _needs_httpx(base_url):
        return proxied.HttpxClient(base_url, timeouts)
    return DirectClient(base_url, timeouts)


def _needs_httpx(base_url: str) -> bool:
    """Whether a proxy may be set, or the URL has a password or an international host."""
    parts = split_url(base_url)
    if parts is not None and ("@" in parts.netloc or not parts.netloc.isascii()):
        return True
    if is_loopback(base_url):
        return False
    return sys.platform in _HAS_SYSTEM_PROXIES or any(
        value and name.lower() in _PROXY_VARIABLES for name, value in os.environ.items()
    )


async def read_limited(chunks: AsyncGenerator[bytes, None], status: int) -> bytes:
    """Return a body, truncated to the limit for its status."""
    limit = MAX_RESPONSE_BYTES if status < 300 else MAX_ERROR_BYTES
    body = bytearray()
    async with aclosing(chunks):
        async for chunk in chunks:
            body += chunk
            if len(body) >= limit:
                break
    return bytes(body[:limit])


def timeout_error(host: str, seconds: float) -> NetworkError:
    """Return the error for a response that was not complete in time."""
    return NetworkError(f"`{host}` sent no complete answer within {seconds:g} s")


def parse_response(host: str, status: int, body: bytes) -> Any:
    """Return the JSON of a response to `get`.

    Raises:
        AdapterError: the response is an error or not JSON.
    """
    match status:
        case 200:
            pass
        case 401 | 403:
            raise AuthError(f"`{host}` does not accept the key", status=status)
        case _ if status >= 500:
            raise ServerError(f"`{host}` failed with status {status}", status=status)
        case _:
            raise OtherAdapterError(f"`{host}` answered with status {status}", status=status)
    try:
        return decode(body)
    except ValueError as error:
        raise OtherAdapterError(f"`{host}` did not answer with JSON") from error
