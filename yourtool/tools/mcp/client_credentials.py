"""Logins at MCP servers without a user.

They use a secret, a key, or a token of the user's employer.

The grant `client_credentials` of OAuth 2.1 (SEP-1046 of MCP). Credentials are sent only to the
login page that the settings name as `issuer`, also if the server names another one. Tokens are not
stored.

With `identityToken` (SEP-990), the identity provider of an organisation exchanges the token with
which the user logged in there for a grant to this one login page (RFC 8693), which gives the tokens
of the server for it (RFC 7523).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx2
import jwt
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from yourtool.settings.tables import is_table
from yourtool.tools.servers.settings import McpSettingsError

_ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""https://www.rfc-editor.org/rfc/rfc7518 and RFC 8037; a key fits one of them."""


_GRANT_TYPE = "urn:ietf:params:oauth:token-type:id-jag"
_SECONDS = 30.0


class _Memory:
    """Keeps the tokens of one connection."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        del client_info


def build_login(
    url: str, oauth: Mapping[str, str]
) -> OAuthClientProvider | IdentityAssertionOAuthProvider:
    """Return what adds tokens to the requests to a server; `oauth`: with variables replaced.

    Raises:
        McpSettingsError: the key is not one that can sign.
    """
    client, issuer = oauth["clientId"], oauth["issuer"]
    if "privateKey" not in oauth:
        secret = oauth["clientSecret"]
        if "identityToken" in oauth:
            return IdentityAssertionOAuthProvider(
                url,
                _Memory(),
                client,
                secret,
                issuer,
                partial(_exchange_identity, oauth),
                token_endpoint_auth_method="client_secret_basic",  # noqa: S106 - the name of a method
            )
        return ClientCredentialsOAuthProvider(url, _Memory(), client, secret, issuer=issuer)
    key = oauth["privateKey"]
    signing = SignedJWTParameters(
        issuer=client, subject=client, signing_key=key, signing_algorithm=_find_algorithm(key)
    )
    sign = signing.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, _Memory(), client, sign, issuer=issuer)


async def _exchange_identity(oauth: Mapping[str, str], audience: str, resource: str) -> str:
    """Return the grant of the identity provider for one login page and one server.

    Raises:
        OAuthFlowError: it gives none.
    """
    fields = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": _GRANT_TYPE,
        "subject_token": oauth["identityToken"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": audience,
        "resource": resource,
        "client_id": oauth["identityClientId"],
    }
    async with httpx2.AsyncClient(timeout=_SECONDS) as client:  # follows no redirects
        answered = await client.post(oauth["identityEndpoint"], data=fields)
    try:
        found: Any = answered.json()
    except ValueError:
        found = None
    grant = found.get("access_token") if is_table(found) else None
    if not answered.is_success or not isinstance(grant, str):
        raise OAuthFlowError(
            f"the identity provider gives no grant: it answered {answered.status_code}"
        )
    return grant


def _find_algorithm(key: str) -> str:
    """Return the algorithm with which a private key signs.

    Raises:
        McpSettingsError: there is none.
    """
    for name in _ALGORITHMS:
        try:
            jwt.encode({}, key, algorithm=name)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        return name
    raise McpSettingsError(
        "`oauth.privateKey` is no private key in PEM of RSA, P-256 or Ed25519 without a password"
    )
