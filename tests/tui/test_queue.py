"""The list of queued messages."""

import pytest
from textual.app import App

from tests.tui.pilot_helpers import screen_text, settle
from yourtool.tui.drafts import Draft
from yourtool.tui.message_queue import MessageQueue
from yourtool.tui.widgets.queue import QueueList


class Stage(App[None]):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.queue = MessageQueue()
        self.chosen: list[int] = []
        self.count = count

    def compose(self):
        yield QueueList(self.queue)

    def on_mount(self):
        for number in range(1, self.count + 1):
            self.queue.add(Draft(f"message {number}\nwith a second line"))

    def on_queue_list_message_clicked(self, message: QueueList.MessageClicked):
        self.chosen.append(message.at)


def shown(app: App[None]) -> list[str]:
    return [row.strip() for row in screen_text(app).splitlines() if row.strip()]


@pytest.mark.parametrize(
    ("count", "rows"),
    [
        (1, ["1. message 1"]),
        (4, ["1. message 1", "2. message 2", "3. message 3", "4. message 4"]),
        (5, ["1. message 1", "2. message 2", "3. message 3", "… 2 more"]),
        (9, ["1. message 1", "2. message 2", "3. message 3", "… 6 more"]),
    ],
)
async def test_long_queue_shows_its_first_messages_and_the_number_of_others(count, rows):
    app = Stage(count)
    async with app.run_test(size=(60, 12)) as pilot:
        await settle(pilot)
        assert shown(app) == ["queued: Up edits, Ctrl+X drops", *rows]


async def test_paused_queue_shows_its_keys_and_reason_whatever_its_length():
    app = Stage(9)
    async with app.run_test(size=(80, 12)) as pilot:
        app.queue.pause("the turn failed", can_retry=True)
        await settle(pilot)
        assert shown(app)[0] == "paused, the turn failed: Enter sends, Up edits, Ctrl+T retries"


@pytest.mark.parametrize("width", [40, 80], ids=["two rows of keys", "one row of keys"])
async def test_click_chooses_the_message_in_its_row(width):
    app = Stage(6)
    async with app.run_test(size=(width, 12)) as pilot:
        app.queue.pause("the turn failed", can_retry=True)
        await settle(pilot)
        rows = shown(app)
        for text in ("1. message 1", "3. message 3", "… 3 more", rows[0]):
            await pilot.click(QueueList, offset=(2, rows.index(text)))
        assert app.chosen == [0, 2]
