"""The list of `/resume`."""

from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from tests.store.memory import MemoryStore
from tests.store.turns import PROMPT, FactBuilder, changed
from tests.tui.fakes import WHEN
from yourtool.agent.commands.base import Report
from yourtool.agent.commands.sessions.session_list import (
    PAGE_SESSIONS,
    SessionList,
    session_choices,
    without_demos,
)
from yourtool.events.deltas import Notice
from yourtool.paths import Paths
from yourtool.store.base import SessionActivity


def summary(**changes):
    values = {
        "id": "sess_1",
        "title": "fix it",
        "workspace_path": "/w",
        "active_model": None,
        "turn_count": 1,
        "unpriced": False,
        "cost_usd": Decimal("0.5"),
        "updated_at": WHEN - timedelta(hours=2),
    }
    return SimpleNamespace(**{**values, **changes})


@pytest.mark.req("R-TUI-20")
def test_sessions_of_this_workspace_come_first_then_the_newest(tmp_path):
    here = str(tmp_path)
    rows = session_choices(
        [
            summary(id="a", updated_at=WHEN),
            summary(id="b", workspace_path=here, updated_at=WHEN - timedelta(days=3)),
            summary(id="c", workspace_path=here, turn_count=2),
            summary(id="d", cost_usd=Decimal(0), unpriced=True, updated_at=WHEN),
        ],
        tmp_path,
        WHEN,
    )
    assert [row.value for row in rows][:3] == ["c", "b", "a"]
    assert "· unpriced ·" in rows[3].detail
    assert rows[0].detail == "2 h ago · 2 turns · $0.5000 · here"


@pytest.mark.parametrize(
    ("order", "ids"),
    [("last used", ["a", "b", "c"]), ("cost", ["b", "c", "a"]), ("title", ["c", "a", "b"])],
)
def test_sessions_are_sorted_by_use_cost_or_title(tmp_path, order, ids):
    rows = session_choices(
        [
            summary(id="a", title="m", cost_usd=Decimal(1), updated_at=WHEN),
            summary(id="b", title="Z", cost_usd=Decimal(3), updated_at=WHEN - timedelta(hours=1)),
            summary(id="c", title="a", cost_usd=Decimal(2), updated_at=WHEN - timedelta(hours=2)),
        ],
        tmp_path,
        WHEN,
        order,
    )
    assert [row.value for row in rows] == ids


class Listed:
    """The list of three stored sessions, one of the demo, of which the first is open."""

    async def open(self, tmp_path):
        self.store, self.opened, self.titles = MemoryStore(), [], []
        self.paths = Paths(tmp_path, tmp_path / "data", tmp_path / "state", tmp_path / "cache")
        builders = [FactBuilder(), FactBuilder(), FactBuilder()]
        for builder, place in zip(
            builders, (tmp_path, tmp_path, self.paths.scratch / "demo"), strict=True
        ):
            created = changed(builder.session_start(), workspace_path=str(place))
            await self.store.append(created, *builder.turn())
        self.ids = [builder.session_id for builder in builders]
        self.lease = self.store.lease(self.ids[0])
        session = SimpleNamespace(id=self.ids[0], project=tmp_path, rename=self.rename)
        runtime = SimpleNamespace(store=self.store, paths=self.paths)
        self.list = SessionList(session, runtime, open_session=self.open_session)
        return self

    async def open_session(self, session_id):
        self.opened.append(session_id)
        yield Notice(level="info", text="opened")

    async def rename(self, title):
        self.titles.append(title)
        yield Notice(level="info", text="renamed")


async def take(results):
    return [each async for each in results]


def press(choose, key, value):
    [action] = [each for each in choose.actions if each.key == key]
    return take(action.then(value))


def values(choose):
    return {choice.value for choice in choose.choices}


async def test_demo_sessions_are_hidden_until_a_key_shows_them(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    assert values(shown) == set(listed.ids[:2])
    [shown] = await press(shown, "ctrl+o", "")
    assert values(shown) == set(listed.ids)
    [shown] = await press(shown, "ctrl+o", "")
    assert values(shown) == set(listed.ids[:2])


async def test_session_is_deleted_only_after_a_confirmation(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    [question] = await press(shown, "ctrl+d", listed.ids[1])
    assert [choice.title for choice in question.choices] == ["Cancel", "Delete permanently"]
    [shown] = await take(question.then(""))
    assert values(shown) == set(listed.ids[:2])
    [question] = await press(shown, "ctrl+d", listed.ids[1])
    notice, shown = await take(question.then("delete"))
    assert notice.text == "Deleted."
    assert values(shown) == {listed.ids[0]}


async def test_open_session_is_not_deleted_and_the_list_stays(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    [question] = await press(shown, "ctrl+d", listed.ids[0])
    notice, shown = await take(question.then("delete"))
    assert notice.level == "error"
    assert "another yourtool" not in notice.text
    assert "`/new`" in notice.text
    assert listed.ids[0] in values(shown)


async def test_session_is_renamed_and_the_open_one_by_itself(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    [entry] = await press(shown, "ctrl+r", listed.ids[1])
    notice, shown = await take(entry.then("A better title"))
    assert notice.text == "Renamed."
    assert "A better title" in {choice.title for choice in shown.choices}
    [entry] = await press(shown, "ctrl+r", listed.ids[1])
    [shown] = await take(entry.then(""))
    assert "A better title" in {choice.title for choice in shown.choices}, "Esc changes nothing"
    [entry] = await press(shown, "ctrl+r", listed.ids[0])
    await take(entry.then("Mine"))
    assert listed.titles == ["Mine"]


async def test_preview_has_the_last_prompts_and_replies(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    texts = await shown.preview(listed.ids[1])
    assert texts[0] == ("you", PROMPT)
    assert {speaker for speaker, _ in texts} == {"you", "reply"}
    assert await shown.preview("sess_nobody") == ()


async def test_list_keys_do_nothing_without_a_row(tmp_path):
    listed = await Listed().open(tmp_path)
    [shown] = await take(listed.list.show())
    assert await press(shown, "ctrl+d", "") == []
    assert await press(shown, "ctrl+r", "") == []


def test_sessions_of_the_demo_are_hidden_unless_there_are_no_others(tmp_path):
    demo, real = summary(id="d", active_model="demo:tour"), summary(id="r")
    copy = summary(id="c", workspace_path=str(tmp_path / "x"))
    assert without_demos([demo, real, copy], tmp_path) == (real,)
    assert without_demos([demo, copy], tmp_path) == (demo, copy)


async def test_sessions_after_the_first_page_are_added_when_they_are_read(tmp_path):
    listed = await Listed().open(tmp_path)
    builder = FactBuilder(workspace=str(tmp_path))
    for _ in range(PAGE_SESSIONS + 5):
        builder = FactBuilder(workspace=str(tmp_path))
        await listed.store.append(builder.session_start(), builder.turn_start())
    results = listed.list.show()
    shown = await anext(results)
    assert len(shown.choices) == PAGE_SESSIONS
    assert len(await shown.update) == PAGE_SESSIONS + 5 + 2
    await results.aclose()


class Elsewhere(MemoryStore):
    """A store whose sessions are open in other processes."""

    def __init__(self):
        super().__init__()
        self.found, self.lists = {}, 0

    async def find_activity(self, ids=()):
        return tuple(self.found.values())

    async def list(self, *workspaces, **options):
        self.lists += 1
        return await super().list(*workspaces, **options)

    def set(self, session_id, state, last_event="e1"):
        process = "77" if state in ("running", "waiting", "open") else ""
        self.found[session_id] = SessionActivity(
            id=session_id, state=state, process=process, last_event=last_event
        )


async def open_elsewhere(tmp_path, *, is_mixed=True):
    listed = await Listed().open(tmp_path)
    store = Elsewhere()
    store.__dict__.update(listed.store.__dict__)
    runtime = SimpleNamespace(store=store, paths=listed.paths)
    session = SimpleNamespace(id=listed.ids[0], project=tmp_path, rename=listed.rename)
    opens = listed.open_session
    return listed, store, SessionList(session, runtime, open_session=opens, is_mixed=is_mixed)


async def test_list_shows_what_each_session_does(tmp_path):
    listed, store, shown_list = await open_elsewhere(tmp_path)
    for state, words, mark in (
        ("running", "running", "▸"),
        ("waiting", "waiting for your answer", "?"),
        ("stopped", "ended during a turn", "✗"),
        ("done", "done", ""),
    ):
        store.set(listed.ids[1], state)
        [shown] = await take(shown_list.show())
        rows = {each.value: each for each in shown.choices}
        assert rows[listed.ids[1]].detail.startswith(f"{words} · ")
        assert rows[listed.ids[1]].mark == mark
        assert str(tmp_path) in rows[listed.ids[1]].detail
        assert rows[listed.ids[0]].detail.startswith("this session · ")


async def test_list_is_read_again_only_after_an_open_session_changed(tmp_path):
    listed, store, shown_list = await open_elsewhere(tmp_path)
    store.set(listed.ids[1], "running")
    [shown] = await take(shown_list.show())
    before = store.lists
    assert await shown.refresh() is None and await shown.refresh() is None
    assert store.lists == before
    store.set(listed.ids[1], "waiting")
    rows = {each.value: each for each in await shown.refresh()}
    assert rows[listed.ids[1]].mark == "?"
    store.found.clear()
    rows = {each.value: each for each in await shown.refresh()}
    assert rows[listed.ids[1]].detail.startswith("done · ")
    assert await shown.refresh() is None


async def test_session_of_another_process_is_shown_but_not_opened(tmp_path):
    listed, store, shown_list = await open_elsewhere(tmp_path)
    store.set(listed.ids[1], "waiting")
    [shown] = await take(shown_list.show())
    [report] = await take(shown.then(listed.ids[1]))
    assert isinstance(report, Report) and listed.opened == []
    state, said = report.sections
    assert "waiting for your answer in process 77: read only" in dict(state.rows)["state"]
    assert ("you", PROMPT) in said.rows
    store.set(listed.ids[1], "done")
    await take(shown_list.show())
    await take(shown.then(listed.ids[1]))
    assert listed.opened == [listed.ids[1]]
