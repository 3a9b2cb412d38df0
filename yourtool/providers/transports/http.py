"""Transport over httpx, for API keys.

The key belongs to the origin of the base URL. Redirects are not followed, so it is never sent to
another host. Errors contain the host only, not the path, query or key.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import httpx
from msgspec import Struct

from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.errors import AuthError, NetworkError, OtherAdapterError, ServerError
from yourtool.providers.base import WireResponse
from yourtool.providers.json_access import decode
from yourtool.providers.transports import certificates
from yourtool.providers.urls import host_of, is_loopback

MAX_RESPONSE_BYTES = 16 * 2**20
"""Limit for bodies that are not streamed: model lists."""
MAX_ERROR_BYTES = 2**20
"""Limit for the body of an error, which the client of a vendor parses on the event loop."""

_PIECE_BYTES = 64 * 1024
"""Sending and encrypting a large body in one piece would block the event loop."""
_CHUNKS_PER_STEP = 256
"""Chunks that have arrived and are read before other tasks run, which takes a few milliseconds."""
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Timeouts(Struct, frozen=True):
    """HTTP timeouts in seconds; the adapter has its own idle timeouts."""

    connect: float = 10
    read: float = 600
    """Maximum time without any bytes; a last resort."""
    get: float = 10
    """Total time of `get`."""


class HttpTransport:
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
        self._base_url, self._timeouts = base_url.rstrip("/"), timeouts or Timeouts()
        self._host = host_of(self._base_url)
        self._headers = {**ACCEPTED, **headers}
        self._hint = (
            f"; `{start_command}` starts it" if start_command and is_loopback(base_url) else ""
        )
        self._opening = asyncio.Lock()
        self._client: httpx.AsyncClient | None = None

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
        """
        return self._post(path, body)

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[WireResponse, None]:
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        response = await self._send("POST", path, {**headers, **self._headers}, body)
        try:
            yield _HttpResponse(response, self)
        finally:
            await response.aclose()

    async def get(self, path: str) -> Any:
        """Fetch JSON.

        Raises:
            AdapterError: the request failed.
        """
        timeout = self._timeouts.get
        try:
            async with asyncio.timeout(timeout):
                response = await self._send("GET", path, self._headers)
                try:
                    body = await _HttpResponse(response, self).read()
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise timeout_error(self._host, timeout) from error
        return await asyncio.to_thread(parse_response, self._host, response.status_code, body)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> httpx.Response:
        client = await self._get_client()
        content = None if body is None else _iter_pieces(body)
        try:
            url = self._base_url + path
            request = client.build_request(method, url, content=content, headers=headers)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise self.network_error(error) from error

    async def _get_client(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._build_client)
            return self._client

    def _build_client(self) -> httpx.AsyncClient:
        """Return a new client; runs in a thread, because it reads certificates."""
        uses_proxies = not is_loopback(self._base_url)  # local servers are reached without one
        try:
            context = certificates.ssl_context(self._base_url)
        except OSError as error:
            raise self._unreachable(str(error)) from error
        try:
            return httpx.AsyncClient(
                timeout=httpx.Timeout(self._timeouts.read, connect=self._timeouts.connect),
                follow_redirects=False,
                trust_env=uses_proxies,
                verify=context,
            )
        except (ValueError, httpx.InvalidURL) as error:  # its text can have a password
            names = [f"`{each}`" for each in os.environ if each.lower() in _PROXY_VARIABLES]
            reason = f"the proxies of the environment are not valid; correct {', '.join(names)}"
            raise self._unreachable(reason) from error

    def network_error(self, error: Exception) -> NetworkError:
        """Return the error for a response that did not arrive."""
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                reason = f"no connection within {self._timeouts.connect:g} s"
            case httpx.TimeoutException():
                reason = f"it was silent for {self._timeouts.read:g} s"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                reason = (
                    "its base URL is not a web address;"
                    " it must start with `http://` or `https://`"
                )
            case UnicodeError():
                reason = "one of its headers has characters beyond ASCII"
            case httpx.LocalProtocolError():
                reason = "one of its headers has control characters"
            case httpx.ConnectError():
                reason = f"{error or 'it refused the connection'}{self._hint}"
            case httpx.ProxyError():
                reason = "the proxy did not let the request through"
            case _:
                reason = "the connection was lost"
        return self._unreachable(reason)

    def _unreachable(self, reason: str) -> NetworkError:
        return NetworkError(f"`{self._host}` could not be reached: {reason}")

    def connection_lost(self) -> NetworkError:
        """Return the error for an incomplete body."""
        return NetworkError(f"the connection to `{self._host}` was lost in the middle of the reply")

    def decompression_failed(self, error: CompressionError) -> OtherAdapterError:
        """Return the error for a body that cannot be decompressed."""
        return OtherAdapterError(f"`{self._host}`: {error}")


class _HttpResponse:
    headers: Mapping[str, str]

    def __init__(self, response: httpx.Response, transport: HttpTransport) -> None:
        self._response = response
        self._transport = transport
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        encoding = self.headers.get("content-encoding", "")
        try:
            async with (
                aclosing(_read_chunks(self._response)) as raw,
                aclosing(decompress(raw, encoding)) as pieces,
            ):
                async for piece in pieces:
                    yield piece
        except CompressionError as error:
            raise self._transport.decompression_failed(error) from error
        except httpx.TimeoutException as error:
            raise self._transport.network_error(error) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise self._transport.connection_lost() from error

    async def read(self) -> bytes:
        return await read_limited(self.chunks(), self.status)


async def _iter_pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]


async def _read_chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    count = 0
    async for chunk in response.aiter_raw():
        yield chunk
        count += 1
        if count % _CHUNKS_PER_STEP == 0:
            await asyncio.sleep(0)  # chunks that have arrived let nothing else run


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
