"""The smallest chat program that Textual allows: an input, a log of lines, one HTTP stream.

It is the baseline: it has no sessions, tools, themes or history, and its Markdown is coloured line
by line. Run with `python -m benchmarks.limit`; `LIMIT_URL` is the root of a server with Chat
Completions.
"""

import json
import os
import re
from collections.abc import AsyncIterator
from importlib import import_module

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

FRAMES = 20
"""Screen updates per second."""
INLINE = re.compile(r"\*\*[^*]+\*\*|`[^`]+`|\*[^*]+\*")
CODE, STRONG, HEADING = Style(color="green"), Style(bold=True), Style(bold=True, color="cyan")


class Log(ScrollView):
    """Lines of text; all but the last are styled once."""

    def on_mount(self) -> None:
        """Start empty, and poll for new text."""
        self._final_rows: list[Strip] = []
        self._all_rows: list[Strip] = []
        self._open_line = ""
        self._fresh: list[str] = []
        self._in_code = False
        self.set_interval(1 / FRAMES, self._flush)

    def write(self, text: str) -> None:
        """Append text, which is shown with the next frame."""
        self._fresh.append(text)

    def render_line(self, y: int) -> Strip:
        """Return one row."""
        at, width = y + self.scroll_offset.y, self.size.width
        if at >= len(self._all_rows):
            return Strip.blank(width)
        return self._all_rows[at].adjust_cell_length(width)

    def _flush(self) -> None:
        if not self._fresh:
            return
        *finished, self._open_line = (self._open_line + "".join(self._fresh)).split("\n")
        self._fresh.clear()
        del self._all_rows[len(self._final_rows) :]
        for line in finished:
            rows = self._styled(line)
            self._final_rows += rows
            self._all_rows += rows
            self._in_code ^= line.startswith("```")
        self._all_rows += self._styled(self._open_line)
        self.virtual_size = Size(self.size.width, len(self._all_rows))
        self._follow()
        self.call_after_refresh(self._follow)

    def _follow(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
        self.refresh()

    def _styled(self, line: str) -> list[Strip]:
        width = max(20, self.size.width)
        if self._in_code or line.startswith("```"):
            segments = [Segment(line, CODE)]
        elif line.startswith("#"):
            segments = [Segment(line.lstrip("# "), HEADING)]
        else:
            segments = list(_inline(line))
        strip = Strip(segments)
        length = strip.cell_length
        return [strip.crop(at, min(at + width, length)) for at in range(0, max(1, length), width)]


class Mini(App[None]):
    """An input below a log."""

    CSS = "Log { height: 1fr; overflow-y: scroll; } Input { dock: bottom; }"
    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        """Compose the widgets."""
        yield Log()
        yield Input(placeholder="READY")

    def on_mount(self) -> None:
        """Focus the input."""
        self.query_one(Input).focus()

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """Send what was typed."""
        submitted.input.value = ""
        self.run_worker(self.lines(submitted.value))

    async def lines(self, prompt: str) -> None:
        """Show a prompt and the reply to it."""
        log = self.query_one(Log)
        log.write(f"> {prompt}\n")
        async for token in self.tokens(prompt):
            log.write(token)
        log.write("\n")

    async def tokens(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of a reply."""
        httpx2 = import_module("httpx2")
        message = {"role": "user", "content": prompt}
        body = {"model": "any", "stream": True, "messages": [message]}
        url = os.environ["LIMIT_URL"] + "/v1/chat/completions"
        async with (
            httpx2.AsyncClient(timeout=600, trust_env=False) as client,
            client.stream("POST", url, json=body) as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    choices = json.loads(line[len("data: ") :])["choices"]
                    if choices:
                        yield choices[0]["delta"].get("content") or ""


def _inline(line: str):
    at = 0
    for found in INLINE.finditer(line):
        if found.start() > at:
            yield Segment(line[at : found.start()])
        yield Segment(found[0].strip("*`"), CODE if found[0].startswith("`") else STRONG)
        at = found.end()
    if at < len(line):
        yield Segment(line[at:])


if __name__ == "__main__":
    Mini().run()
