"""Press keys and wait for their effects, without waiting for an idle CPU."""

import asyncio
import sys
from concurrent.futures.thread import _threads_queues

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from yourtool.tui.input.drafts import Draft

_CHARACTERS = {"space": " ", "backslash": "\\", "enter": "\r", "tab": "\t"}

FRAME = 0.017
"""Time that Textual needs for layout and painting, in seconds."""


LONGEST_WORK = 2.0
"""Seconds that `settle` waits for work that does not end, such as a thread that a test blocks."""


async def settle(pilot: Pilot) -> None:
    """Wait until the loop is idle: the next step needs a key, a timer or a process."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LONGEST_WORK
    for _ in range(3):
        await paint(pilot)
        await asyncio.sleep(FRAME / 4)
        while not _is_at_rest(loop) and loop.time() < deadline:
            await asyncio.sleep(0.001 if threads_work() else 0)


def _is_at_rest(loop: asyncio.AbstractEventLoop) -> bool:
    is_due = any(timer.when() <= loop.time() for timer in loop._scheduled[:1])
    return not (loop._ready or is_due or threads_work())


def threads_work() -> bool:
    """Whether a thread of a pool has something to do, or has not delivered its result."""
    frames = sys._current_frames()
    return any(
        not queue.empty() or frames[thread.ident].f_code.co_name != "_worker"
        for thread, queue in list(_threads_queues.items())
        if thread.is_alive() and thread.ident in frames
    )


async def paint(pilot: Pilot) -> None:
    """Let every widget handle its messages and paint, without waiting for a frame."""
    await pilot._wait_for_screen()
    pilot.app.screen._on_timer_update()


def build_key(key: str) -> events.Key:
    """Return the event of a character or a key with a name."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    return events.Key(name, key if len(key) == 1 else _CHARACTERS.get(key))


def send_key(pilot: Pilot, key: str) -> None:
    """Press a key without waiting until it is handled."""
    pressed = build_key(key)
    pressed.set_sender(pilot.app)
    pilot.app._driver.send_message(pressed)


async def burst(pilot: Pilot, *keys: str) -> None:
    """Press keys faster than any of them can be handled."""
    for key in keys:
        send_key(pilot, key)
    await settle(pilot)


async def press(pilot: Pilot, *keys: str) -> None:
    """Press keys one by one, each after the previous key arrived."""
    for key in keys:
        send_key(pilot, key)
        await asyncio.sleep(0)
        await pilot._wait_for_screen()
    await settle(pilot)


async def say(pilot: Pilot, text: str) -> None:
    """Put text into the prompt and press Enter."""
    pilot.app.chat.prompt.load(Draft(text))
    await press(pilot, "enter")


async def until(pilot: Pilot, condition) -> None:
    """Wait until a condition is true, however long it takes."""
    for _ in range(1_000):
        if condition():
            return
        await paint(pilot)
        await asyncio.sleep(FRAME)
    raise AssertionError("it did not come to be")


def screen_text(app) -> str:
    """Return the text on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
