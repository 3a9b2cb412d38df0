"""Exchange of one HTTP request.

It uses a client of httpx2, for every way to log in. Redirects are not followed, so a key is never
sent to another host. Errors contain the host only, not the path, query or key.
"""

import asyncio
import os
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Literal

import httpx2
from msgspec import Struct

from yourtool.errors import AuthError, NetworkError, OtherAdapterError, ServerError
from yourtool.foundation.decompression import ACCEPTED, CompressionError, decompress
from yourtool.providers.base import WireResponse
from yourtool.providers.json_access import decode
from yourtool.providers.transports import certificates, proxies
from yourtool.providers.urls import host_of, is_loopback

MAX_RESPONSE_BYTES = 16 * 2**20
"""Limit for bodies that are not streamed: model lists."""
MAX_ERROR_BYTES = 2**20
"""Limit for the body of an error, which the client of a vendor parses on the event loop."""


class Timeouts(Struct, frozen=True):
    """HTTP timeouts in seconds; the adapter has its own idle timeouts."""

    connect: float = 10
    read: float = 600
    """Maximum time without any bytes; a last resort."""
    get: float = 10
    """Total time of `get`."""


class ClientTransport(ABC):
    """Transport for one base URL; a subclass has the client that logs in."""

    def __init__(self, base_url: str, timeouts: Timeouts | None) -> None:
        self._base_url = base_url
        self._host = host_of(base_url)
        self._timeouts = timeouts or Timeouts()

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
            AuthError: the client found no way to log in.
        """
        return self._post(path, body)

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[WireResponse, None]:
        response = await self._send("POST", path, body)
        try:
            yield _Response(response, self)
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
                response = await self._send("GET", path)
                try:
                    body = await _Response(response, self).read()
                finally:
                    await response.aclose()
        except TimeoutError as error:
            reason = f"`{self._host}` sent no complete answer within {timeout:g} s"
            raise NetworkError(reason) from error
        return await asyncio.to_thread(_parse, self._host, response.status_code, body)

    @abstractmethod
    async def close(self) -> None:
        """Close the connections; idempotent."""

    @abstractmethod
    async def _send(
        self, method: Literal["GET", "POST"], path: str, body: bytes = b""
    ) -> httpx2.Response:
        """Send a request; the body of the response, of any status, is not read yet."""

    def _build_client(self, load_context: Callable[[], ssl.SSLContext]) -> httpx2.AsyncClient:
        """Return a new client; slow, because it imports modules and reads certificates.

        Raises:
            NetworkError: a variable of the environment is not valid.
        """
        limits = self._timeouts
        try:
            context = load_context()
        except OSError as error:
            raise self.unreachable(f"{certificates.UNREADABLE}: {error}") from error
        try:
            return httpx2.AsyncClient(
                headers=ACCEPTED,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none are accepted
                timeout=httpx2.Timeout(limits.read, connect=limits.connect),
                event_hooks={"request": [_close_failed_handshake], "response": [_decompress]},
                follow_redirects=False,
                trust_env=not is_loopback(self._base_url),  # those are reached without a proxy
                verify=context,
            )
        except (ValueError, httpx2.InvalidURL) as error:  # its text can have a password
            names = [f"`{name}`" for name in os.environ if name.lower() in proxies.VARIABLES]
            raise self.unreachable(f"a proxy is not valid; correct {', '.join(names)}") from error

    def unreachable(self, reason: str) -> NetworkError:
        """Return the error for a response that did not arrive."""
        route = proxies.describe_route(self._base_url)
        return NetworkError(f"`{self._host}` could not be reached{route}: {reason}")

    def body_error(self, error: Exception) -> NetworkError | OtherAdapterError:
        """Return the error for a body that is not complete, or cannot be decompressed."""
        match error:
            case CompressionError():
                return OtherAdapterError(f"`{self._host}`: {error}")
            case httpx2.TimeoutException():
                return self.unreachable(f"it was silent for {self._timeouts.read:g} s")
            case _:
                lost = f"the connection to `{self._host}` was lost in the middle of the reply"
                return NetworkError(lost)


class _Response:
    headers: Mapping[str, str]

    def __init__(self, response: httpx2.Response, transport: ClientTransport) -> None:
        self._response = response
        self._transport = transport
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except (CompressionError, httpx2.HTTPError, httpx2.StreamError) as error:
            raise self._transport.body_error(error) from error

    async def read(self) -> bytes:
        """Return the body, truncated to the limit for its status."""
        limit = MAX_RESPONSE_BYTES if self.status < 300 else MAX_ERROR_BYTES
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) >= limit:
                    break
        return bytes(body[:limit])


async def _close_failed_handshake(request: httpx2.Request) -> None:
    """Close the connection if its encryption fails; httpx2 leaves it open if it is cancelled.

    Source of the names: https://www.encode.io/httpcore/extensions/#trace
    """
    streams: list[Any] = []

    async def trace(name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.complete"):
            streams.append(info["return_value"])
        elif name.endswith("start_tls.failed"):
            for stream in streams:
                await stream.aclose()

    request.extensions["trace"] = trace


async def _decompress(response: httpx2.Response) -> None:
    """Replace the client's decompression, which has no size limit."""
    assert isinstance(response.stream, httpx2.AsyncByteStream), "the client is asynchronous"
    encoding = response.headers.pop("content-encoding", "")
    limit = None if response.is_success else MAX_ERROR_BYTES
    response.stream = _DecompressedStream(response.stream, encoding, limit)


class _DecompressedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, limit: int | None) -> None:
        self._stream = stream
        self._pieces = decompress(stream, encoding, limit)

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self._pieces

    async def aclose(self) -> None:
        await self._pieces.aclose()
        await self._stream.aclose()


def _parse(host: str, status: int, body: bytes) -> Any:
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
