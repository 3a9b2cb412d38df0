"""Logins at servers with OAuth."""

import json
import threading
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp.client.auth import oauth2
from msgspec.structs import replace

from tests.tools.contexts import answer
from tests.tools.mcp.login_server import finish, login_server
from tests.tools.servers.configured import started
from yourtool.agent.session.known_secrets import find_known_secrets
from yourtool.cli import main, mcp_login
from yourtool.errors import UsageError
from yourtool.paths import resolve_paths
from yourtool.tools.mcp.oauth import parse_answer
from yourtool.tools.servers.logins import FILE_NAME, Login, Logins
from yourtool.tools.servers.server import ServerState

pytestmark = pytest.mark.usefixtures("own_logging")


def log_in(server, monkeypatch, *words):
    """Run the command, with the address that the login page ends at pasted."""

    async def ask(address):
        assert address.startswith(f"{server.base}/authorize?")
        return finish(address)

    monkeypatch.setattr(mcp_login, "_ask", ask)
    main(["mcp", "add", "closed", server.url])
    return main(["mcp", "login", "closed", *words])


def stored():
    return Logins(resolve_paths().home / FILE_NAME)


def test_login_stores_tokens_that_only_the_user_can_read(monkeypatch, capsys):
    with login_server() as server:
        assert log_in(server, monkeypatch) == 0, capsys.readouterr().err
        assert "closed can be used." in capsys.readouterr().out
        assert main(["mcp", "login", "closed", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"name": "closed", "logged_in": True}
        file = resolve_paths().home / FILE_NAME
        assert file.stat().st_mode & 0o777 == 0o600
        secrets = find_known_secrets(resolve_paths(), {})
        assert {server.token, server.refresh_token} <= set(secrets)
        assert main(["mcp", "call", "closed", "open"]) == 0
        assert main(["mcp", "call", "closed", "open", "--json"]) == 0
        shown = capsys.readouterr().out
        assert shown.count("[hidden key]") == 2 and server.token not in shown, (
            "the server sends its token"
        )


async def test_stored_login_is_used_and_refreshed_after_it_has_expired(root, context):
    with login_server() as server:
        page = {
            "issuer": server.base,
            "authorization_endpoint": f"{server.base}/authorize",
            "token_endpoint": f"{server.base}/token",
        }
        logins = Logins(root.parent / "accepted" / "mcp_logins.json")
        old = {"access_token": "old-token", "refresh_token": server.refresh_token,
               "token_type": "Bearer"}  # fmt: skip
        client = {"client_id": "client-1", "redirect_uris": ["http://localhost:8765/callback"],
                  "token_endpoint_auth_method": "none"}  # fmt: skip
        logins.save(Login(server.url, old, expires_at=1.0, client=client, page=page))
        entry = {"type": "http", "url": server.url}
        async with started(root, {"closed": entry}) as servers:
            tool = servers.current().get("mcp__closed__open")
            assert tool is not None, servers.find_problems()
            assert await answer(tool, context) == server.token
        assert server.grants == ["refresh_token"] and not server.refused
        assert logins.find(server.url).tokens["access_token"] == server.token


async def test_login_that_another_process_refreshed_is_read_again(root, context, monkeypatch):
    with login_server() as server:
        server.token = "first-token"
        logins = Logins(root.parent / "accepted" / "mcp_logins.json")
        client = {"client_id": "client-1", "redirect_uris": ["http://localhost:8765/callback"]}
        tokens = {"access_token": server.token, "refresh_token": "used-once"}
        login = Login(server.url, tokens, expires_at=time.time() + 3600, client=client)
        logins.save(login)
        async with started(root, {"closed": {"type": "http", "url": server.url}}) as servers:
            server.token = "token-of-another-process"
            tokens = {"access_token": server.token, "refresh_token": server.refresh_token}
            logins.save(replace(login, tokens=tokens, expires_at=time.time() + 9000))
            monkeypatch.setattr(oauth2, "time", InTwoHours())
            assert await answer(servers.current().get("mcp__closed__open"), context) == server.token
        assert not server.grants, "the refresh token of the first login is no longer valid"


class InTwoHours:
    """The clock of the library after the first token has expired."""

    def time(self):
        return time.time() + 7200


def test_logins_that_are_saved_at_the_same_time_are_all_stored(tmp_path):
    urls = [f"https://example.org/{number}" for number in range(20)]
    ready = threading.Barrier(len(urls))

    def save(url):
        ready.wait()
        Logins(tmp_path / FILE_NAME).save(Login(url))

    with ThreadPoolExecutor(len(urls)) as pool:
        list(pool.map(save, urls))
    assert all(Logins(tmp_path / FILE_NAME).find(url) for url in urls)


def test_login_of_a_removed_server_is_deleted_unless_another_one_uses_it(capsys):
    stored().save(Login("https://example.org/mcp", {"access_token": "a"}))
    for name in ("one", "two"):
        assert main(["mcp", "add", name, "https://example.org/mcp"]) == 0
    assert main(["mcp", "remove", "one"]) == 0
    assert list(stored().iter_secrets()) == ["a"]
    assert main(["mcp", "remove", "two"]) == 0
    assert "and its login." in capsys.readouterr().out
    assert not list(stored().iter_secrets())


async def test_server_without_a_login_needs_one_and_is_not_tried_again(root):
    with login_server() as server:
        entry = {"type": "http", "url": server.url}
        async with started(root, {"closed": entry}, pauses=(0.01,)) as servers:
            assert servers.servers[0].state is ServerState.NEEDS_LOGIN, servers.servers[0].reason
            [problem] = servers.find_problems()
            assert "`yourtool mcp login closed` does it" in problem
        assert server.refused == 2 and not server.grants, "the requests of one connection"


def build_key():
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return key.public_key(), text


def build_entry(server, **oauth):
    about = {"clientId": "ci", "issuer": server.base, **oauth}
    return {"type": "http", "url": server.url, "oauth": about}


async def test_secret_of_the_settings_logs_in_without_a_user(root, context):
    with login_server() as server:
        entry = build_entry(server, clientSecret="${DOCS_SECRET}")
        environ = {"DOCS_SECRET": "s3cret"}
        async with started(root, {"closed": entry}, environ=environ) as servers:
            tool = servers.current().get("mcp__closed__open")
            assert tool is not None, servers.find_problems()
            assert await answer(tool, context) == server.token
            assert "s3cret" not in servers.servers[0].settings.definition
        [(basic, assertion)] = server.credentials
        assert b64decode(basic.removeprefix("Basic ")) == b"ci:s3cret" and not assertion
        assert not (root.parent / "accepted" / "mcp_logins.json").exists(), "tokens are not stored"


async def test_private_key_of_the_settings_logs_in_without_a_user(root):
    public, pem = build_key()
    with login_server() as server:
        entry = build_entry(server, privateKey="${DOCS_KEY}")
        async with started(root, {"closed": entry}, environ={"DOCS_KEY": pem}) as servers:
            assert servers.servers[0].state is ServerState.CONNECTED, servers.servers[0].reason
        [(basic, assertion)] = server.credentials
        claims = jwt.decode(assertion, public, algorithms=["EdDSA"], audience=server.base)
        assert claims["sub"] == claims["iss"] == "ci" and not basic


async def test_credentials_are_not_sent_to_another_login_page(root):
    with login_server() as server:
        entry = build_entry(server, clientSecret="${DOCS_SECRET}")
        entry["oauth"]["issuer"] = "https://login.example.org"
        environ = {"DOCS_SECRET": "s3cret"}
        async with started(root, {"closed": entry}, environ=environ) as servers:
            [found] = servers.servers
            assert found.state is ServerState.FAILED, "`mcp login` could not help"
            assert found.reason.startswith("refused the login of `oauth` (needs a login: ")
        assert not server.credentials and not server.grants


def build_identity(server):
    return build_entry(
        server,
        clientSecret="${DOCS_SECRET}",
        identityToken="${ID_TOKEN}",
        identityEndpoint=f"{server.base}/token",
        identityClientId="ci-idp",
    )


async def test_token_of_an_identity_provider_logs_in_without_a_user(root):
    with login_server() as server:
        environ = {"DOCS_SECRET": "s3cret", "ID_TOKEN": "id-token-1"}
        async with started(root, {"closed": build_identity(server)}, environ=environ) as servers:
            [found] = servers.servers
            assert found.state is ServerState.CONNECTED, found.reason
            assert "id-token-1" not in found.settings.definition
        [exchange] = server.exchanges
        assert (exchange["audience"], exchange["resource"]) == (server.base, server.url)
        assert exchange["client_id"] == "ci-idp" and "s3cret" not in exchange.values()
        [(basic, assertion)] = server.credentials
        assert b64decode(basic.removeprefix("Basic ")) == b"ci:s3cret" and assertion == "grant-1"


async def test_identity_provider_that_gives_no_grant_is_the_reason(root):
    with login_server() as server:
        environ = {"DOCS_SECRET": "s3cret", "ID_TOKEN": "expired"}
        async with started(root, {"closed": build_identity(server)}, environ=environ) as servers:
            assert "gives no grant: it answered 400" in servers.servers[0].reason
        assert not server.credentials, "the secret is not sent"


async def test_text_that_is_no_key_is_a_reason(root):
    with login_server() as server:
        entry = build_entry(server, privateKey="${DOCS_KEY}")
        async with started(root, {"closed": entry}, environ={"DOCS_KEY": "none"}) as servers:
            assert "`oauth.privateKey` is no private key" in servers.servers[0].reason
        assert not server.credentials


def test_command_for_a_server_with_credentials_is_refused(capsys):
    with login_server() as server:
        main(["mcp", "add", "closed", server.url])
        file = resolve_paths().home / "mcp.json"
        document = json.loads(file.read_text())
        document["mcpServers"]["closed"] = build_entry(server, clientSecret="${DOCS_SECRET}")
        file.write_text(json.dumps(document))
        assert main(["mcp", "login", "closed"]) == 2
        assert "it uses `oauth` of its settings" in capsys.readouterr().err


def test_command_without_a_user_ends_with_4(monkeypatch, capsys, tmp_path):
    with login_server() as server, (tmp_path / "empty").open("w+") as empty:
        monkeypatch.setattr("sys.stdin", empty)
        main(["mcp", "add", "closed", server.url])
        assert main(["mcp", "login", "closed"]) == 4
        assert "needs a login, and no user is here" in capsys.readouterr().err
        assert main(["mcp", "call", "closed", "open"]) == 4
        assert "needs a login" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pasted", "problem"),
    [
        ("", "not the address where the login ended"),
        ("the-code", "copy all of it"),
        ("http://localhost:8765/callback?code=a", "has `code=` and `state=`"),
        ("http://localhost:8765/callback?error=access_denied", "refused the login: access_denied"),
    ],
)
def test_text_that_is_no_end_of_a_login_is_refused(pasted, problem):
    with pytest.raises(UsageError, match=problem):
        parse_answer(pasted)


def test_file_that_others_can_read_is_not_used(tmp_path):
    logins = Logins(tmp_path / FILE_NAME)
    logins.save(Login("https://example.org/mcp", {"access_token": "a"}))
    assert list(logins.iter_secrets()) == ["a"]
    (tmp_path / FILE_NAME).chmod(0o644)
    assert logins.find("https://example.org/mcp") is None
