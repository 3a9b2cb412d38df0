"""The program on a screen without a terminal, moved step by step by a script."""

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from textual.pilot import Pilot
from textual.strip import Strip

from tests.pictures.asciicast import Asciicast
from tests.pictures.scene_clock import SceneClock
from tests.tui.pilot_helpers import paint, press, screen_text, settle, until

KEY_SECONDS = 0.07
PIECE_SECONDS = 0.05
ALL = 1_000
"""More pieces than any reply has."""


class Pace:
    """Holds the pieces of one reply until the script asks for them."""

    def __init__(self) -> None:
        self._pieces = threading.Semaphore(0)

    def __call__(self) -> None:
        assert self._pieces.acquire(timeout=60), "the script never asked for this piece"

    def send(self, pieces: int) -> None:
        """Send the next pieces."""
        self._pieces.release(pieces)


class Stage:
    """Types, waits, and records a frame after each step."""

    def __init__(self, pilot: Pilot[Any], clock: SceneClock, directory: Path) -> None:
        self._pilot, self._clock, self._directory = pilot, clock, directory
        self._opened_at = clock.seconds
        self.app: Any = pilot.app
        self.recording = Asciicast(*pilot.app.size, title="yourtool")

    async def sees(self, *signs: str) -> None:
        """Wait until all texts are on the screen."""
        await self.until(lambda: all(sign in screen_text(self.app) for sign in signs))

    async def frame(self, seconds: float = 0.0) -> None:
        """Let the time of the script pass, and record the screen."""
        self._clock.seconds += seconds
        self.app.chat.transcript.update_activity()
        await settle(self._pilot)
        self.app.chat.status.refresh()  # it may still wait for its next update
        await paint(self._pilot)
        self.recording.add(self._clock.seconds - self._opened_at, self._rows())

    async def type(self, text: str) -> None:
        """Type a text key by key, and record each."""
        for character in text:
            await self.press(character)
            await self.frame(KEY_SECONDS)

    async def press(self, key: str) -> None:
        """Press a key; the next step records its effect, once that is complete."""
        await press(self._pilot, key)

    async def question(self, *signs: str) -> None:
        """Wait for an approval prompt with these texts, until it accepts letters."""
        await self.sees(*signs)
        self._clock.seconds += 1.0
        await self.until(lambda: self.app.chat.approval_prompt.answers.is_ready)

    async def answer(self, letter: str) -> None:
        """Answer the approval prompt."""
        asked = self.app.chat.approval_prompt.confirmation
        await self.frame(1.5)
        await press(self._pilot, letter, "enter")
        await self._wait(lambda: self.app.chat.approval_prompt.confirmation is not asked)

    async def stream(self, pace: Pace, pieces: int) -> None:
        """Receive the pieces of a reply one by one."""
        transcript = self.app.chat.transcript
        for _ in range(pieces):
            before = transcript.last_reply_source()
            pace.send(1)
            await self.until(lambda before=before: transcript.last_reply_source() != before)
            await self.frame(PIECE_SECONDS)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition and record the screen."""
        await self._wait(condition)
        await self.frame()

    async def _wait(self, condition: Callable[[], bool]) -> None:
        def is_true() -> bool:
            self.app.chat.transcript.update_activity()  # the next tick never comes
            is_painted = not self.app.chat.transcript._timeline.changed_items
            return is_painted and condition()

        try:
            await until(self._pilot, is_true)
        except AssertionError as error:
            raise AssertionError(screen_text(self.app)) from error

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window; nothing is recorded at this size."""
        await self._pilot.resize_terminal(columns, rows)
        await settle(self._pilot)

    def save(self, name: str) -> None:
        """Write a screenshot of the current screen."""
        (self._directory / f"{name}.svg").write_text(
            self.app.export_screenshot(title="yourtool") + "\n"
        )

    def save_recording(self, name: str) -> None:
        """Write the recording so far."""
        (self._directory / f"{name}.cast").write_text(str(self.recording))

    def _rows(self) -> list[str]:
        console = Console(
            file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False
        )
        update = self.app.screen._compositor.render_update(
            full=True, screen_stack=self.app._background_screens
        )
        return [Strip.join(row).render(console) for row in update.strips]
