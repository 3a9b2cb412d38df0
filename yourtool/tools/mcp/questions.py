"""Questions of servers to the user.

The form is a flat JSON Schema (https://modelcontextprotocol.io/specification, elicitation). The
user's text becomes the value of the field, or the question is asked again with what is wrong.
"""

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from yourtool.foundation.text import printable
from yourtool.settings.tables import is_table
from yourtool.tools.base import AskText

_MAX_FIELDS, _MAX_ATTEMPTS = 20, 3
_MAX_TEXT = 2_000
_MAX_NAME = 80
_MAX_PROBLEM = 200
_WARNING = "The server gets the answer as it is: type no password and no key."
_CHECKED = ("boolean", "integer", "number")
"""Types whose texts have a form."""
_WORDS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


class Answer(Struct, frozen=True):
    """What the user answered."""

    action: str
    """`accept`, `decline` or `cancel`."""
    content: dict[str, Any] = {}


class _Field(Struct, frozen=True):
    """One text of the form."""

    name: str
    schema: dict[str, Any]
    is_required: bool

    @property
    def line(self) -> str:
        """Its name, cut, in one line."""
        return " ".join(printable(self.name).split())[:_MAX_NAME]

    @property
    def choices(self) -> dict[str, Any]:
        """The values that can be chosen, by what the user types; empty: any."""
        source = self.schema.get("items") if self.schema.get("type") == "array" else self.schema
        options = source if is_table(source) else {}
        named = {
            str(each.get("title") or each.get("const")): each.get("const")
            for each in _as_list(options.get("oneOf") or options.get("anyOf"))
            if is_table(each)
        }
        return named or {str(each): each for each in _as_list(options.get("enum"))}

    @property
    def is_free(self) -> bool:
        """Whether any text is an answer."""
        return self.schema.get("type") not in _CHECKED and not self.choices

    @property
    def about(self) -> str:
        """What the user needs to answer, in a line."""
        kind = str(self.schema.get("type", "string"))
        parts = [str(self.schema.get("description") or self.schema.get("title") or "")]
        parts.append("yes or no" if kind == "boolean" else "" if kind == "string" else kind)
        if choices := self.choices:
            several = "one or more, with commas, of" if kind == "array" else "one of"
            parts.append(f"{several}: {', '.join(choices)}")
        if "default" in self.schema:
            parts.append(f"empty: {self.schema['default']}")
        elif not self.is_required:
            parts.append("can be empty")
        return "; ".join(filter(None, parts))

    def parse(self, text: str) -> Any:
        """Return the value for a text that is not empty.

        Raises:
            ValueError: it is not of the field's type; the message names its type.
        """
        choices, text = self.choices, text.strip()
        match self.schema.get("type"):
            case "array":
                return [_choose(each.strip(), choices) for each in text.split(",")]
            case "boolean":
                if text.lower() not in _WORDS:
                    raise ValueError("type yes or no")
                return _WORDS[text.lower()]
            case "integer":
                return _parse_number(text, int, "a whole number")
            case "number":
                return _parse_number(text, float, "a number")
            case _:
                return _choose(text, choices) if choices else text


async def ask_form(server: str, message: str, schema: Any, ask: AskText) -> Answer:
    """Ask the user for each field of a form; without fields, for a yes."""
    content = dict[str, Any]()
    title, why = f"The MCP server `{printable(server)}` asks", printable(message)[:_MAX_TEXT]
    fields = list(_iter_fields(schema))
    if not fields:
        return await _ask_yes(title, why, ask)
    for field in fields[:_MAX_FIELDS]:
        problem = ""
        for _ in range(_MAX_ATTEMPTS):
            asked = f"{title} for {field.line}{problem}"
            parts = why, printable(field.about)[:_MAX_TEXT], _WARNING if field.is_free else ""
            text = await ask(asked, "\n".join(filter(None, parts)))
            if text is None:
                return Answer("decline")
            if not text.strip():
                if "default" in field.schema:
                    content[field.name] = field.schema["default"]
                elif field.is_required:
                    problem = ": it cannot be empty"
                    continue
                break
            try:
                content[field.name] = field.parse(text)
                break
            except ValueError as error:
                problem = f": {' '.join(printable(str(error)).split())[:_MAX_PROBLEM]}"
        else:
            return Answer("cancel")
    return Answer("accept", content)


async def ask_address(server: str, message: str, url: str, ask: AskText) -> Answer:
    """Ask the user to open an address; nothing is opened by the program."""
    title = f"The MCP server `{printable(server)}` asks you to open an address"
    shown = f"{printable(url)[:_MAX_TEXT]}\n{printable(message)[:_MAX_TEXT]}"
    return await _ask_yes(title, shown, ask)


async def _ask_yes(title: str, why: str, ask: AskText) -> Answer:
    text = await ask(f"{title}: yes or no?", why)
    if text is None:
        return Answer("decline")
    return Answer("accept" if _WORDS.get(text.strip().lower()) else "decline")


def _iter_fields(schema: Any) -> Iterator[_Field]:
    properties = schema.get("properties") if is_table(schema) else None
    required = schema.get("required") if is_table(schema) else ()
    names = cast("list[Any]", required) if isinstance(required, list) else []
    for name, each in properties.items() if is_table(properties) else ():
        yield _Field(name, each if is_table(each) else {}, name in names)


def _choose(text: str, choices: dict[str, Any]) -> Any:
    """Return the value that a text names, by its title or as it is.

    Raises:
        ValueError: it names no choice.
    """
    for title, value in choices.items():
        if text in (title, str(value)):
            return value
    if not choices:
        return text
    raise ValueError(f"`{text}` is not one of {', '.join(choices)}")


def _parse_number(text: str, kind: type[int] | type[float], name: str) -> int | float:
    try:
        found = kind(text)
    except ValueError as error:
        raise ValueError(f"type {name}") from error
    if found != found or found in (float("inf"), float("-inf")):
        raise ValueError(f"type {name}")
    return found


def _as_list(value: object) -> list[Any]:
    """Return a list of the schema, which the server may have replaced by anything."""
    return cast("list[Any]", value) if isinstance(value, list) else []
