import os
import re
import sys
from pathlib import Path

import pexpect
import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.widgets import Static

from tests.security.corpora import payload_cases, payload_sets
from tests.security.payloads import PAIR, PAYLOADS
from tests.tui.events import session
from tests.tui.pilot_helpers import paint
from yourtool.foundation.text import escape
from yourtool.foundation.web_links import parse_link
from yourtool.tui.lines.ansi import AnsiParser
from yourtool.tui.theme.output_filter import SanitizeFilter
from yourtool.tui.transcript.transcript import Transcript

OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def filtered(text: str, style: Style | None = None) -> list[Segment]:
    return SanitizeFilter().apply([Segment(text, style)], Color(0, 0, 0))


@given(st.text(st.characters(exclude_categories=())))
@pytest.mark.req("T17")
def test_filter_removes_all_terminal_commands(text):
    [segment] = filtered(text)
    assert not OBEYED.search(segment.text)
    segment.text.encode("utf-8")


@pytest.mark.req("T17")
def test_harmless_rows_are_unchanged():
    segment = Segment("naïve 日本 👩‍💻", Style(bold=True))
    assert SanitizeFilter().apply([segment], Color(0, 0, 0))[0] is segment


@pytest.mark.req("T18")
@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "javascript:alert(1)", "https://me:word@evil.example", "evil.example",
     "https://evil.example/\x1b]52;c;YQ==\x07", "https://ev\u0456l.example", "HTTPS://evil.example/é"],
)  # fmt: skip
def test_link_that_a_terminal_must_not_open_is_removed(address):
    [segment] = filtered("here", Style(link=address, bold=True))
    assert segment.style is not None
    assert segment.style.link is None and segment.style.bold
    assert "evil" not in segment.style.render("here")


@pytest.mark.parametrize(("terminal", "kept"), [("xterm-256color", True), ("linux", False)])
def test_link_of_the_web_is_kept_where_the_terminal_knows_links(monkeypatch, terminal, kept):
    monkeypatch.setenv("TERM", terminal)
    [segment] = filtered("here", Style(link="https://example.org/a"))
    assert ("\x1b]8;" in segment.style.render("here")) == kept


def surfaces_of(text: str):
    """Return every part of the transcript that can show untrusted text, with that text."""
    return {
        "tool_output": session.turn(output=text),
        "assistant_text": session.turn(reply=text),
        "diff": session.turn(diff=f"@@ -0,0 +1 @@\n{text if text.startswith('+') else '+' + text}"),
        "file_name": session.turn(path=text),
        "error_message": session.failed_turn(text),
        "mcp_tool_name": session.turn(tool=text),
        "session_title": session.turn(prompt=text),
        "approval_command": session.turn(prompt=escape(text)),
        "streamed": session.unfinished_turn(text),
        "live_output": session.running_call(text),
        "thinking": session.reasoning_reply(text),
    }


class Screen(App[None]):
    def __init__(self, *, net: bool) -> None:
        super().__init__()
        self.net = [SanitizeFilter()] if net else []

    def get_line_filters(self):
        return [*super().get_line_filters(), *self.net]

    def compose(self):
        yield Transcript()


@pytest.mark.parametrize("payload", payload_cases())
@pytest.mark.req("T17", "T18", "T19")
async def test_payloads_are_harmless_and_visible_on_every_surface(payload):
    app = Screen(net=False)
    async with app.run_test(size=(100, 40)) as pilot:
        transcript = app.query_one(Transcript)
        for surface, events in surfaces_of(payload["text"]).items():
            transcript.clear()
            for event in events:
                transcript.apply(event)
            transcript._schedule.flush()
            await paint(pilot)
            if surface == "thinking":
                transcript.action_select(-1)
                transcript.action_toggle_item()
                await paint(pilot)
            strips = transcript.render_lines(transcript.region.reset_offset)
            rows = [strip.text for strip in strips]
            raw = "".join(rows).encode("utf-8")
            assert not any(OBEYED.search(row) for row in rows), surface
            links = [s.style.link for strip in strips for s in strip if s.style and s.style.link]
            assert all(parse_link(link) == link for link in links)
            assert not any(bytes.fromhex(code) in raw for code in payload["forbidden_hex"]), surface
            if surface == payload["surface"]:
                shown = "\n".join(rows)
                assert all(words in shown for words in payload["must_show"])
                assert all(code in shown for code in payload["must_show_codepoints"])


@pytest.mark.req("T19")
def test_similar_texts_look_different_in_an_approval_prompt():
    plain, hidden = (p["text"] for p in PAYLOADS if p.get("pair") == PAIR)
    assert escape(plain) != escape(hidden)


async def test_filter_escapes_text_that_a_widget_did_not_escape():
    class Careless(Screen):
        def compose(self):
            yield Static("one \x1b]52;c;aGk=\x1b\\ two \x9b2J", markup=False)

    app = Careless(net=True)
    async with app.run_test(size=(60, 5)) as pilot:
        await paint(pilot)
        strips = app.screen._compositor.render_strips()
        text = "\n".join(strip.text for strip in strips)
        assert "one" in text and "two" in text and not OBEYED.search(text.replace("\n", ""))


def test_program_colours_are_preserved_and_other_sequences_are_shown():
    lines = AnsiParser().parse(
        "a\x1b[1;31mred\x1b[0m\x1b[K b\x1b[38;5;200mx\ny\x1b]52;c;aGk=\x07\x1bPq"
    )
    assert lines == [
        [("a", ""), ("red", "sgr:bold,red"), ("␛[K b", ""), ("x", "sgr:color(200)")],
        [("y␛]52;c;aGk=␇␛Pq", "sgr:color(200)")],
    ]


@given(
    st.text(st.characters(exclude_categories=()))
    | st.text(st.sampled_from("\x1b[]0123456789;m?KHx\n"))
)
def test_program_output_contains_no_active_sequence(text):
    for spans in AnsiParser().parse(text):
        assert not any(OBEYED.search(part) for part, _ in spans)


CHILD = """
import sys
from tests.tui.events import session
from tests.security.corpora import payload_sets
from tests.tui.theme.test_output_filter import Screen, surfaces_of
from yourtool.tui.transcript.transcript import Transcript

class Shown(Screen):
    def on_mount(self):
        transcript = self.query_one(Transcript)
        [payloads] = [each.values[0] for each in payload_sets() if each.id == sys.argv[1]]
        for payload in payloads:
            for events in surfaces_of(payload["text"]).values():
                for event in events:
                    transcript.apply(event)
            for event in session.turn(prompt="all is shown"):
                transcript.apply(event)
        self.set_timer(0.2, self.exit)

Shown(net=True).run()
"""


@pytest.mark.parametrize("payloads", payload_sets())
@pytest.mark.req("E10")
@pytest.mark.remaining
def test_payloads_send_no_forbidden_byte_to_a_real_terminal(payloads, request):
    name = request.node.callspec.id
    root = str(Path(__file__).parents[3])
    environ = {**os.environ, "PYTHONPATH": root, "TERM": "xterm-256color"}
    child = pexpect.spawn(
        sys.executable, ["-c", CHILD, name], cwd=root, env=environ, dimensions=(40, 120), timeout=30
    )
    child.expect(pexpect.EOF)
    raw: bytes = child.before
    child.close()
    for payload in payloads:
        for forbidden in payload["forbidden_hex"]:
            if len(forbidden) > 4:
                assert bytes.fromhex(forbidden) not in raw, payload["id"]
    screen = pyte.Screen(120, 40)
    stream = pyte.ByteStream(screen)
    leave = raw.rfind(b"\x1b[?1049l")
    stream.feed(raw[:leave])
    assert any("all is shown" in row for row in screen.display)
