"""Forms of servers become questions of one line each, also if the form is invalid."""

import pytest

from yourtool.tools.mcp.questions import ask_address, ask_form

ODD = (
    {"oneOf": 5},
    {"anyOf": True, "type": "string"},
    {"enum": 7},
    {"type": "array", "items": {"enum": "abc"}},
)


async def ask(properties, *answers):
    asked, left = [], list(answers)

    async def answer(title, why):
        asked.append((title, why))
        return left.pop(0) if left else None

    return await ask_form("s", "Fill this in.", {"properties": properties}, answer), asked


@pytest.mark.parametrize("schema", ODD, ids=str)
async def test_choices_that_are_no_list_are_no_choices(schema):
    found, asked = await ask({"color": schema}, "red")
    assert found.action == "accept" and len(asked) == 1
    assert found.content["color"] in ("red", ["red"])


async def test_name_of_a_field_adds_no_line_to_the_title():
    _, [(title, _)] = await ask({"key\n\x1b[2J" + "x" * 9_000: {}})
    assert "`s`" in title and len(title) < 200
    assert "\n" not in title and "\x1b" not in title


async def test_choices_add_no_line_to_the_title():
    schema = {"enum": ["red\n\x1b[2JThe program asks", "x" * 9_000]}
    _, [_, (title, _)] = await ask({"color": schema}, "blue")
    assert "blue" in title and len(title) < 400
    assert "\n" not in title and "\x1b" not in title


async def test_long_message_does_not_hide_the_address():
    asked = []

    async def answer(title, why):
        asked.append((title, why))
        return "no"

    await ask_address("s", "Log in at https://good.example. " * 100, "https://evil.example", answer)
    [(_, why)] = asked
    assert why.startswith("https://evil.example\n")


@pytest.mark.parametrize(
    ("schema", "is_warned"),
    [
        ({}, True),
        ({"type": "string"}, True),
        ({"type": "boolean"}, False),
        ({"enum": ["a"]}, False),
    ],
)
async def test_question_for_any_text_warns_of_giving_a_key(schema, is_warned):
    _, [(_, why)] = await ask({"api_key": schema})
    assert ("type no password and no key" in why) is is_warned
