"""A server that sends random messages before each of its answers: `fuzz_server.py SEED COUNT`.

Some calls are never answered, some twice, and some with an error.
"""

import json
import random
import sys

CHANCE, COUNT = random.Random(sys.argv[1]), int(sys.argv[2])
TOOL = {"name": "act", "description": "Acts.", "inputSchema": {"type": "object"}}
METHODS = (
    "notifications/message", "notifications/progress", "notifications/tools/list_changed",
    "notifications/cancelled", "notifications/resources/updated", "elicitation/create",
    "sampling/createMessage", "roots/list", "ping", "tools/call", "", "frob",
)  # fmt: skip
VALUES = (
    None, True, 0, -1, 2**70, 0.5, "", "x", "\x1b]52;c;aGk=\x07", "a" * 3_000, [], {}, [[]],
    {"type": "text", "text": "t"}, [{"type": "text", "text": "t"}], "info", "act",
)  # fmt: skip
FIELDS = (
    "content", "tools", "level", "data", "progressToken", "progress", "requestId", "message",
    "requestedSchema", "isError", "structuredContent", "uri", "messages", "maxTokens", "name",
)  # fmt: skip
LINES = ("", "{", "[]", "null", "text", "[" * 500, '{"jsonrpc": "2.0"}', "\x1b[2J", "\ufffe")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def invent():
    return {name: CHANCE.choice(VALUES) for name in CHANCE.sample(FIELDS, 3)}


def disturb(number):
    """Send one message without a request."""
    kind = CHANCE.random()
    if kind < 0.02:
        sys.stdout.write(CHANCE.choice(LINES) + "\n")
    elif kind < 0.04:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        send({"id": f"e{CHANCE.randrange(2**31)}", "method": "elicitation/create",
              "params": {"message": "What?", "requestedSchema": form}})  # fmt: skip
    elif kind < 0.3:
        send({"id": CHANCE.randrange(2**40, 2**41), "result": invent()})
    elif kind < 0.4:
        send({"id": CHANCE.choice((None, "x", 2**50, number or 0)), "error": invent()})
    elif kind < 0.7:
        send({"method": CHANCE.choice(METHODS), "params": invent()})
    else:
        send({"id": f"q{CHANCE.randrange(2**31)}", "method": CHANCE.choice(METHODS),
              "params": invent()})  # fmt: skip


for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None or method is None:
        continue
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        about = {"name": "fuzz", "version": "1"}
        send({"id": number, "result": {"protocolVersion": version, "capabilities": {"tools": {}},
                                       "serverInfo": about}})  # fmt: skip
    elif method == "tools/list":
        send({"id": number, "result": {"tools": [TOOL]}})
    elif method == "tools/call":
        for _ in range(COUNT):
            disturb(number)
        outcome = CHANCE.random()
        if outcome < 0.6:
            send({"id": number, "result": {"content": [{"type": "text", "text": "done"}]}})
        elif outcome < 0.8:
            send({"id": number, "result": invent()})
        elif outcome < 0.95:
            send({"id": number, "error": {"code": -32000, "message": "failed"}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "unknown"}})
    sys.stdout.flush()
