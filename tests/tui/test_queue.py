"""The two lists of queued messages and their keys."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from textual.app import App

from tests.tui.fakes import FakeSession, TakeMessages, turn, turn_start
from tests.tui.pilot_helpers import burst, press, say, screen_text, send_key, settle, until
from tests.tui.test_chat import app_of
from yourtool.agent.commands.base import Choice, Choose, CommandResults
from yourtool.events.sessions import SessionModelSelected
from yourtool.events.turns import TurnCompleted
from yourtool.messages.blocks import TextBlock
from yourtool.tui.input.drafts import Draft
from yourtool.tui.input.message_queue import MessageQueue, QueuedMessage
from yourtool.tui.screens.command_results import show_result
from yourtool.tui.screens.picker import Picker
from yourtool.tui.widgets.queue import QueueList

KEYS = "Up edits, Ctrl+X more"


class Stage(App[None]):
    AUTO_FOCUS = None

    def __init__(self, count: int, steering: int = 0) -> None:
        super().__init__()
        self.queue = MessageQueue()
        self.chosen, self.switched, self.left = [], [], []
        self.count, self.steering = count, steering

    def compose(self):
        yield QueueList(
            self.queue,
            self.chosen.append,
            self.switched.append,
            lambda: self.left.append(self.set_focus(None)),
        )

    def on_mount(self):
        self.queue.start_turn()
        for number in range(1, self.steering + 1):
            content = (TextBlock("now"),)
            self.queue.add(QueuedMessage(Draft(f"correction {number}"), content))
        for number in range(1, self.count + 1):
            self.queue.add(QueuedMessage(Draft(f"message {number}\nwith a second line")))


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
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        assert shown(app) == [f"After this turn: {KEYS}", *rows]


async def test_messages_to_the_running_turn_are_a_list_above_the_others():
    app = Stage(1, steering=2)
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        assert shown(app) == [
            "After the next tool call",
            "1. correction 1",
            "2. correction 2",
            f"After this turn: {KEYS}",
            "1. message 1",
        ]


async def test_each_list_has_two_rows_on_a_short_screen():
    app = Stage(3, steering=3)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        assert shown(app) == [
            "After the next tool call",
            "1. correction 1",
            "… 2 more",
            f"After this turn: {KEYS}",
            "1. message 1",
            "… 2 more",
        ]


async def test_next_message_is_shown_in_one_row_beside_an_approval_prompt():
    app = Stage(3)
    async with app.run_test(size=(40, 12)) as pilot:
        app.query_one(QueueList).set_compact(True)
        await settle(pilot)
        assert shown(app) == ["Next (+2): message 1"]


async def test_paused_queue_shows_its_keys_and_reason_whatever_its_length():
    app = Stage(9)
    async with app.run_test(size=(80, 20)) as pilot:
        app.queue.pause("the turn failed", can_retry=True)
        await settle(pilot)
        assert shown(app)[0] == "Paused, the turn failed: Enter sends, Up edits, Ctrl+T retries"


@pytest.mark.parametrize("width", [40, 80], ids=["two rows of keys", "one row of keys"])
async def test_click_edits_the_message_in_its_row(width):
    app = Stage(6)
    async with app.run_test(size=(width, 20)) as pilot:
        app.queue.pause("the turn failed", can_retry=True)
        await settle(pilot)
        rows = shown(app)
        for text in ("1. message 1", "3. message 3", "… 3 more", rows[0]):
            await pilot.click(QueueList, offset=(2, rows.index(text)))
        assert app.chosen == [app.queue.waiting[0], app.queue.waiting[2]]


async def test_keys_select_reorder_and_remove_messages():
    app = Stage(9)
    async with app.run_test(size=(60, 20)) as pilot:
        app.query_one(QueueList).focus()
        await press(pilot, "alt+up", "alt+up")
        assert [each.text.split()[1] for each in app.queue.drafts] == [*"123456978"]
        assert shown(app)[1:] == ["6. message 6", "7. message 9", "8. message 7", "… 6 more"]
        await press(pilot, "alt+down", "up", "delete", "backspace")
        assert [each.text.split()[1] for each in app.queue.drafts] == [*"1234568"]
        await press(pilot, "tab", "enter")
        assert app.switched == app.chosen == [app.queue.waiting[-1]]
        await press(pilot, "down")
        assert len(app.left) == 1


async def test_empty_list_returns_the_focus():
    app = Stage(1, steering=1)
    async with app.run_test(size=(60, 20)) as pilot:
        app.query_one(QueueList).focus()
        await burst(pilot, "delete", "delete", "delete")
        assert len(app.left) == 1 and len(app.queue) == 0


# ── in the chat ─────────────────────────────────────────────────────────────────────────────────


class Busy:
    """A chat with a running turn, which takes messages at `tools` and ends at `end`."""

    def __init__(self, home, workspace) -> None:
        self.tools, self.end = asyncio.Event(), asyncio.Event()
        script = [turn_start("go"), self.tools, TakeMessages(), self.end, *turn("go", "Done.")[1:]]
        self.session = FakeSession(script, turn("next", "Ok."), workspace=workspace)
        self.app, _ = app_of(home, self.session)
        self.app.chat.runner.enter = "queue"

    @asynccontextmanager
    async def run(self, size=(80, 24)):
        async with self.app.run_test(size=size) as pilot:
            await until(pilot, lambda: self.app.chat.session is not None)
            await say(pilot, "go")
            yield pilot
            self.tools.set()
            self.end.set()
            await until(pilot, lambda: not self.app.chat.runner.is_running)

    @property
    def lists(self) -> tuple[list[str], list[str]]:
        queue = self.app.chat.runner.queue
        return [each.draft.text for each in queue.steering], [each.text for each in queue.drafts]


@pytest.fixture
def busy(home, tmp_path):
    return Busy(home, tmp_path)


async def type_and_press(pilot, text, key):
    pilot.app.chat.prompt.load(Draft(text))
    await press(pilot, key)


async def test_message_to_the_running_turn_appears_after_the_tool_call(busy):
    async with busy.run() as pilot:
        await type_and_press(pilot, "use pathlib", "ctrl+enter")
        await say(pilot, "/steer and\nkeep it short")
        await say(pilot, "then test")
        assert busy.lists == (["use pathlib", "and\nkeep it short"], ["then test"])
        assert "After the next tool call" in screen_text(busy.app)
        assert busy.app.chat.status_line.status.queued == 3
        busy.tools.set()
        await until(pilot, lambda: busy.lists == ([], ["then test"]))
        await settle(pilot)
        assert "use pathlib" in screen_text(busy.app)
        assert "After the next tool call" not in screen_text(busy.app)
        busy.end.set()
        await until(pilot, lambda: busy.session.sent == ["go", "then test"])


async def test_enter_steers_the_running_turn_and_other_keys_queue(busy):
    busy.app.chat.runner.enter = "steer"
    async with busy.run() as pilot:
        assert "Enter sends now · Alt+Enter sends after" in screen_text(busy.app)
        await say(pilot, "use pathlib")
        await type_and_press(pilot, "then test", "alt+enter")
        await type_and_press(pilot, "then commit", "tab")
        assert busy.lists == (["use pathlib"], ["then test", "then commit"])


async def test_enter_keeps_the_order_after_what_waits_for_the_end_of_the_turn(busy):
    busy.app.chat.runner.enter = "steer"
    async with busy.run() as pilot:
        await say(pilot, "/new")
        await say(pilot, "in the new session")
        assert busy.lists == ([], ["/new", "in the new session"])


async def test_message_that_a_running_turn_cannot_take_waits_for_its_end(busy):
    busy.app.chat.runner.enter = "steer"
    async with busy.run() as pilot:
        await say(pilot, "@gpt what do you think")
        assert busy.lists == ([], ["@gpt what do you think"])


async def test_alt_enter_is_a_new_line_and_tab_stays_in_a_text_while_nothing_runs(home, tmp_path):
    app, _ = app_of(home, FakeSession(turn("go", "Done."), workspace=tmp_path))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        await press(pilot, "a", "alt+enter", "b")
        assert app.chat.prompt.text == "a\nb"
        await press(pilot, "tab", "c")
        assert app.focused is app.chat.prompt
        assert app.chat.prompt.text == "a\nbc"


@pytest.mark.parametrize("size", [(40, 12), (80, 24)], ids=str)
@pytest.mark.sample(2)
async def test_queue_is_changed_with_keys_and_text_returns_to_the_prompt(busy, size):
    async with busy.run(size) as pilot:
        for text in ("one", "two", "three"):
            await say(pilot, text)
        await press(pilot, "ctrl+x")
        queue_list = busy.app.chat.queue_list
        assert busy.app.focused is queue_list
        assert "select" in screen_text(busy.app)  # the keys of the list
        await press(pilot, "alt+up", "tab")
        assert busy.lists == (["three"], ["one", "two"])
        await press(pilot, "tab")
        assert busy.lists == ([], ["three", "one", "two"])
        await press(pilot, "delete", "escape")
        assert busy.app.focused is busy.app.chat.prompt
        assert busy.app.chat.runner.is_running
        assert busy.lists == ([], ["one", "two"])
        await press(pilot, "ctrl+x", "up", "enter")
        assert busy.app.chat.prompt.text == "one"
        await press(pilot, "!", "enter")
        assert busy.lists == ([], ["one!", "two"])
        await press(pilot, "ctrl+x", "h", "i")
        assert busy.app.chat.prompt.text == "hi"
        await press(pilot, "ctrl+x")
        assert busy.app.focused is busy.app.chat.prompt
        busy.app.chat.runner.queue.waiting.clear()


async def test_place_of_an_edited_message_is_forgotten_when_the_prompt_is_cleared(busy):
    async with busy.run() as pilot:
        for text in ("one", "two"):
            await say(pilot, text)
        await press(pilot, "ctrl+x", "up", "enter", "ctrl+c")
        await say(pilot, "three")
        assert busy.lists == ([], ["two", "three"])
        busy.app.chat.runner.queue.waiting.clear()


@pytest.mark.req("R-LOOP-10")
async def test_enter_at_any_speed_sends_exactly_one_message(home, tmp_path):
    session = FakeSession(turn("x", "Ok."), workspace=tmp_path)
    app, _ = app_of(home, session)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        letters = "abcdefghijklmnopqrst"
        keys = [key for letter in letters for key in (letter, "enter", "enter")]
        await burst(pilot, *keys)
        await until(pilot, lambda: len(session.sent) >= len(letters))
        await settle(pilot)
        assert session.sent == [*letters]


@pytest.mark.parametrize("key", ["enter", "ctrl+enter"])
async def test_repeated_presses_on_a_paused_queue_send_each_message_once(busy, key):
    async with busy.run() as pilot:
        for text in ("one", "two"):
            await say(pilot, text)
        await press(pilot, "escape")
        await until(pilot, lambda: busy.app.chat.prompt.text == "go")  # before any reply
        await press(pilot, "ctrl+c")
        await burst(pilot, *[key] * 5)
        await until(pilot, lambda: busy.session.sent == ["go", "one", "two"])


async def test_change_of_the_model_behind_a_message_applies_after_it(busy):
    async with busy.run() as pilot:
        await say(pilot, "for the old model")
        await say(pilot, "/model gpt ")
        await say(pilot, "for the new model")
        assert busy.session.state.pending_model is None
        busy.tools.set()
        busy.end.set()
        await until(pilot, lambda: len(busy.session.sent) == 3)
        await until(pilot, lambda: not busy.app.chat.runner.is_running)
        kinds = [type(fact) for fact in busy.session.state.facts]
        changes = [kind for kind in kinds if kind in (TurnCompleted, SessionModelSelected)]
        assert changes == [TurnCompleted, TurnCompleted, SessionModelSelected, TurnCompleted]


@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.sample(2)
async def test_list_that_opens_by_itself_leaves_the_text_to_the_prompt(tmp_path, is_late):
    chosen: list[str] = []

    async def choose(value: str) -> CommandResults:
        chosen.append(value)
        return
        yield

    app, _ = app_of(tmp_path, FakeSession(turn("hello", "Hello."), workspace=tmp_path))
    async with app.run_test() as pilot:
        await settle(pilot)
        app.chat.runner.is_command_late = is_late
        rows = (Choice("a", "add"), Choice("b", "be"))
        shown = app.run_worker(show_result(app.chat, Choose("Words", rows, choose)))
        await until(pilot, lambda: isinstance(app.screen, Picker))
        for key in ("enter", "b", "e") if is_late else ("b", "e"):
            send_key(pilot, key)  # all before the list counts as seen
        await settle(pilot)
        assert app.chat.prompt.text == ("be" if is_late else "")
        assert isinstance(app.screen, Picker) is not is_late
        if not is_late:
            await press(pilot, "enter")
        await shown.wait()
        assert chosen == ([] if is_late else ["b"])
