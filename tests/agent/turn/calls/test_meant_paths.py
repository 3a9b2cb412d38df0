"""Calls about a file whose name is written in another way."""

import pytest

from tests.agent.harness import DENY, User, play
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

SHOT = "Screenshot at 3.04.05\u202fPM.txt"


async def test_answer_shows_the_difference_and_an_edit_changes_the_file(bench):
    (bench.workspace / SHOT).write_text("one\n")
    asked = SHOT.replace("\u202f", " ")
    script = Scripted(
        [
            calls("read_file", path=asked)
            + calls("edit_file", path=asked, edits=[{"old": "one", "new": "two"}]),
            says("Done."),
        ]
    )
    session = await bench.session(script, mode=Mode.AUTO)
    await play(session.send("go"))
    sent = str(script.requests[-1].messages)
    assert f"`{asked}` does not exist; `{SHOT.encode('ascii', 'backslashreplace').decode()}`" in (
        sent.replace("\\\\", "\\")
    )
    assert (bench.workspace / SHOT).read_text() == "two\n"


@pytest.mark.parametrize("asked", [".ENV", ".env\u200b", ".\uff45nv"])
async def test_credential_file_that_is_found_needs_an_approval(bench, asked):
    (bench.workspace / ".env").write_text("KEY=hidden-value\n")
    script = Scripted([calls("read_file", path=asked), says("Done.")])
    user = User(DENY)
    session = await bench.session(script, mode=Mode.AUTO, confirm=user)
    await play(session.send("go"))
    assert len(user.asked) == 1
    assert "hidden-value" not in str(script.requests[-1].messages)


async def test_rules_hold_for_the_file_that_is_found(bench):
    (bench.workspace / "secret.txt").write_text("hidden-value\n")
    script = Scripted([calls("read_file", path="Secret.txt"), says("Done.")])
    rules = RuleSet(deny=(Rule.parse("read_file(secret.txt)"),))
    session = await bench.session(script, mode=Mode.AUTO, rules=rules)
    await play(session.send("go"))
    assert "hidden-value" not in str(script.requests[-1].messages)
