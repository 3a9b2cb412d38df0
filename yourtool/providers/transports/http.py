"""Transport over httpx, for API keys.

The key belongs to the origin of the base URL. Redirects are not followed, so it is never sent to
another host. Errors contain the host only, not the path, query or key.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import Any

import httpx
from msgspec import Struct

from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.errors import AuthError, NetworkError, OtherAdapterError, ServerError
from yourtool.optional_modules import use_openssl
from yourtool.providers.base import WireResponse
from yourtool.providers.json_access import decode
from yourtool.providers.urls import host_of, is_loopback

MAX_RESPONSE_BYTES = 16 * 2**20
"""Limit for bodies that are not streamed: model lists."""
MAX_ERROR_BYTES = 2**20
"""Limit for the body of an error, which the client of a vendor parses on the event loop."""

_PIECE_BYTES = 64 * 1024
"""Sending and encrypting a large body in one piece would block the event loop."""
_REQUEST_ERRORS = (httpx.HTTPError, httpx.InvalidURL, UnicodeError)
"""Errors before the response."""


class Timeouts(Struct, frozen=True):
    """HTTP timeouts in seconds; the adapter has its own idle timeouts."""

    connect: float = 10
    read: float = 600
    """Maximum time without any bytes; a last resort."""
    get: float = 10
    """Total time of `get`."""


class HttpxTransport:
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
        self._base_url = base_url.rstrip("/")
        self._host = host_of(base_url)
        self._headers = dict(headers)
        self._timeouts = timeouts or Timeouts()
        self._hint = (
            f"; `{start_command}` starts it" if start_command and is_loopback(base_url) else ""
        )
        self._client: httpx.AsyncClient | None = None

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
        """
        return self._post(path, body)

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[WireResponse, None]:
        client = self._get_client()
        try:
            request = client.build_request(
                "POST",
                self._base_url + path,
                content=_body_pieces(body),
                headers={
                    "content-type": "application/json",
                    "content-length": str(len(body)),
                    **self._headers,
                },
            )
            response = await client.send(request, stream=True)
        except _REQUEST_ERRORS as error:
            raise self._network_error(error) from error
        try:
            yield _HttpxResponse(response, self)
        finally:
            await response.aclose()

    async def get(self, path: str) -> Any:
        """Fetch JSON.

        Raises:
            AdapterError: the request failed.
        """
        client, timeout = self._get_client(), self._timeouts.get
        try:
            request = client.build_request("GET", self._base_url + path, headers=self._headers)
            async with asyncio.timeout(timeout):
                response = await client.send(request, stream=True)
                try:
                    body = await _HttpxResponse(response, self).read()
                finally:
                    await response.aclose()
        except _REQUEST_ERRORS as error:
            raise self._network_error(error) from error
        except TimeoutError as error:
            raise timeout_error(self._host, timeout) from error
        return await asyncio.to_thread(parse_response, self._host, response.status_code, body)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _get_client(self) -> httpx.AsyncClient:
        if self._client is None:
            limits = self._timeouts
            self._client = httpx.AsyncClient(
                headers=ACCEPTED,
                timeout=httpx.Timeout(limits.read, connect=limits.connect),
                follow_redirects=False,
                # Local servers are reached without a proxy.
                trust_env=not is_loopback(self._base_url),
                verify=ssl_context(self._base_url),
            )
        return self._client

    def _network_error(self, error: Exception) -> NetworkError:
        match error:
            case httpx.ConnectTimeout() | httpx.PoolTimeout():
                what = f"no connection within {self._timeouts.connect:g} s"
            case httpx.TimeoutException():
                what = f"it was silent for {self._timeouts.read:g} s"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol():
                what = (
                    "its base URL is not a web address; it must start with `http://` or `https://`"
                )
            case UnicodeError():
                what = "one of its headers has characters beyond ASCII"
            case httpx.ConnectError():
                what = f"{str(error) or 'it refused the connection'}{self._hint}"
            case httpx.ProxyError():
                what = "the proxy did not let the request through"
            case _:
                what = "the connection was lost"
        return NetworkError(f"`{self._host}` could not be reached: {what}")

    def connection_lost(self, error: Exception) -> NetworkError:
        """Return the error for an incomplete body."""
        if isinstance(error, httpx.TimeoutException):
            return self._network_error(error)
        return NetworkError(f"the connection to `{self._host}` was lost in the middle of the reply")

    def decompression_failed(self, error: CompressionError) -> OtherAdapterError:
        """Return the error for a body that cannot be decompressed."""
        return OtherAdapterError(f"`{self._host}`: {error}")


class _HttpxResponse:
    headers: Mapping[str, str]

    def __init__(self, response: httpx.Response, transport: HttpxTransport) -> None:
        self._response = response
        self._transport = transport
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            encoding = self.headers.get("content-encoding", "")
            async with aclosing(decompress(self._response.aiter_raw(), encoding)) as pieces:
                async for piece in pieces:
                    yield piece
        except CompressionError as error:
            raise self._transport.decompression_failed(error) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise self._transport.connection_lost(error) from error

    async def read(self) -> bytes:
        return await read_limited(self.chunks(), self.status)


async def _body_pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]


async def read_limited(chunks: AsyncGenerator[bytes, None], status: int) -> bytes:
    """Return a body, truncated to the limit for its status."""
    limit = MAX_RESPONSE_BYTES if status < HTTPStatus.MULTIPLE_CHOICES else MAX_ERROR_BYTES
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


def ssl_context(base_url: str) -> ssl.SSLContext:
    """Return the SSL context; reading the certificates is slow and cached.

    Plain HTTP to a loopback address needs none and gets an empty context.
    """
    use_openssl()
    if base_url.startswith("http:") and is_loopback(base_url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _default_ssl_context()


@cache
def _default_ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


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
