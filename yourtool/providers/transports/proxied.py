"""The client over httpx, for what the direct one cannot do: proxies and unusual addresses."""

from collections.abc import AsyncGenerator, Mapping

import httpx

from yourtool.providers.transports.certificates import ssl_context
from yourtool.providers.transports.http_client import (
    BEYOND_ASCII,
    LOST,
    NOT_AN_ADDRESS,
    BrokenBodyError,
    RefusedError,
    Timeouts,
    UnreachableError,
)
from yourtool.providers.urls import is_loopback

_PIECE_BYTES = 64 * 1024
"""Sending and encrypting a large body in one piece would block the event loop."""


class HttpxClient:
    """Client for one base URL."""

    def __init__(self, base_url: str, timeouts: Timeouts) -> None:
        self._base_url = base_url
        self._timeouts = timeouts
        self._client: httpx.AsyncClient | None = None

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> "_Response":
        """Send a request; see `HttpClient.send`."""
        length = {} if body is None else {"content-length": str(len(body))}
        content = None if body is None else _body_pieces(body)
        try:
            client = self._get_client()
            request = client.build_request(
                method, self._base_url + path, content=content, headers={**headers, **length}
            )
            return _Response(await client.send(request, stream=True), self._timeouts)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _translate(error, self._timeouts) from error

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def _get_client(self) -> httpx.AsyncClient:
        if self._client is None:
            limits = self._timeouts
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(limits.read, connect=limits.connect),
                follow_redirects=False,
                # Local servers are reached without a proxy.
                trust_env=not is_loopback(self._base_url),
                verify=ssl_context(self._base_url),
            )
        return self._client


def _translate(error: Exception, timeouts: Timeouts) -> UnreachableError:
    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return UnreachableError(timeouts.no_connection)
        case httpx.TimeoutException():
            return UnreachableError(timeouts.silence)
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return UnreachableError(NOT_AN_ADDRESS)
        case UnicodeError():
            return UnreachableError(BEYOND_ASCII)
        case httpx.ConnectError():
            return RefusedError(str(error) or "it refused the connection")
        case httpx.ProxyError():
            return UnreachableError("the proxy did not let the request through")
        case _:
            return UnreachableError(LOST)


class _Response:
    headers: Mapping[str, str]

    def __init__(self, response: httpx.Response, timeouts: Timeouts) -> None:
        self._response = response
        self._timeouts = timeouts
        self.status = response.status_code
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the body; see `Response.chunks`."""
        try:
            async for chunk in self._response.aiter_raw():
                yield chunk
        except httpx.TimeoutException as error:
            raise _translate(error, self._timeouts) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise BrokenBodyError from error

    async def close(self) -> None:
        """Free the connection; see `Response.close`."""
        await self._response.aclose()


async def _body_pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]
