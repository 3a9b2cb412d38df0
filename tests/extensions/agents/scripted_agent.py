"""An agent that follows a script: raw lines of JSON, so that it can break every rule.

Its arguments: a JSON file with a list of steps for each prompt, and a file that gets every message
that it received. After its last prompt it repeats the text of each further one.
"""

import json
import os
import sys
import time
from pathlib import Path

SESSIONS = iter(f"session-{number}" for number in range(1, 100))
ALL = ("allow_once", "allow_always", "reject_once", "reject_always")
ids = iter(range(1_000, 10_000))
prompts = iter(json.loads(Path(sys.argv[1]).read_text()))
log = Path(sys.argv[2])
session = ""


def write(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}))


def receive():
    if not (line := sys.stdin.readline()):
        sys.exit(0)
    with log.open("a") as file:
        file.write(line)
    return json.loads(line)


def update(name, /, **fields):
    about = {"sessionId": session, "update": {"sessionUpdate": name, **fields}}
    send(method="session/update", params=about)


def ask(method, **params):
    """Return the answer to a request; None if the prompt is cancelled before."""
    key = next(ids)
    send(id=key, method=method, params={"sessionId": session, **params})
    while True:
        message = receive()
        if message.get("id") == key:
            return message
        if message.get("method") == "session/cancel":
            return None


def request_permission(call, kinds=ALL):
    options = [{"optionId": each, "name": each, "kind": each} for each in kinds]
    answer = ask("session/request_permission", toolCall=call, options=options)
    if answer is None:
        return "cancelled"
    outcome = answer["result"]["outcome"]
    return outcome.get("optionId", outcome["outcome"])


def wait_for_cancel():
    while receive().get("method") != "session/cancel":
        pass


def step(each, text):
    """Do one step; return the reason if the prompt ends with it."""
    match each:
        case {"say": words}:
            update("agent_message_chunk", content={"type": "text", "text": words})
        case {"echo": True}:
            update("agent_message_chunk", content={"type": "text", "text": text})
        case {"think": words}:
            update("agent_thought_chunk", content={"type": "text", "text": words})
        case {"tell": call, **fields}:
            update(fields.get("as", "tool_call"), **call)
        case {"ask": call, **then}:
            answer = request_permission(call, then.get("options", ALL))
            if answer == "cancelled":
                return "cancelled"
            return run(then.get(answer, []), text)
        case {"write": [path, content]}:
            Path(path).write_text(content)
        case {"fs": method, **params}:
            answer = ask(f"fs/{method}", **params) or {}
            words = json.dumps(answer.get("result", answer.get("error")))
            update("agent_message_chunk", content={"type": "text", "text": words})
        case {"method": method, **params}:
            ask(method, **params)
        case {"print": garbage, **fields}:
            for _ in range(fields.get("times", 1)):
                write(garbage)
        case {"flood": size}:
            update("agent_message_chunk", content={"type": "text", "text": "x" * size})
        case {"die": code}:
            sys.stderr.write("about to fail\n")
            sys.stderr.flush()
            os._exit(code)
        case {"sleep": seconds}:
            time.sleep(seconds)
        case {"cancelled": what}:
            wait_for_cancel()
            return run(what, text) or "cancelled"
        case {"stop": reason}:
            return reason
        case {"fail": message}:
            raise RuntimeError(message)
    return None


def run(steps, text):
    for each in steps:
        if (reason := step(each, text)) is not None:
            return reason
    return None


def main():
    global session
    while True:
        message = receive()
        key, params = message.get("id"), message.get("params", {})
        match message.get("method"):
            case "initialize":
                send(id=key, result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                session = next(SESSIONS)
                send(id=key, result={"sessionId": session})
            case "session/prompt":
                text = params["prompt"][0]["text"]
                try:
                    reason = run(next(prompts, [{"echo": True}]), text)
                except RuntimeError as error:
                    send(id=key, error={"code": -32603, "message": str(error)})
                else:
                    usage = {"totalTokens": 12, "inputTokens": 7, "outputTokens": 5}
                    send(id=key, result={"stopReason": reason or "end_turn", "usage": usage})
            case _:
                pass


main()
