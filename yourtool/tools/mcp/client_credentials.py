"""Logins at MCP servers without a user: with a secret or a key of the program.

The grant `client_credentials` of OAuth 2.1 (SEP-1046 of MCP). Credentials are sent only to the
login page that the settings name as `issuer`, also if the server names another one. Tokens are not
stored.
"""

from collections.abc import Mapping

import jwt
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from yourtool.tools.servers.settings import McpSettingsError

_ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""https://www.rfc-editor.org/rfc/rfc7518 and RFC 8037; a key fits one of them."""


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


def build_login(url: str, oauth: Mapping[str, str]) -> OAuthClientProvider:
    """Return what adds tokens to the requests to a server; `oauth`: with variables replaced.

    Raises:
        McpSettingsError: the key is not one that can sign.
    """
    client, issuer = oauth["clientId"], oauth["issuer"]
    if "privateKey" not in oauth:
        secret = oauth["clientSecret"]
        return ClientCredentialsOAuthProvider(url, _Memory(), client, secret, issuer=issuer)
    key = oauth["privateKey"]
    signing = SignedJWTParameters(
        issuer=client, subject=client, signing_key=key, signing_algorithm=_find_algorithm(key)
    )
    sign = signing.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, _Memory(), client, sign, issuer=issuer)


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
