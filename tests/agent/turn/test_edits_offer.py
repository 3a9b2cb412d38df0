"""A question about an edit offers to accept all edits of the session."""

from msgspec.structs import replace

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.trusted_folders import trust
from yourtool.agent.turn.calls.approvals import EDITS_ACCEPTED
from yourtool.events.deltas import Notice
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tui.questions.approval_text import approval_details, approval_options

EDITS = replace(ALLOW, accepts_edits=True)


async def write(bench, user, *paths, **options):
    """Let a model write files one after the other; return the session and its events."""
    replies = [calls("write_file", path=each, content="x = 1\n") for each in paths]
    session = await bench.session(
        Checked(Scripted([*replies, says("done")])), confirm=user, **options
    )
    events = await play(session.send("go"))
    await session.close()
    return session, events


async def test_accepted_edits_ask_no_more_and_the_mode_shows_it(bench):
    user = User(EDITS)
    session, events = await write(bench, user, "server.js", "src/app.js", ".gitignore")
    [asked] = user.asked
    assert asked.offers_edits
    assert (bench.workspace / "src/app.js").exists()
    assert session.gate.mode is Mode.ACCEPT_EDITS
    assert [each.text for each in events if isinstance(each, Notice)] == [EDITS_ACCEPTED]


async def test_accepted_edits_still_ask_for_protected_places_and_credentials(bench):
    user = User(EDITS, DENY, DENY)
    await write(bench, user, "server.js", ".git/hooks/pre-commit", ".env")
    assert [each.offers_edits for each in user.asked] == [True, False, False]


async def test_edit_that_was_allowed_once_asks_again(bench):
    user = User(ALLOW, ALLOW)
    session, _ = await write(bench, user, "a.py", "b.py")
    assert [each.offers_edits for each in user.asked] == [True, True]
    assert session.gate.mode is Mode.ASK


async def test_question_about_an_edit_names_each_answer(bench):
    trust(bench.workspace)
    user = User(DENY)
    await write(bench, user, "app.py")
    [asked] = user.asked
    letters = [each.letter for each in approval_options(asked)]
    assert letters == ["a", "s", "d", "w", "p", "m", "e", "r"]
    assert approval_details(asked) == [
        "w: Allow every edit of `app.py` in this folder, from now on",
    ]


async def test_accepted_edits_end_with_the_session(bench):
    await write(bench, User(EDITS), "a.py")
    user = User(ALLOW)
    session, _ = await write(bench, user, "b.py")
    assert [each.offers_edits for each in user.asked] == [True]
    assert session.gate.mode is Mode.ASK
