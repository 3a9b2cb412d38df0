"""Texts about messages: the summary that the program writes, and what a model summarises."""

import pytest

from tests.strategies import Writer
from yourtool.agent.history.summary_texts import render_conversation, write_summary
from yourtool.ids import new_tool_use_id
from yourtool.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from yourtool.messages.message import Role

pytestmark = pytest.mark.req("R-CTX-03")


def talk(*turns):
    """Return the messages of turns: a prompt, calls with their arguments, and a reply."""
    writer, messages = Writer(), []
    for prompt, called, reply in turns:
        messages.append(writer.message(Role.USER, [TextBlock(prompt)]))
        for name, arguments in called:
            call = ToolUseBlock(new_tool_use_id(), name, arguments)
            result = ToolResultBlock(call.id, (TextBlock("a long output"),))
            messages.append(writer.message(Role.ASSISTANT, [TextBlock("I look."), call]))
            messages.append(writer.message(Role.TOOL, [result]))
        messages.append(writer.message(Role.ASSISTANT, [TextBlock(reply)]))
    return messages


FIRST = (
    "Fix the parser.\nIt fails.",
    [
        ("read_file", {"path": "a.py"}),
        ("shell", {"command": "make test\nmake lint"}),
        ("read_file", {"path": "a.py"}),
        ("edit_file", {"path": "a.py", "old": "x", "new": "y"}),
    ],
    "It is fixed.\nAll tests pass.",
)


def test_summary_has_first_lines_files_and_commands_of_each_turn():
    messages = talk(FIRST, ("Thanks", [], "You are welcome."))
    assert write_summary(messages, 3_000).splitlines() == [
        "- User: Fix the parser.…",
        "  Files: a.py (read_file); a.py (edit_file)",
        "  Commands: make test…",
        "  Reply: It is fixed.…",
        "- User: Thanks",
        "  Reply: You are welcome.",
    ]


def test_summary_that_is_too_long_omits_the_oldest_turns_and_the_middle_of_lists():
    files = [("read_file", {"path": f"{number}.py"}) for number in range(60)]
    messages = talk(*[(f"Prompt {number}", [], "Done.") for number in range(500)], ("x", files, ""))
    text = write_summary(messages, 2_000)
    assert len(text) < 2_100
    assert "earlier turns are omitted" in text.splitlines()[0]
    assert "20 earlier ones; 20.py" in text
    assert "59.py" in text


def test_text_for_a_model_has_the_last_messages_whole_and_the_others_in_short():
    messages = talk(*[(f"Prompt {number}", [], "word " * 400) for number in range(50)], FIRST)
    text = render_conversation(messages, 6_000)
    assert len(text) < 8_500
    assert text.startswith("(Before this, in short:)\n")
    assert '[Call of shell] {"command":"make test\\nmake lint"}\n\n[Result]\na long output' in text
    assert text.endswith("[Agent]\nIt is fixed.\nAll tests pass.")
