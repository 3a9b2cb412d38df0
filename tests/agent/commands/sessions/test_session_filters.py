"""The words and options of `/search` and of the list of sessions (R-PER-09)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.store.turns import PROMPT, FactBuilder, changed
from yourtool.agent.commands.base import EnterText, ShowMessage
from yourtool.agent.commands.sessions.session_filters import Search, parse_search
from yourtool.agent.commands.sessions.session_list import SessionList
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.messages.message import now
from yourtool.paths import resolve_paths
from yourtool.store.base import SearchFilter
from yourtool.store.sqlite.database import Database
from yourtool.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.req("R-PER-09")

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
HERE = Path("/home/ada/tally")


def parse(text):
    return parse_search(text, HERE, NOW)


def test_text_without_options_is_words_only():
    assert parse(" don't it's  ") == Search(words="don't it's")
    assert parse("") == Search()


def test_every_option_of_the_shell_is_one_of_the_search():
    found = parse(
        'slow --model gpt --file "./src/my file.py" --tool-failed --since 7d --until=2026-11-20'
        " --min-cost $0.50 --here query"
    )
    assert found.words == "slow query" and found.workspaces == (str(HERE),)
    assert found.wanted == SearchFilter(
        model="gpt",
        file="src/my file.py",
        tool_failed=True,
        since=NOW - timedelta(days=7),
        until=datetime(2026, 11, 20).astimezone(),
        min_cost=Decimal("0.50"),
    )
    assert parse("--dir ../other x").workspaces == (str(HERE / "../other"),)
    assert parse("it's --tool-failed").words == "it's"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--modle gpt", "did you mean `--model`"),
        ("--zzz", "the options are"),
        ("--since", "`--since` needs a value"),
        ("--since soon", "is no time"),
        ("--min-cost much", "no amount in US dollars"),
        ("--min-cost nan", "no amount in US dollars"),
        ("--min-cost -1", "no amount in US dollars"),
    ],
)
def test_invalid_option_is_rejected_with_the_remedy(text, problem):
    with pytest.raises(UsageError, match=problem):
        parse(text)


class Listed:
    """The list over three stored sessions, the last of which has a call that failed."""

    async def open(self, root):
        paths = resolve_paths()
        self.store, self.opened = SqliteStore(Database(root / "sessions.db")), []
        self.ids = []
        for days, text in enumerate(("the red fox", "the red dog", "a blue whale")):
            builder = FactBuilder(workspace=str(root))
            start, (asked, *rest) = builder.session_start(), builder.turn()
            block = changed(asked.message.content[0], text=text)
            past = now() - timedelta(days=days)
            message = changed(asked.message, content=(block,), created_at=past)
            asked = changed(asked, message=message)
            facts = [changed(fact, timestamp=past) for fact in (start, asked, *rest)]
            await self.store.append(*facts)
            self.ids.append(builder.session_id)
            self.messages = [*getattr(self, "messages", ()), asked.message.id]
        session = SimpleNamespace(id="", project=root)
        runtime = SimpleNamespace(store=self.store, paths=paths)
        self.list = SessionList(session, runtime, open_session=self.open_session)
        return self

    async def open_session(self, session_id):
        self.opened.append(session_id)
        yield Notice(level="info", text="opened")

    async def find(self, text):
        """Press the key of the list and enter a text; return what is shown then."""
        [shown] = [each async for each in self.list.show()]
        [action] = [each for each in shown.actions if each.key == "ctrl+f"]
        [entry] = [each async for each in action.then("")]
        assert isinstance(entry, EnterText)
        return [each async for each in entry.then(text)]


@pytest.fixture
async def listed(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    listed = await Listed().open(tmp_path)
    yield listed
    await listed.store.close()


async def test_list_finds_sessions_and_opens_one_at_the_message(listed):
    [shown] = await listed.find("red --since 30d")
    assert {each.value for each in shown.choices} == set(listed.ids[:2])
    assert any("you: the red fox" in each.detail for each in shown.choices)
    notice, message = [each async for each in shown.then(listed.ids[1])]
    assert (notice.text, listed.opened) == ("opened", [listed.ids[1]])
    assert message == ShowMessage(listed.messages[1])
    [everything] = [each async for each in shown.actions[0].then("")]
    assert len(everything.choices) == 3


async def test_list_finds_sessions_by_options_alone(listed):
    [shown] = await listed.find("--until 1d")
    assert {each.value for each in shown.choices} <= set(listed.ids[1:]) and shown.choices
    assert [each async for each in shown.then(listed.ids[2])] == [
        Notice(level="info", text="opened")
    ]


async def test_invalid_option_shows_the_list_again(listed):
    notice, shown = await listed.find("--sinc 1d")
    assert notice.level == "error" and "did you mean `--since`?" in notice.text
    assert len(shown.choices) == 3


async def test_search_returns_the_newest_message_of_each_session_once(listed):
    hits = await listed.store.search("", wanted=SearchFilter(since=NOW - timedelta(days=9999)))
    each = await listed.store.search(
        "", wanted=SearchFilter(since=NOW - timedelta(days=9999)), one_each=True
    )
    assert len({hit.session_id for hit in hits}) == len(each) == 3
    assert PROMPT not in {hit.snippet for hit in each}
