"""Every type of event is shown in the linear mode, without a command of a payload."""

import pytest

from tests.security.shown_events import build_events, get_event_types
from tests.security.test_payloads import check
from tests.security.test_shown_events import SILENT, TEXT, find_types
from yourtool.extensions.linear.speaker import Speaker

NOT_IN_LINES = {"LlmCallStarted", "ThinkingDelta", "ToolOutputDelta", "ToolUseInputDelta"}
"""Events without a line in the linear mode, which waits for their ends."""


@pytest.mark.req("T17", "T18", "T19")
def test_lines_of_every_type_of_event_have_no_command_of_a_payload():
    written = list[str]()
    speaker = Speaker(written.append)
    for event in build_events(TEXT):
        speaker.apply(event)
    shown = "".join(written)
    check(shown.encode(), {b"\n"})
    types = {each.__name__ for each in get_event_types()}
    assert find_types(shown) == types - SILENT.keys() - NOT_IN_LINES
