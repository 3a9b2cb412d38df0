"""The interface where the disk is full: nothing that was typed is lost, and it says why."""

import json

import pytest

from tests.tui.driving import press, say, screen_text, until
from yourtool.agent.runtime import RunOptions, Runtime
from yourtool.paths import resolve_paths
from yourtool.tui.app import YourtoolApp


async def limit_pages(runtime, more):
    """Let the database grow by so many pages, as on a disk with so much room."""

    def change(database):
        [pages] = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages + more}")

    await runtime.database.write(change)


def opened(tmp_path, replies):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": replies}))
    (resolve_paths().home / "config.toml").write_text(
        f'model = "demo:file"\n[providers.demo]\nquirks = {{ script = "{script}" }}\n'
    )
    options = RunOptions(workspace=tmp_path)
    return YourtoolApp(lambda: Runtime.open(resolve_paths(), options))


def asked(app):
    return [message.text for message in app.chat.session.state.prompts]


@pytest.mark.parametrize("room", [0, 1, 2])
async def test_queued_prompts_are_held_on_a_full_disk_and_sent_when_there_is_room_r_per_02(
    tmp_path, room
):
    big = "first " + "x" * 20_000
    replies = [[{"say": "y" * 60_000}, {"pause": 60}], *[[{"say": "Fine."}]] * 4]
    app = opened(tmp_path, replies)
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.chat.session is not None)
        chat = app.chat
        await say(pilot, "begin")
        await until(pilot, lambda: asked(app) == ["begin"] and chat.playing)
        for text in (big, "second", "third"):
            await say(pilot, text)
        assert [draft.full for draft in chat.queue.drafts] == [big, "second", "third"]
        await limit_pages(app.runtime, room)
        await press(pilot, "escape")  # the end of the turn cannot be stored
        await until(pilot, lambda: not chat.playing)
        assert "the disk is full" in screen_text(app)
        assert chat.queue.held
        assert [draft.full for draft in chat.queue.drafts] == [big, "second", "third"]
        await press(pilot, "enter")  # still no room: the prompt comes back, the others wait
        await until(pilot, lambda: not chat.playing)
        assert chat.prompt.draft.full == big
        assert chat.queue.held
        assert [draft.full for draft in chat.queue.drafts] == ["second", "third"]
        await limit_pages(app.runtime, 1_000_000)
        await press(pilot, "enter")
        await until(pilot, lambda: asked(app)[1:] == [big, "second", "third"])
        await until(pilot, lambda: not chat.playing)
        assert not chat.queue.drafts
