"""Cards of the calls of built-in tools."""

import pytest

from tests.tools.contexts import Contexts, call
from tests.tui.events import EventBuilder
from yourtool.effects import SideEffects
from yourtool.messages.blocks import ToolUseBlock
from yourtool.tools.builtin import default_toolbox
from yourtool.tui.transcript.call_words import find_verb
from yourtool.tui.transcript.timeline import Timeline

session = EventBuilder()


@pytest.fixture
def context(tmp_path):
    root, spill = tmp_path / "ws", tmp_path / "spill"
    (root / "src").mkdir(parents=True)
    spill.mkdir()
    (root / "a.py").write_text("def one(): pass\n" * 120)
    (root / "src" / "[b].py").write_text("two\n")
    (root / "src" / "c.py").write_text("")
    return Contexts(root, spill)()


def card_rows(use, effects, output, *, expanded=False, success=True, **details):
    timeline = Timeline()
    for event in (
        session.tool_start(use, effects),
        session.reply(use),
        session.tool_result(use, output, success=success, **details),
    ):
        timeline.apply(event)
    [card] = timeline.items
    card.expand(expanded)
    card.lay_out(80)
    return [line.text.rstrip() for line in card.rows]


@pytest.mark.parametrize(
    ("tool", "arguments", "row"),
    [
        ("list_dir", {"path": "src"}, "Listed src, 2 entries"),
        ("list_dir", {}, "Listed this folder, 2 entries"),
        ("read_file", {"path": "a.py"}, "Read a.py, 120 lines"),
        ("read_file", {"path": "a.py", "offset": 100}, "Read a.py, lines 100–120 of 120"),
        ("read_file", {"path": "src/c.py"}, "Read src/c.py, empty"),
        ("grep", {"pattern": "two"}, "Searched for two, 1 match"),
        ("grep", {"pattern": "three"}, "Searched for three, 0 matches"),
        ("glob", {"pattern": "*.py"}, "Found *.py, 3 files"),
    ],
)
@pytest.mark.req("R-TUI-11")
async def test_reading_call_is_one_line_with_what_it_read(context, tool, arguments, row):
    use = ToolUseBlock("tu_1", tool, arguments)
    output = await call(default_toolbox().get(tool), context, **arguments)
    text = "".join(block.text for block in output.content)
    assert card_rows(use, SideEffects.READ, text, **output.details) == [f"{row} · 1.2 s (Ctrl+O)"]


async def test_words_for_the_model_are_not_on_the_card(context):
    shell, grep = (default_toolbox().get(name) for name in ("shell", "grep"))
    for line, head, body in (
        ("printf 'a\\n[b]\\n'", "", ["│ a", "│ [b]"]),
        ("true", "", []),
        ("echo a; exit 3", " · exit code 3", ["│ a"]),
    ):
        output = await call(shell, context, command=line)
        use = ToolUseBlock("tu_1", "shell", {"command": line})
        for expanded in (False, True):
            assert card_rows(
                use, SideEffects.EXECUTE, output.content[0].text, expanded=expanded,
                success=output.success, **output.details,
            ) == [f"Ran {line}{head} · 1.2 s", *body]  # fmt: skip
    output = await call(grep, context, pattern="two")
    use = ToolUseBlock("tu_1", "grep", {"pattern": "two"})
    rows = card_rows(use, SideEffects.READ, output.content[0].text, expanded=True, **output.details)
    assert rows[1:] == ["│ src/[b].py:1: two"]


def test_moved_command_names_its_process():
    use = ToolUseBlock("tu_1", "shell", {"command": "make serve"})
    rows = card_rows(
        use, SideEffects.EXECUTE, "up\n[runs as `p1`]", process="p1", sandbox="full", note_lines=1
    )
    assert rows == ["Ran make serve · in the background as p1 · 1.2 s", "│ up"]


def test_output_that_is_all_notes_is_empty():
    use = ToolUseBlock("tu_1", "shell", {"command": "x"})
    assert card_rows(use, SideEffects.EXECUTE, "a\nb", note_lines=5) == ["Ran x · 1.2 s"]


def test_every_built_in_tool_has_words():
    names = [tool.definition.name for tool in default_toolbox()]
    assert [name for name in names if find_verb(name) is None] == []
    assert find_verb("mcp_tool") is None
