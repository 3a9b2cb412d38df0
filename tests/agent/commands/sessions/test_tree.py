"""`/tree` as a list and as text."""

import pytest

from tests.agent.commands.test_handlers import collect, names, open_conversation
from tests.agent.harness import play
from yourtool.agent.commands.base import Choose, EditPrompt, EnterText, Report, StartTurn
from yourtool.agent.commands.sessions.tree import describe_branch_of
from yourtool.errors import UsageError
from yourtool.events.branches import BranchLabelled, BranchMerged, BranchSelected

pytestmark = pytest.mark.req("R-SEED-05", "R-PER-08")


@pytest.fixture
async def talk(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch) as conversation:
        await play(conversation.session.send("second"))
        yield conversation


def action(choose, key):
    return next(each for each in choose.actions if each.key == key).then


async def test_the_tree_as_text_numbers_its_entries(talk):
    [report] = await talk.run("/tree list")
    assert isinstance(report, Report)
    assert report.sections[0].rows == (
        ("1", "› hello"),
        ("2", "Hello."),
        ("3", "› second"),
        ("4 *", "Hello again."),
    )


async def test_long_entries_are_cut_in_the_text_but_not_in_the_list(talk):
    await play(talk.session.send("a long prompt " * 50))
    [report] = await talk.run("/tree list")
    assert report.sections[0].rows[4] == ("5", "› " + ("a long prompt " * 50)[:99] + "…")
    [choose] = await talk.run("/tree")
    assert len(choose.choices[4].title) > 600


async def test_a_number_continues_before_a_prompt_and_after_a_reply(talk):
    moved, edit = await talk.run("/tree 3")
    assert isinstance(moved, BranchSelected)
    assert edit == EditPrompt("second")
    assert [each.text for each in talk.session.state.messages] == ["hello", "Hello."]
    [_] = await talk.run("/tree 4")
    assert len(talk.session.state.messages) == 4


async def test_the_list_highlights_the_place_of_the_conversation(talk):
    [choose] = await talk.run("/tree")
    assert choose.current == names(choose)[-1]
    assert [each.mark for each in choose.choices] == ["", "", "", "*"]
    moved, _ = await collect(choose.then(names(choose)[0]))
    assert moved.leaf == ""


async def test_labels_are_shown_until_they_are_removed(talk):
    [choose] = await talk.run("/tree")
    [entry] = await collect(action(choose, "ctrl+r")(names(choose)[1]))
    assert isinstance(entry, EnterText)
    labelled, again = await collect(entry.then("good"))
    assert isinstance(labelled, BranchLabelled)
    assert again.choices[1].title == "[good] Hello."
    [_] = await talk.run("/tree 2 label")
    [report] = await talk.run("/tree list")
    assert report.sections[0].rows[1] == ("2", "Hello.")


async def test_a_branch_is_left_with_a_summary(talk):
    moved, _, turn = await talk.run("/tree 3 summary with numbers")
    assert isinstance(moved, BranchSelected)
    assert isinstance(turn, StartTurn)
    await turn.events.aclose()
    [choose] = await talk.run("/tree")
    assert isinstance([*await collect(action(choose, "ctrl+s")(names(choose)[0]))][-1], StartTurn)


async def test_marked_messages_of_another_branch_are_merged(talk):
    await talk.run("/tree 3")
    [choose] = await talk.run("/tree")
    for index in (2, 3):
        [choose] = await collect(action(choose, "ctrl+x")(names(choose)[index]))
        assert isinstance(choose, Choose)
    assert "Ctrl+G merge 2" in [each.label for each in choose.actions]
    [merged] = await collect(action(choose, "ctrl+g")(names(choose)[0]))
    assert isinstance(merged, BranchMerged)
    assert [each.text for each in talk.session.state.conversation][2:] == ["second", "Hello again."]
    [report] = await talk.run("/tree list")
    assert report.sections[0].rows[-1] == ("5 *", "└─ ⑂ 2 messages merged")


async def test_calls_and_results_are_shown_on_request(talk):
    [choose] = await talk.run("/tree")
    [again] = await collect(action(choose, "ctrl+o")(""))
    assert len(again.choices) == 4
    [report] = await talk.run("/tree list all")
    assert len(report.sections[0].rows) == 4


@pytest.mark.parametrize("text", ["/tree 9", "/tree x", "/tree list some", "/tree 1 jump"])
async def test_an_unknown_argument_is_an_error(talk, text):
    with pytest.raises(UsageError, match="/tree"):
        await talk.run(text)


async def test_a_message_of_another_branch_has_a_way_to_it(talk):
    last = talk.session.state.messages[-1].id
    assert await describe_branch_of(talk.session, last) == ""
    await talk.run("/tree 3")
    assert "`/tree 4`" in await describe_branch_of(talk.session, last)
