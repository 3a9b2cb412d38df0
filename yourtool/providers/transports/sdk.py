"""Transport over a vendor's SDK, for its ways to log in.

The SDK handles profiles, bearer tokens and workload identities; its retries are disabled and its
decoding is bypassed. The first request imports the package in a thread, because the import takes a
second or more.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import ModuleType
from typing import Any

from msgspec import Struct

from yourtool.credentials import Secret
from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.errors import AuthError, NetworkError, OtherAdapterError
from yourtool.providers.base import SdkVendor, WireResponse
from yourtool.providers.transports.http import (
    MAX_ERROR_BYTES,
    Timeouts,
    parse_response,
    read_limited,
    timeout_error,
)
from yourtool.providers.urls import host_of, is_loopback

_STREAM_RAW = {"X-Stainless-Raw-Response": "stream"}
"""Set by `with_streaming_response` of both SDKs: return the response unread."""


class Login(Struct, frozen=True, kw_only=True):
    """Arguments of a vendor's client; without key and token it uses its own credentials."""

    vendor: SdkVendor
    base_url: str | None = None
    """None: the client's default, which a profile can set."""
    headers: Mapping[str, str] = {}
    api_key: Secret | None = None
    auth_token: Secret | None = None
    """Anthropic only: sent as `Authorization: Bearer`."""


class SdkTransport:
    """Client for one base URL over a vendor's SDK."""

    def __init__(
        self, load: Callable[[str], ModuleType], login: Login, timeouts: Timeouts | None = None
    ) -> None:
        """`load` imports a package by name."""
        self._load = load
        self._login = login
        self._timeouts = timeouts or Timeouts()
        self._host = host_of(login.base_url or f"https://api.{login.vendor}.com")
        self._opening = asyncio.Lock()
        self._client: Any = None
        self._sdk: Any = None
        self._http: Any = None
        self._body: Any = None
        self._vendor_error: type[Exception] = Exception

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[WireResponse]:
        """Post JSON to `path` under the base URL; never retries.

        Raises:
            NetworkError: no connection, TLS, or no response in time.
            AuthError: the client found no way to log in.
        """
        return self._post(path, body)

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[WireResponse, None]:
        response = await self._send("post", path, content=body)
        try:
            yield _SdkResponse(response, self)
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
                response = await self._send("get", path, timeout=timeout)
                try:
                    body = await _SdkResponse(response, self).read()
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise timeout_error(self._host, timeout) from error
        return await asyncio.to_thread(parse_response, self._host, response.status_code, body)

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _send(self, method: str, path: str, **options: Any) -> Any:
        """Return the SDK's response object for any status."""
        client = await self._get_client()
        arguments: dict[str, Any] = {"cast_to": self._http.Response}
        if "content" in options:
            arguments["content"] = options.pop("content")
        options["headers"] = {**options.get("headers", {}), **_STREAM_RAW}
        try:
            reply = await getattr(client, method)(path, options=options, **arguments)
        except self._sdk.APIStatusError as error:
            return error.response
        except self._sdk.APITimeoutError as error:
            wait = self._timeouts.connect
            raise NetworkError(
                f"`{self._host}` could not be reached: no answer within {wait:g} s"
            ) from error
        except (self._sdk.APIConnectionError, self._http.HTTPError) as error:
            cause = error.__cause__ or error
            raise NetworkError(f"`{self._host}` could not be reached: {cause}") from error
        except CompressionError as error:  # the client reads the body of an error itself
            raise self.decompression_failed(error) from error
        except (self._vendor_error, TypeError) as error:
            # Without credentials one SDK raises its own error, the other a TypeError.
            raise self._login_error() from error
        return getattr(reply, "http_response", reply)

    async def _get_client(self) -> Any:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
        return self._client

    def _connect(self) -> Any:
        login, limits = self._login, self._timeouts
        sdk, http = self._load(login.vendor), self._load("httpx2")
        self._sdk, self._http = sdk, http
        self._body = type("_SdkBody", (_DecompressedStream, http.AsyncByteStream), {})
        headers: dict[str, Any] = dict(login.headers)
        timeout = http.Timeout(limits.read, connect=limits.connect)
        common: dict[str, Any] = {
            "base_url": login.base_url,
            "max_retries": 0,
            "timeout": timeout,
            "api_key": login.api_key.reveal() if login.api_key else None,
            "http_client": http.AsyncClient(
                headers=ACCEPTED,
                timeout=timeout,
                event_hooks={"response": [self._decompress]},
                follow_redirects=False,
                trust_env=not is_loopback(login.base_url or ""),
            ),
        }
        if login.vendor == "anthropic":
            self._vendor_error, client = sdk.AnthropicError, sdk.AsyncAnthropic
            common["auth_token"] = login.auth_token.reveal() if login.auth_token else None
            if login.api_key:
                # The client would send the key as a bearer token, which compatible servers refuse.
                headers |= {"x-api-key": login.api_key.reveal(), "Authorization": sdk.omit}
        else:
            self._vendor_error, client = sdk.OpenAIError, sdk.AsyncOpenAI
        try:
            return client(default_headers=headers, **common)
        except self._vendor_error as error:
            raise self._login_error() from error

    async def _decompress(self, response: Any) -> None:
        """Replace the client's decompression, which has no size limit."""
        encoding = response.headers.pop("content-encoding", "")
        limit = None if response.is_success else MAX_ERROR_BYTES
        response.stream = self._body(response.stream, encoding, limit)

    def _login_error(self) -> AuthError:
        return AuthError(
            f"`{self._host}`: the `{self._login.vendor}` package found no way to log in"
        )

    @property
    def connection_errors(self) -> tuple[type[Exception], ...]:
        """Errors of the client's HTTP library while a body is read."""
        return (self._http.HTTPError, self._http.StreamError)

    def connection_lost(self) -> NetworkError:
        """Return the error for an incomplete body."""
        return NetworkError(f"the connection to `{self._host}` was lost in the middle of the reply")

    def decompression_failed(self, error: CompressionError) -> OtherAdapterError:
        """Return the error for a body that cannot be decompressed."""
        return OtherAdapterError(f"`{self._host}`: {error}")


class _DecompressedStream:
    """A stream of the client's HTTP library that decompresses the wrapped one."""

    def __init__(self, stream: Any, encoding: str, limit: int | None) -> None:
        self._stream = stream
        self._pieces = decompress(stream, encoding, limit)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._pieces.aclose()
        await self._stream.aclose()


class _SdkResponse:
    headers: Mapping[str, str]

    def __init__(self, response: Any, transport: SdkTransport) -> None:
        self._response = response
        self._transport = transport
        self.status: int = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except self._transport.connection_errors as error:
            raise self._transport.connection_lost() from error
        except CompressionError as error:
            raise self._transport.decompression_failed(error) from error

    async def read(self) -> bytes:
        return await read_limited(self.chunks(), self.status)
