"""Destructive git commands over uncommitted work: the question, the copy and the way back."""

import shutil

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.protection.test_safety_copies import build_repository, content, git, make_dirty
from yourtool.effects import Decision, Verdict
from yourtool.events.deltas import Notice
from yourtool.events.tools import ToolConfirmationRequested
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode

EVERY_COMMAND = RuleSet(allow=(Rule("shell"),))


@pytest.fixture
def work(bench):
    return build_repository(bench.workspace)


async def run(bench, *lines, answers=(ALLOW,), **options):
    """Play calls, one in each reply; return the session, the user and the events."""
    user = User(*answers)
    script = Checked(Scripted([*lines, says("done")]))
    session = await bench.session(script, confirm=user, **options)
    events = await play(session.send("go"))
    return session, user, events


def find_copies(bench):
    """Return the references of the copies in the repository of saved objects."""
    return [
        name
        for store in (bench.root / "blobs/repositories").glob("*.git")
        for name in git(store, "for-each-ref", "--format=%(refname)", "refs/copies").split()
    ]


def result(session):
    last = [message for message in session.state.messages if message.role == "tool"][-1]
    return "".join(block.text for block in last.content[-1].content)


def command(line):
    return calls("shell", command=line)


@pytest.mark.req("T29", "R-CONF-02")
@pytest.mark.parametrize(
    "options",
    [{}, {"mode": Mode.AUTO}, {"mode": Mode.ACCEPT_EDITS}, {"rules": EVERY_COMMAND}],
)
async def test_loss_of_work_of_the_user_is_asked_about_in_every_mode(bench, work, options):
    make_dirty(work)
    before = content(work)
    session, user, events = await run(
        bench, command("git reset --hard"), answers=(DENY,), **options
    )
    (question,) = user.asked
    assert "discards the uncommitted changes of 2 files: a.txt" in question.consequences.cautions[0]
    assert question.reason == "it discards uncommitted work: every mode needs an approval"
    assert question.rules == ()
    (requested,) = [e for e in events if isinstance(e, ToolConfirmationRequested)]
    assert requested.judgement.loses_work
    assert content(work) == before
    assert find_copies(bench) == [], "nothing is written before the approval"
    await session.close()


@pytest.mark.req("T29", "R-UNDO-01")
async def test_copy_is_made_first_and_undo_and_git_bring_the_work_back(bench, work):
    make_dirty(work)
    before = content(work)
    line = command("git reset -q --hard && git clean -qfdx")
    session, _, events = await run(bench, line)
    (ref,) = find_copies(bench)
    assert "new é.txt" not in content(work)
    assert result(session).count(ref) == 1
    assert "[Made a safety copy of uncommitted work: " in result(session)
    assert "git restore --source=" in result(session)
    assert not any(ref in e.text for e in events if isinstance(e, Notice)), "once is enough"
    await play(session.files.undo())
    assert content(work) == before
    await session.close()


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("git branch -D side", "the branch side"),
        ("git branch -D side other", "the branches side, other"),
        ("git stash drop", "the stash"),
        ("git stash clear; git branch -D side", "the stash and the branch side"),
        ("git reset -q --hard; git branch -D side", "uncommitted work and the branch side"),
    ],
)
async def test_copy_is_named_by_what_it_is_of(bench, work, line, subject):
    git(work, "branch", "side")
    git(work, "branch", "other")
    (work / "a.txt").write_text("stashed\n")
    git(work, "stash", "-q")
    (work / "a.txt").write_text("work of the user\n")
    session, _, _ = await run(bench, command(line))
    assert f"[Made a safety copy of {subject}: " in result(session)
    (ref,) = find_copies(bench)
    (store,) = (bench.root / "blobs/repositories").glob("*.git")
    text = git(store, "log", "-1", "--format=%s", ref)
    assert text.lower().startswith(f"{subject} before git ")
    await session.close()


@pytest.mark.req("T29", "R-UNDO-02")
async def test_undo_restores_files_beyond_the_limits_of_the_journal(bench, work):
    large = b"x" * (5 * 2**20)
    (work / "a.txt").write_bytes(large)
    session, _, _ = await run(bench, command("git checkout -q -- a.txt"))
    assert (work / "a.txt").read_bytes() != large
    await play(session.files.undo())
    assert (work / "a.txt").read_bytes() == large
    await session.close()


@pytest.mark.req("T29")
@pytest.mark.parametrize("line", ["git stash drop", "git stash clear", "true; git stash drop -q"])
@pytest.mark.parametrize("options", [{"mode": Mode.AUTO}, {"rules": EVERY_COMMAND}])
async def test_removal_of_a_stash_is_asked_about_in_every_mode(bench, work, line, options):
    (work / "a.txt").write_text("mine\n")
    git(work, "stash")
    session, user, _ = await run(bench, command(line), answers=(DENY,), **options)
    (question,) = user.asked
    assert "`git stash` removes 1 stash" in question.consequences.cautions[0]
    assert git(work, "stash", "list").count("stash@") == 1
    await session.close()


@pytest.mark.req("T29")
async def test_stash_that_the_line_makes_and_uses_is_not_asked_about(bench, work):
    (work / "a.txt").write_text("mine\n")
    line = command("git stash -q && git stash pop -q")
    session, user, _ = await run(bench, line, mode=Mode.AUTO)
    assert user.asked == []
    await session.close()


@pytest.mark.req("T29")
async def test_loss_of_what_the_agent_wrote_is_not_asked_about_in_auto(bench, work):
    edit = calls("write_file", path="a.txt", content="by the agent\n")
    create = calls("write_file", path="own.txt", content="by the agent\n")
    lose = command("git checkout -- . && git clean -fd")
    session, user, _ = await run(bench, edit, create, lose, mode=Mode.AUTO)
    assert user.asked == []
    assert "own.txt" not in content(work)
    assert len(find_copies(bench)) == 1
    await session.close()


@pytest.mark.req("T29")
async def test_edit_of_the_agent_over_work_of_the_user_is_work_of_the_user(bench, work):
    (work / "a.txt").write_text("by the user\n")
    read = calls("read_file", path="a.txt")
    edit = calls("edit_file", path="a.txt", old_text="user", new_text="agent")
    lose = command("git checkout -- .")
    session, user, _ = await run(bench, read, edit, lose, mode=Mode.AUTO)
    assert len(user.asked) == 1
    await session.close()


@pytest.mark.req("T29")
async def test_what_is_allowed_runs_where_nobody_can_answer_with_a_copy(bench, work):
    make_dirty(work)
    options = {"mode": Mode.AUTO, "interactive": False}
    session, user, _ = await run(bench, command("git reset -q --hard"), **options)
    assert user.asked == []
    assert (work / "a.txt").read_text() == "a.txt as committed\n"
    assert find_copies(bench)[0] in result(session)
    await session.close()


@pytest.mark.req("T29")
@pytest.mark.parametrize(
    "answer", [ALLOW, DENY, Decision(verdict=Verdict.EDIT, edited_input={"command": "touch x"})]
)
async def test_copy_that_fails_is_asked_about_again(bench, work, answer):
    make_dirty(work)
    objects = work / ".git/objects"

    def allow_and_break(question):
        del question
        shutil.move(objects, work / ".git/elsewhere")
        objects.write_text("not a directory")
        return ALLOW

    line = command("cp a.txt saved.txt; git reset --hard")
    session, user, _ = await run(bench, line, answers=(allow_and_break, answer))
    assert user.asked[1].reason.startswith("no safety copy of what it discards could be made")
    assert user.asked[1].preview.editable is None
    assert (work / "saved.txt").exists() == (answer is ALLOW)
    assert "No safety copy of uncommitted work was made" in result(session)
    await session.close()


@pytest.mark.req("T29")
async def test_clean_tree_needs_no_question_of_its_own_and_no_copy(bench, work):
    session, user, _ = await run(bench, command("git reset --hard"), mode=Mode.AUTO)
    assert user.asked == []
    assert find_copies(bench) == []
    await session.close()
