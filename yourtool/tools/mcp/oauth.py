"""OAuth 2.1 logins without a browser.

Nothing listens on the address to which the login page sends the browser at the end; the user copies
it from there. A connection without a user uses and refreshes the stored tokens only.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from msgspec.structs import replace
from pydantic import AnyUrl, BaseModel

from yourtool.errors import UsageError
from yourtool.tools.servers.calls import ServerConnectionError
from yourtool.tools.servers.client import REDIRECT, AskAddress
from yourtool.tools.servers.logins import Login, Logins

_LEGACY_METADATA = "/.well-known/oauth-authorization-server"


class _Storage:
    """Keeps what the library stores of one login in the file."""

    def __init__(self, url: str, logins: Logins) -> None:
        self._logins = logins
        self.login = Login(url)
        self.page: Callable[[], OAuthMetadata | None] = lambda: None

    async def load(self) -> None:
        self.login = await asyncio.to_thread(self._logins.find, self.login.url) or self.login

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self.login.tokens
        return None if tokens is None else OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        lasts, page = tokens.expires_in, self.page()
        self.login = replace(
            self.login,
            tokens=_dump(tokens),
            expires_at=None if lasts is None else time.time() + lasts,
            page=self.login.page if page is None else _dump(page),
        )
        await asyncio.to_thread(self._logins.save, self.login)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self.login.client
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.login = replace(self.login, client=_dump(client_info))


class StoredLogin(OAuthClientProvider):
    """Adds the tokens of a login to requests, and refreshes them."""

    def __init__(self, url: str, logins: Logins, ask: AskAddress | None = None) -> None:
        """`ask`: leads the user through a login; None: without one, the connection fails."""
        self._storage = _Storage(url, logins)
        self._ask = ask
        self._page_address = ""
        super().__init__(
            url,
            OAuthClientMetadata(
                client_name="yourtool",
                redirect_uris=[AnyUrl(REDIRECT)],
                token_endpoint_auth_method="none",  # noqa: S106 - the name of a method
            ),
            self._storage,
            self._show,
            self._read,
        )
        self._storage.page = lambda: self.context.oauth_metadata

    async def _initialize(self) -> None:
        await self._storage.load()
        await super()._initialize()
        login = self._storage.login
        self.context.token_expiry_time = login.expires_at
        if login.page is not None:
            self.context.oauth_metadata = OAuthMetadata.model_validate(login.page)

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self.context.is_token_valid():
            self._initialized = False  # another process may have refreshed the stored login
        flow = super()._auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                response = yield sent
                sent = await flow.asend(await self._adapt(response))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _adapt(self, response: httpx2.Response) -> httpx2.Response:
        """Accept any issuer of the server's own origin in metadata of protocol 2025-03-26.

        That protocol has the metadata at the origin of the server, also for an issuer with a path.
        The library expects the origin as the issuer. Another origin is still rejected.
        """
        url, server = response.request.url, httpx2.URL(self.context.server_url)
        is_legacy = self.context.auth_server_url is None and url.path == _LEGACY_METADATA
        if not is_legacy or not response.is_success:
            return response
        try:
            found: Any = json.loads(await response.aread())
            issuer = httpx2.URL(found["issuer"])
        except (ValueError, TypeError, KeyError, httpx2.InvalidURL):
            return response
        if _get_origin(issuer) != _get_origin(server) or _get_origin(url) != _get_origin(server):
            return response
        found["issuer"] = f"{server.scheme}://{server.netloc.decode('ascii')}"
        return httpx2.Response(response.status_code, json=found, request=response.request)

    async def _show(self, address: str) -> None:
        self._page_address = address

    async def _read(self) -> AuthorizationCodeResult:
        if self._ask is None:
            raise ServerConnectionError("needs a login", needs_login=True)
        return parse_answer(await self._ask(self._page_address))


def parse_answer(pasted: str) -> AuthorizationCodeResult:
    """Return what the last address of a login has.

    Raises:
        UsageError: it has no code; the message has the reason and the remedy.
    """
    found = {name: values[0] for name, values in parse_qs(urlsplit(pasted.strip()).query).items()}
    if "error" in found:
        about = found.get("error_description") or found["error"]
        raise UsageError(f"the login page refused the login: {about[:300]}")
    if "code" not in found or "state" not in found:
        raise UsageError(
            "this is not the address where the login ended: it starts with"
            f" `{REDIRECT}?` and has `code=` and `state=`; copy all of it from the browser"
        )
    return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)


def _get_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
