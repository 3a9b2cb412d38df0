"""A call that a model writes as text does not run, and the model gets one note."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import Checked, User, names, play
from yourtool.agent.turn.calls_in_text import find_call
from yourtool.events.deltas import Notice
from yourtool.providers.scripted import Scripted, calls, says

TOOLS = {"read_file", "shell"}
ARGUMENTS = '{"path": "a.txt"}'
FORMS = [
    f'<tool_call>\n{{"name": "read_file", "arguments": {ARGUMENTS}}}\n</tool_call>',
    f'I will look.\n\n<tool_call>{{"name":"read_file","arguments":{ARGUMENTS}}}</tool_call>',
    f'```json\n{{"name": "read_file", "parameters": {ARGUMENTS}}}\n```',
    f'{{"tool": "read_file", "arguments": {ARGUMENTS}}}',
    f'{{"type": "function", "function": "read_file", "parameters": {ARGUMENTS}}}',
    f'[TOOL_CALLS][{{"name": "read_file", "arguments": {ARGUMENTS}}}]',
    "<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
    f'<|python_tag|>{{"name": "read_file", "parameters": {ARGUMENTS}}}',
    '<|python_tag|>read_file(path="a.txt")',
    '<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n</invoke>',
    f"<|channel|>commentary to=functions.read_file <|message|>{ARGUMENTS}",
    'read_file(path="a.txt")',
    'Let me see.\n\nread_file("a.txt")',
]
PROSE = [
    "The tool `read_file` takes a `path`.",
    "Call `read_file(path)` to read a file, and then go on.",
    'A call looks like <tool_call>{"name": "read_file"}</tool_call>, which the server parses.',
    'Use `{"name": "other_tool", "arguments": {}}`:\n\n{"name": "other_tool"}',
    "def main():\n    return read(a)",
    "I ran the tests (all green).",
    "",
]


@pytest.mark.parametrize("text", FORMS)
async def test_call_in_text_does_not_run_and_the_model_is_told_once(bench, text):
    (bench.workspace / "a.txt").write_text("A\n")
    user, adapter = User(), Checked(Scripted([says(text), says(text), says("never")]))
    session = await bench.session(adapter, confirm=user)
    events = await play(session.send("go"))
    assert len(adapter.requests) == 2 and "tool.called" not in names(events)
    assert "ends with a call of `read_file` as text" in adapter.requests[1].messages[-1].text
    shown = [each.text for each in events if isinstance(each, Notice)]
    assert [each.endswith("it was told.") for each in shown] == [True, False]
    await session.close()


@pytest.mark.parametrize("text", PROSE)
def test_prose_about_tools_is_no_call(text):
    assert find_call(text, TOOLS) is None


async def test_model_that_calls_tools_is_not_told(bench):
    (bench.workspace / "a.txt").write_text("A\n")
    script = [calls("read_file", path="a.txt"), says(FORMS[0]), says("never")]
    adapter = Checked(Scripted(script))
    session = await bench.session(adapter)
    await play(session.send("go"))
    assert len(adapter.requests) == 2
    await session.close()


@given(st.text())
def test_no_text_takes_long_or_names_a_tool_that_is_not_offered(text):
    assert find_call(text, set()) is None
    assert find_call(text * 50, TOOLS) in (None, *TOOLS)
