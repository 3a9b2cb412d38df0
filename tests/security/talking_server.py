"""An MCP server with a text in every field that it can send; no SDK, only JSON lines.

Its argument is the file with the text.
"""

import json
import sys
from pathlib import Path

TEXT = Path(sys.argv[1]).read_text()
FORM = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "title": TEXT, "description": TEXT, "enum": ["a", TEXT]}
    },
}
SCHEMA = {"type": "object", "properties": {TEXT: {"type": "string", "description": TEXT}}}
TOOLS = [
    {"name": "act", "title": TEXT, "description": TEXT, "inputSchema": SCHEMA},
    {"name": TEXT, "description": TEXT, "inputSchema": SCHEMA},
]
PROMPT = {"name": "tide", "title": TEXT, "description": TEXT, "arguments": [{"name": TEXT}]}
RESOURCE = {"name": TEXT, "uri": f"tide://{TEXT}", "description": TEXT, "mimeType": TEXT}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    return json.loads(sys.stdin.readline() or "{}")


def call(number, name):
    """Ask the user, and answer a call with the text as its result or its error."""
    asked = {"message": TEXT, "requestedSchema": FORM}
    send(id="question", method="elicitation/create", params=asked)
    while receive().get("id") not in ("question", None):
        pass
    result = {"content": [{"type": "text", "text": f"did {name} {TEXT}"}], "isError": True}
    send(id=number, result=result)


def main():
    while message := receive():
        number = message.get("id")
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                offers = {"tools": {}, "prompts": {}, "resources": {}}
                about = {"name": TEXT, "title": TEXT, "version": TEXT}
                result = {"protocolVersion": version, "capabilities": offers, "serverInfo": about}
                send(id=number, result={**result, "instructions": TEXT})
            case "tools/list":
                send(id=number, result={"tools": TOOLS})
            case "prompts/list":
                send(id=number, result={"prompts": [PROMPT]})
            case "resources/list":
                send(id=number, result={"resources": [RESOURCE]})
            case "tools/call":
                call(number, message["params"]["name"])
            case _ if number is not None:
                send(id=number, error={"code": -32601, "message": TEXT})


if __name__ == "__main__":
    main()
