"""An MCP server with HTTP whose answers to calls break a rule, in a thread of the test."""

import gzip
import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_JSON, _EVENTS = "application/json", "text/event-stream"


def _result(number, text):
    content = [{"type": "text", "text": text}]
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": content}}).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(405, b"")

    def do_DELETE(self):
        self.reply(405, b"")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = message.get("id")
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                about = {"name": "pages", "version": "1"}
                self.answer(number, {"protocolVersion": version, "capabilities": {"tools": {}},
                                     "serverInfo": about})  # fmt: skip
            case "tools/list":
                tool = {"name": "act", "inputSchema": {"type": "object"}}
                self.answer(number, {"tools": [tool]})
            case "tools/call":
                with suppress(OSError):
                    self.misbehave(number, self.server.kind)
            case _ if number is None:
                self.reply(202, b"")
            case _:
                error = {"code": -32601, "message": "unknown"}
                body = json.dumps({"jsonrpc": "2.0", "id": number, "error": error})
                self.reply(200, body.encode())

    def misbehave(self, number, kind):
        wide = b'{"jsonrpc":"2.0","id":1,"result":[' + b"[]," * 2_000_000 + b"1]}"
        match kind:
            case "compressed":
                self.reply(200, gzip.compress(_result(number, "small")), encoding="gzip")
            case "bomb":
                self.reply(200, gzip.compress(_result(number, "x" * 2**27), 1), encoding="gzip")
            case "other encoding":
                self.reply(200, _result(number, "x"), encoding="br")
            case "wide":
                self.reply(200, wide)
            case "huge":
                self.reply(200, _result(number, "x" * 10 * 2**20))
            case "wide event":
                self.reply(200, b"data: " + wide[:900_000] + b"1]}\n\n", kind=_EVENTS)
            case "endless line" | "endless event":
                piece = b"x" * 65_000 + b"\ndata: " * (kind == "endless event")
                self.stream([b"data: ", *[piece] * 2_000])
            case "slow":
                self.stream(b"data: x", pause=0.05)
            case "elsewhere":
                self.reply(307, b"", location=self.server.elsewhere)

    def stream(self, pieces, pause=0.0):
        self.send_response(200)
        self.send_header("Content-Type", _EVENTS)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for each in pieces:
            data = bytes([each]) if isinstance(each, int) else each
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.server.closing.wait(pause)
        while pause and not self.server.closing.wait(pause):
            self.wfile.write(b"1\r\n:\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def answer(self, number, result):
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode())

    def reply(self, status, body, kind=_JSON, encoding="", location=""):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def hostile_pages(kind, context=None):
    """Yield the address of a server; `context`: encrypts its connections."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.kind, server.closing = True, kind, threading.Event()
    server.elsewhere = "http://127.0.0.1:9/mcp"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' * (context is not None)}://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
