"""The invented requests and replies of every API."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.cassettes.script import Call, Failure, Item, Refusal, Reply, Text, Thinking, Usage

ANSWER = "The ferry leaves at 15:30 🚢, eighty minutes after high water; the café opens at 9."
THOUGHT = "The notes should have the time. I need the file, and I should check its name first."
LONG_THOUGHT = "High water is at 14:10.\n\nThe ferry needs 80 minutes more → 15:30."
REFUSED = "I can’t help with sinking a ferry."
BROKEN = '{"path": "notes/ti'
STREAM_ONLY = ("unfinished-call", "stream-error", "contradiction")
"""Replies that only a stream can have."""


def usual(
    harbour: str, calls: Sequence[Call], thinking: Sequence[Item], closing: Sequence[Item] = ()
) -> Iterator[Reply]:
    """Yield the replies that every API can have, unstreamed and streamed.

    `harbour`: a name that makes the texts of one API different from those of the others. `calls`:
    two calls with the ids of this API, the second without arguments. `thinking`: reasoning blocks
    in the form of this API; `closing`: those of the reply after the calls.
    """
    reasoned = Usage(fresh=60, output=45, reasoning=30 if thinking else 0)
    yield Reply("text", (Text(ANSWER),))
    yield Reply("empty", (), usage=Usage(output=0))
    yield Reply("thinking", (*thinking, Text(f"{harbour} has one ferry a day.")), usage=reasoned)
    call = Reply("call", (*thinking, calls[0]), "tool_use", reasoned)
    yield call
    parallel = Reply(
        "parallel-calls",
        (*thinking, Text("Both at once."), *calls),
        "tool_use",
        Usage(fresh=40, output=70, cached=1024, reasoning=20 if thinking else 0),
    )
    yield parallel
    yield Reply(
        "after-calls",
        (*closing, Text(f"The note of {harbour} says 15:30.")),
        usage=Usage(fresh=18, output=25, cached=1024),
        answers=parallel,
    )
    after = Text(f"I read it: 15:30 from {harbour}.")
    yield Reply("after-call", (after,), usage=Usage(fresh=9, output=25), answers=call)
    yield Reply("token-limit", (Text("The ferry leaves at"),), "max_tokens", Usage(output=5))


def cut_calls(call: Call) -> Iterator[Reply]:
    """Yield the replies in which the arguments of a call, as text, are cut."""
    broken = replace(call, input={}, raw=BROKEN)
    yield Reply("token-limit-in-call", (Text("I read it."), broken), "max_tokens")
    unfinished = replace(call, input={}, raw='{"path": "notes/tide.txt"}', is_open=True)
    yield Reply("unfinished-call", (Text("I read it."), unfinished), "tool_use")


def refusal() -> Reply:
    return Reply("refusal", (Refusal(REFUSED),), "refusal")


def stream_error(failure: Failure) -> Reply:
    return Reply("stream-error", (Text("The ferry leaves"),), failure=failure)


def thought(signature: str | None = None) -> Thinking:
    return Thinking(THOUGHT, signature)
