"""Transport over a vendor's SDK.

The SDK handles profiles, bearer tokens and workload identities; its retries are disabled and its
decoding is bypassed. The first request imports the package in a thread, because the import takes a
second or more.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Literal

import httpx2
from msgspec import Struct

from yourtool.errors import AuthError
from yourtool.foundation.decompression import CompressionError
from yourtool.providers.base import SdkVendor
from yourtool.providers.transports.exchange import ClientTransport, Timeouts
from yourtool.settings.credentials import Secret

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


class SdkTransport(ClientTransport):
    """Client for one base URL over a vendor's SDK."""

    def __init__(
        self, load: Callable[[str], ModuleType], login: Login, timeouts: Timeouts | None = None
    ) -> None:
        """`load` imports a package by name."""
        super().__init__(login.base_url or f"https://api.{login.vendor}.com", timeouts)
        self._load = load
        self._login = login
        self._opening = asyncio.Lock()
        self._client: Any = None
        self._sdk: Any = None
        self._vendor_error: type[Exception] = Exception

    async def close(self) -> None:
        """Close the connections; idempotent."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _send(
        self, method: Literal["GET", "POST"], path: str, body: bytes = b""
    ) -> httpx2.Response:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._connect)
            client = self._client
        send, content = (client.get, {}) if method == "GET" else (client.post, {"content": body})
        options = {"headers": _STREAM_RAW}
        try:
            reply = await send(path, options=options, cast_to=httpx2.Response, **content)
        except self._sdk.APIStatusError as error:
            return error.response
        except self._sdk.APITimeoutError as error:
            raise self.unreachable(f"no answer within {self._timeouts.connect:g} s") from error
        except (self._sdk.APIConnectionError, httpx2.HTTPError) as error:
            raise self.unreachable(str(error.__cause__ or error)) from error
        except CompressionError as error:  # the client reads the body of an error itself
            raise self.body_error(error) from error
        except (self._vendor_error, TypeError) as error:
            # Without credentials one SDK raises its own error, the other a TypeError.
            raise self._login_error() from error
        return getattr(reply, "http_response", reply)

    def _connect(self) -> Any:
        login = self._login
        self._sdk = sdk = self._load(login.vendor)
        headers: dict[str, Any] = dict(login.headers)
        http_client = self._build_client(httpx2.create_ssl_context)
        common: dict[str, Any] = {
            "base_url": login.base_url,
            "max_retries": 0,
            "timeout": http_client.timeout,
            "api_key": login.api_key.reveal() if login.api_key else None,
            "http_client": http_client,
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

    def _login_error(self) -> AuthError:
        return AuthError(
            f"`{self._host}`: the `{self._login.vendor}` package found no way to log in"
        )
