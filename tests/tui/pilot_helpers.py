"""Press keys and wait for their effects, without waiting for an idle CPU."""

import asyncio

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from yourtool.tui.drafts import Draft

_CHARACTERS = {"space": " ", "backslash": "\\", "enter": "\r", "tab": "\t"}

FRAME = 0.017
"""Time that Textual needs for layout and painting, in seconds."""


OPENING_PAUSES = 50
"""How often `settle` pauses while the app opens its session, which some tests delay."""


async def settle(pilot: Pilot) -> None:
    """Let every widget handle its messages and those that follow from them."""
    for _ in range(OPENING_PAUSES):
        if not any(worker.group == "open" and worker.is_running for worker in pilot.app.workers):
            break
        await asyncio.sleep(FRAME / 4)
    for _ in range(3):
        await paint(pilot)
        await asyncio.sleep(FRAME / 4)


async def paint(pilot: Pilot) -> None:
    """Let every widget handle its messages and paint, without waiting for a frame."""
    await pilot._wait_for_screen()
    pilot.app.screen._on_timer_update()


def send_key(pilot: Pilot, key: str) -> None:
    """Press a key without waiting until it is handled."""
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    character = key if len(key) == 1 else _CHARACTERS.get(key)
    pressed = events.Key(name, character)
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
    """Wait until a condition is true."""
    for _ in range(400):
        if condition():
            return
        await settle(pilot)
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to be")


def screen_text(app) -> str:
    """Return the text on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
