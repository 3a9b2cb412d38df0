"""An MCP server with HTTP that needs a login, and its login page, in a thread of the test."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        base, named = self.server.base, self.server.named
        if "oauth-protected-resource" in self.path and "redirect" in named:
            self.reply(307, {}, ("Location", named["redirect"]))
        elif "oauth-protected-resource" in self.path and "no resource" not in named:
            pages = [named.get("resource", base)]
            self.reply(200, {"resource": f"{base}/mcp", "authorization_servers": pages})
        elif "oauth-authorization-server" in self.path:
            self.reply(
                200,
                {
                    "issuer": named.get("issuer", base),
                    "authorization_endpoint": f"{base}/authorize",
                    "token_endpoint": named.get("token", f"{base}/token"),
                    "registration_endpoint": named.get("page", f"{base}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                },
            )
        else:
            self.reply(405, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match urlsplit(self.path).path:
            case "/register":
                self.reply(201, {**json.loads(body), "client_id": "client-1"})
            case "/token":
                self.give_token(parse_qs(body.decode()))
            case _ if self.headers.get("Authorization") != f"Bearer {self.server.token}":
                self.server.refused += 1
                self.reply(401, {}, ("WWW-Authenticate", self.challenge))
            case _:
                self.answer(json.loads(body))

    @property
    def challenge(self):
        about = self.server.named.get("challenge")
        return f'Bearer resource_metadata="{about}"' if about else "Bearer"

    def give_token(self, fields):
        grant = fields["grant_type"][0]
        self.server.grants.append(grant)
        if grant == "client_credentials":
            self.server.credentials.append(
                (self.headers.get("Authorization", ""), fields.get("client_assertion", [""])[0])
            )
            self.send_token()
            return
        if grant.endswith("token-exchange"):
            self.server.exchanges.append({name: values[0] for name, values in fields.items()})
            is_known = fields["subject_token"] == ["id-token-1"]
            self.reply(
                *((200, {"access_token": "grant-1"}) if is_known else (400, {"error": "no"}))
            )
            return
        if grant.endswith("jwt-bearer"):
            self.server.credentials.append(
                (self.headers.get("Authorization", ""), fields["assertion"][0])
            )
            self.send_token()
            return
        expected = ("code", "the-code") if grant == "authorization_code" else (
            "refresh_token", self.server.refresh_token)  # fmt: skip
        if fields[expected[0]] != [expected[1]]:
            self.reply(400, {"error": "invalid_grant"})
            return
        self.send_token()

    def send_token(self):
        self.server.token = f"access-token-{len(self.server.grants):08}"
        self.reply(
            200,
            {
                "access_token": self.server.token,
                "token_type": "Bearer",
                "expires_in": self.server.lasts,
                "refresh_token": self.server.refresh_token,
            },
        )

    def answer(self, message):
        number, method = message.get("id"), message["method"]
        if number is None:
            self.reply(202, None)
            return
        result = {
            "initialize": lambda: {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "closed", "version": "1"},
            },
            "tools/list": lambda: {"tools": [{"name": "open", "inputSchema": {"type": "object"}}]},
            "tools/call": lambda: {"content": [{"type": "text", "text": self.server.token}]},
        }.get(method)
        answered = (
            {"result": result()} if result else {"error": {"code": -32601, "message": "unknown"}}
        )
        self.reply(200, {"jsonrpc": "2.0", "id": number, **answered})

    def reply(self, status, content, *headers):
        data = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        for header in (("Content-Type", "application/json"), ("Content-Length", str(len(data)))):
            self.send_header(*header)
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def login_server(lasts=3600):
    """Yield a server whose tokens last so many seconds."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.base = f"http://127.0.0.1:{server.server_port}"
    server.url, server.lasts, server.grants, server.refused = f"{server.base}/mcp", lasts, [], 0
    server.credentials, server.exchanges = [], []
    server.named = {}
    """Addresses that a hostile server names, by the place where it does."""
    server.token, server.refresh_token = "no-token-yet", "refresh-token-00000001"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def finish(address):
    """Return where the login page sends the browser in the end."""
    query = parse_qs(urlsplit(address).query)
    return f"{query['redirect_uri'][0]}?code=the-code&state={query['state'][0]}"
