"""Events as lines with roles."""

import pytest

from tests.tui.events import EventBuilder
from tests.tui.fakes import text_deltas
from yourtool.extensions.linear.speaker import Speaker


@pytest.fixture
def written():
    return []


@pytest.fixture
def speaker(written):
    return Speaker(written.append)


def test_folded_output_is_counted_without_a_key_of_the_screen(speaker, written):
    for event in EventBuilder().turn(reply="Yes.", output="row\n" * 90):
        speaker.apply(event)
    shown = "".join(written)
    assert "more lines" in shown or "90 lines" in shown
    assert "Ctrl+O" not in shown


@pytest.mark.req("R-TUI-23")
def test_turn_is_lines_with_roles_and_without_drawing(speaker, written):
    for event in EventBuilder().turn(reply="First line.\nSecond.", output="a\nb"):
        speaker.apply(event)
    shown = "".join(written)
    assert "Model: First line.\nSecond.\n" in shown
    assert "Tool: ok" in shown
    assert "Done: " in shown and "$0.0123" in shown
    assert not set("│╭─✓●·") & set(shown)
    assert all(line.endswith("\n") for line in written)


def test_reply_is_written_in_complete_lines_while_it_streams(speaker, written):
    session = EventBuilder()
    for event in (session.turn_start("go"), session.route()):
        speaker.apply(event)
    del written[:]
    for event in text_deltas("One ", "two\nthree ", "four"):
        speaker.apply(event)
    assert written == ["Model: One two\n"]


def test_text_of_a_model_cannot_drive_the_terminal(speaker, written):
    for event in EventBuilder().turn(reply="a\x1b[2Jb", output="c\x1b]52;c;eA==\x07"):
        speaker.apply(event)
    assert "\x1b" not in "".join(written)


def test_message_that_was_just_typed_is_not_repeated(speaker, written):
    session = EventBuilder()
    speaker.sent_text = "go"
    for text in ("go", "then this"):
        speaker.apply(session.turn_start(text))
    assert [line for line in written if line.startswith("You:")] == ["You: then this\n"]
