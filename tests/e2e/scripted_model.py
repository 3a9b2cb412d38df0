"""A model that follows a script and reacts to what it reads, as a clumsy model does.

A script is a generator: it yields replies and gets the request that follows each one. So it
corrects a call only as far as an answer names what is wrong, takes a next step that an answer
names, and tries blindly otherwise. The fewer requests it makes, the better the program answers.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from tests.e2e.task_projects import Fault
from tests.provider_server import ANTHROPIC_PATH, Reply

MOST_ATTEMPTS = 6
"""Calls of one tool for one purpose."""

Arguments: TypeAlias = dict[str, Any]


class Result(Struct, frozen=True):
    """What the model reads about one call."""

    text: str
    is_error: bool


class Request(Struct, frozen=True):
    """What the model reads before a reply."""

    system: str
    tools: Mapping[str, Sequence[str]]
    """The names of the arguments of each tool."""
    results: tuple[Result, ...]
    """Of the calls in the last reply."""
    prompt: str
    """What the user has sent after them, if anything."""

    @property
    def text(self) -> str:
        """The text of the first result, and what follows the results."""
        return "\n".join((*(each.text for each in self.results[:1]), self.prompt))


Script: TypeAlias = Generator[Reply, Request, str]
"""Returns the last reply's text."""
Step: TypeAlias = Generator[Reply, Request, Request]
"""Returns the request after the last reply."""


class Habit(Struct, frozen=True):
    """A wrong form in which the model writes a call, until a text corrects it."""

    tool: str
    correction: str
    """A pattern; the model uses the right form once it has read a match in an answer."""
    spoil: Callable[[str, Arguments], tuple[str, Arguments]]


class Exchange(Struct, frozen=True):
    """One reply with what the model had read before, for a transcript."""

    request: Request
    reply: Reply


class ScriptedModel:
    """Answers the requests of a `ProviderServer`."""

    def __init__(
        self, script: Callable[["ScriptedModel"], Script], habits: Sequence[Habit] = ()
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.request = Request("", {}, (), "")
        """The latest one."""
        self.is_done = False
        """Whether it has nothing left to do."""
        self._habits = list(habits)
        self._script = script(self)
        self._next: Callable[[Request], Reply] = lambda _request: next(self._script)

    def answer(self, path: str, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request."""
        read = _read_messages if path == ANTHROPIC_PATH else _read_responses
        self.request = request = read(body)
        try:
            reply = self._next(request)
        except StopIteration as end:
            self.is_done, reply = True, Reply(end.value)
            self._script = _repeat_forever(end.value)
            next(self._script)
        self._next = self._script.send
        self.exchanges.append(Exchange(request, reply))
        return reply

    def use(self, tool: str, **arguments: Any) -> Step:
        """Call a tool by habit, and correct the call as far as the answers name what is wrong."""
        request = yield Reply(calls=[self._spell(tool, arguments)])
        for attempt in range(1, MOST_ATTEMPTS):
            if not request.results or not is_refused(request.results[0]):
                break
            learned = self._learn(tool, request.results[0].text)
            if not learned and not self._forget_one(tool, attempt):
                break
            request = yield Reply(calls=[self._spell(tool, arguments)])
        return request

    def edit(self, fault: Fault, old: str, new: str) -> Step:
        """Make an edit with these texts; if they fail, copy them from the answer or the file."""
        request = yield from self.use("edit_file", path=fault.path, edits=[as_edit(old, new)])
        if not is_refused(request.results[0]):
            return request
        if not shows(request.results[0].text, fault.old):
            yield from self.use("read_file", path=fault.path)
        edits = [as_edit(fault.old, fault.new)]
        return (yield from self.use("edit_file", path=fault.path, edits=edits))

    def _spell(self, tool: str, arguments: Arguments) -> tuple[str, Arguments]:
        name = tool
        for habit in self._habits:
            if habit.tool == tool:
                name, arguments = habit.spoil(name, arguments)
        return name, arguments

    def _learn(self, tool: str, text: str) -> bool:
        """Drop the habits that an answer corrects; return whether there are any."""
        learned = [
            each for each in self._habits if each.tool == tool and re.search(each.correction, text)
        ]
        self._habits = [each for each in self._habits if each not in learned]
        return bool(learned)

    def _forget_one(self, tool: str, attempt: int) -> bool:
        """Drop a habit without advice; the first time, only repeat the call."""
        own = [each for each in self._habits if each.tool == tool]
        if own and attempt > 1:
            self._habits.remove(own[0])
        return bool(own)


def is_refused(result: Result) -> bool:
    """Return whether a call did nothing; a command that fails has run."""
    return result.is_error and not re.search(r"\[(exit code|timed out)", result.text)


def as_edit(old: str, new: str) -> Arguments:
    """Return an item of `edits`."""
    return {"old": old, "new": new}


def shows(text: str, wanted: str) -> bool:
    """Return whether numbered lines in an answer include all lines of a text."""
    shown = re.findall(r"^ *\d+\t(.*)$", text, re.MULTILINE)
    return all(line in shown for line in wanted.splitlines())


def _repeat_forever(text: str) -> Script:
    while True:
        yield Reply(text)


def _read_messages(body: Mapping[str, Any]) -> Request:
    """Return what a request of the Messages API has for the model."""
    last = body["messages"][-1]["content"]
    blocks = [{"type": "text", "text": last}] if isinstance(last, str) else last
    results = (each for each in blocks if each["type"] == "tool_result")
    return Request(
        "\n".join(each["text"] for each in body["system"]),
        {each["name"]: tuple(each["input_schema"]["properties"]) for each in body["tools"]},
        tuple(Result(_join(each["content"]), each.get("is_error", False)) for each in results),
        _join([each for each in blocks if each["type"] == "text"]),
    )


def _read_responses(body: Mapping[str, Any]) -> Request:
    """Return what a request of the Responses API has for the model."""
    items = body["input"]
    start = max(
        (at for at, each in enumerate(items, 1) if each.get("type", "").endswith("_call")),
        default=0,
    )
    outputs = [_join(each["output"]) for each in items[start:] if "output" in each]
    system = [each for each in items if each.get("role") in ("system", "developer")]
    users = [each for each in items[start:] if each.get("role") == "user"]
    return Request(
        "\n".join((body.get("instructions") or "", *(_join(each["content"]) for each in system))),
        {
            each["name"]: tuple(each.get("parameters", {}).get("properties", ()))
            for each in body["tools"]
        },
        tuple(Result(text, text.startswith("Error: ")) for text in outputs),
        "\n".join(_join(each["content"]) for each in users),
    )


def _join(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each["text"] for each in content if "text" in each)


def rename_tool(tool: str, wrong: str) -> Habit:
    """Return the habit to call a tool by the name that it has elsewhere."""
    return Habit(tool, f"`{tool}`", lambda name, arguments: (wrong, arguments))


def rename_argument(tool: str, right: str, wrong: str) -> Habit:
    """Return the habit to use another name for an argument."""

    def spoil(name: str, arguments: Arguments) -> tuple[str, Arguments]:
        return name, {wrong if key == right else key: each for key, each in arguments.items()}

    return Habit(tool, rf'[`"]{right}[`"]', spoil)


def rename_in_edits(old: str, new: str) -> Habit:
    """Return the habit to use these names in the items of `edits`."""

    def spoil(name: str, arguments: Arguments) -> tuple[str, Arguments]:
        edits = [{old: each["old"], new: each["new"]} for each in arguments["edits"]]
        return name, {**arguments, "edits": edits}

    return Habit("edit_file", r'[`"]old[`"]', spoil)


def flatten_edits() -> Habit:
    """Return the habit to write the only edit without a list."""

    def spoil(name: str, arguments: Arguments) -> tuple[str, Arguments]:
        rest = {key: each for key, each in arguments.items() if key != "edits"}
        [edit] = arguments["edits"]
        return name, {**rest, **edit}

    return Habit("edit_file", r'[`"]edits[`"]', spoil)


def respell(tool: str, **values: Any) -> Habit:
    """Return the habit to give arguments in these wrong forms, until all are named as wrong.

    A function takes the right value, anything else replaces it.
    """

    def spoil(name: str, arguments: Arguments) -> tuple[str, Arguments]:
        wrong = {
            key: each(arguments[key]) if callable(each) else each for key, each in values.items()
        }
        return name, {**arguments, **wrong}

    return Habit(tool, "|".join(rf"\$\.{key}\b" for key in values), spoil)


def as_json(value: Any) -> str:
    """Return a value as JSON text in place of JSON."""
    return json.dumps(value, ensure_ascii=False)
