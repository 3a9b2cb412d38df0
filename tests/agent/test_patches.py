"""Patches in a session: which models get the tool, the rules that cover it, undo."""

import re

import pytest
from msgspec.structs import replace

from tests.agent.harness import MODEL, OTHER, User, names, play
from yourtool.agent.history.stored_decisions import replay_decisions
from yourtool.agent.session.system_prompt import build_stable_message
from yourtool.effects import Decision, Verdict
from yourtool.errors import ToolFailure
from yourtool.events.files import FilesChanged
from yourtool.events.tools import ToolFailed
from yourtool.messages.invariants import validate_session
from yourtool.models import EDIT_TOOLS
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.store.sqlite.store import SqliteStore
from yourtool.tools.builtin import default_toolbox

PATCH = """\
*** Begin Patch
*** Update File: old.sh
*** Move to: bin/new.sh
@@
-echo 1
+echo 2
*** Update File: a.txt
@@
-a
+b
*** Add File: deep/down/c.txt
+c
*** Delete File: gone.txt
*** End Patch
"""
PATHS = ("old.sh", "bin/new.sh", "a.txt", "deep/down/c.txt", "gone.txt")
DENY = Decision(verdict=Verdict.DENY)


def patch(text=PATCH):
    return calls("apply_patch", patch=text)


@pytest.fixture
def work(bench):
    work = bench.workspace
    (work / "old.sh").write_text("echo 1\n")
    (work / "old.sh").chmod(0o750)
    (work / "a.txt").write_text("a\n")
    (work / "gone.txt").write_text("gone\n")
    return work


@pytest.fixture
def patching(bench):
    """A bench whose model `other` is trained on patches."""
    models = MODEL, replace(OTHER, edit_tool="apply_patch")
    bench.catalogue = Catalogue(models, "2026-01-01")
    return bench


def tree(root):
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.is_file() and path.read_bytes())
        for path in sorted(root.rglob("*"))
    }


def text_of(message):
    return "".join(block.text for block in message.content)


def rules(*allow, ask=(), deny=()):
    return RuleSet(*(tuple(map(Rule.parse, each)) for each in (allow, ask, deny)))


def offered(request):
    return [each.name for each in request.tools if each.name in ("edit_file", "apply_patch")]


@pytest.mark.req("R-UNDO-01", "R-TOOL-15")
async def test_undo_takes_back_all_files_of_a_patch_and_redo_makes_them_again(bench, work):
    before = tree(work)
    session = await bench.session(Scripted([patch(), says("Done.")]), mode=Mode.AUTO)
    await play(session.send("go"))
    after = tree(work)
    assert not (work / "old.sh").exists()
    assert after["bin/new.sh"] == (before["old.sh"][0], b"echo 2\n")
    for _ in range(2):
        await play(session.files.undo())
        assert tree(work) == before
        await play(session.files.redo())
        assert tree(work) == after


class Intruder(SqliteStore):
    """A store in which a file appears when the fact that creates it is stored."""

    def __init__(self, database, path):
        super().__init__(database)
        self.path = path

    async def append(self, *facts):
        for fact in facts:
            if isinstance(fact, FilesChanged) and fact.changes[0].path == "deep/down/c.txt":
                self.path.write_text("of somebody else\n")
        await super().append(*facts)


@pytest.mark.req("R-UNDO-01")
async def test_failure_in_the_middle_leaves_facts_that_undo_can_use(bench, work):
    before = tree(work)
    (work / "deep/down").mkdir(parents=True)
    bench.store = Intruder(bench.database, work / "deep/down/c.txt")
    session = await bench.session(Scripted([patch(), says("Done.")]), mode=Mode.AUTO)
    events = await play(session.send("go"))
    assert names(events).count("files.changed") == 3
    assert names(events).count("files.change_failed") == 1
    [failed] = [each for each in events if isinstance(each, ToolFailed)]
    assert "Changed: `bin/new.sh`, `a.txt`. Not changed: `deep/down/c.txt`" in failed.error_message
    assert (work / "a.txt").read_text() == "b\n"
    assert (work / "gone.txt").exists()
    await play(session.files.undo())
    assert (work / "deep/down/c.txt").read_text() == "of somebody else\n"
    after = tree(work)
    assert {name: after.get(name) for name in before} == before
    assert after.keys() - before.keys() == {"deep", "deep/down", "deep/down/c.txt"}
    await session.close()


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (rules(), "ask"),
        (rules("edit_file"), "allow"),
        (rules("write_file(**)"), "allow"),
        (rules("apply_patch"), "allow"),
        (rules("edit_file(*.txt)", "write_file(**/*.txt)", "apply_patch(**/*.sh)"), "allow"),
        (rules("edit_file(*.txt)"), "ask"),
        (rules("edit_file", deny=["write_file(bin/**)"]), "deny"),
        (rules("edit_file", deny=["edit_file(GONE.txt)"]), "deny"),
        (rules("edit_file", deny=["apply_patch(deep/**)"]), "deny"),
        (rules("edit_file", deny=["edit_file"]), "deny"),
        (rules("apply_patch", ask=["edit_file(old.sh)"]), "ask"),
        (rules("apply_patch", deny=["read_file", "shell"]), "allow"),
    ],
)
@pytest.mark.req("R-CONF-04")
async def test_rules_for_edits_and_writes_cover_a_patch_as_a_whole(bench, work, given, verdict):
    before, user = tree(work), User(DENY)
    session = await bench.session(Scripted([patch(), says("x")]), rules=given, confirm=user)
    events = await play(session.send("go"))
    assert len(user.asked) == (verdict == "ask")
    assert (tree(work) == before) == (verdict != "allow")
    failures = [each.error_class for each in events if isinstance(each, ToolFailed)]
    assert failures == ([] if verdict == "allow" else [ToolFailure.USER_DENIED])
    await session.close()


async def test_stored_decision_about_a_patch_is_made_again_with_all_its_paths(bench, work):
    session = await bench.session(Scripted([patch(), says("x")]), rules=rules("edit_file"))
    await play(session.send("go"))
    same = await replay_decisions(bench.store, lambda _: rules("edit_file"))
    assert (same.decisions, same.changes) == (1, ())
    other = await replay_decisions(
        bench.store, lambda _: rules("edit_file", deny=["write_file(gone.txt)"])
    )
    [change] = other.changes
    assert (change.tool, change.old, change.new) == ("apply_patch", "allow", "deny")
    assert set(PATHS) <= set(change.subjects)
    await session.close()


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.req("R-TOOL-07")
async def test_protected_path_of_a_patch_asks_in_every_mode(bench, work, mode):
    user, text = User(DENY), PATCH.replace("deep/down/c.txt", ".git/hooks/pre-commit")
    script = Scripted([patch(text), patch(), says("x")])
    session = await bench.session(script, mode=mode, confirm=user, rules=rules("apply_patch"))
    before = tree(work)
    await play(session.send("go"))
    assert [each.preview.protected for each in user.asked] == [True]
    assert tree(work) != before, "the other patch needs no approval"
    await session.close()


async def test_plan_mode_refuses_a_patch(bench, work):
    before = tree(work)
    session = await bench.session(Scripted([patch(), says("x")]), mode=Mode.PLAN)
    await play(session.send("go"))
    assert tree(work) == before
    await session.close()


async def test_model_gets_the_tool_that_its_row_names(patching, work):
    script = Scripted([
        calls("edit_file", path="a.txt", edits=[{"old": "a", "new": "b"}]), says("a"),
        patch("*** Update File: a.txt\n@@\n-b\n+c"), says("b"),
        calls("edit_file", path="a.txt", edits=[{"old": "c", "new": "d"}]), says("c"),
        patch("*** Update File: a.txt\n@@\n-d\n+e"), says("d"),
    ])  # fmt: skip
    session = await patching.session(script, mode=Mode.AUTO)
    await play(session.send("one"))
    await play(session.send("@other two"))
    await play(session.send("@other three"))
    await play(session.send("four"))
    found = [offered(request) for request in script.requests]
    assert found == [["edit_file"]] * 2 + [["apply_patch"]] * 4 + [["edit_file"]] * 2
    assert (work / "a.txt").read_text() == "e\n", "a call of the other tool runs, too"
    assert validate_session(session.state.messages) == []
    await session.close()


def test_system_prompt_names_only_tools_that_every_model_gets(tmp_path):
    named = set(re.findall(r"[a-z]+_[a-z]+", text_of(build_stable_message(tmp_path, "s", ""))))
    named |= {word for each in default_toolbox() for word in re.findall(
        r"`([a-z]+_[a-z]+)`", each.definition.description)}  # fmt: skip
    assert not named & set(EDIT_TOOLS)


async def test_wrong_name_is_answered_with_the_tool_that_the_model_gets(patching, work):
    wrong = calls("str_replace", path="a.txt")
    script = Scripted([wrong, says("a"), wrong, says("b")])
    session = await patching.session(script)
    answers = []
    for prompt in ("one", "@other two"):
        events = await play(session.send(prompt))
        answers += [each.error_message for each in events if isinstance(each, ToolFailed)]
    assert "Call `edit_file`" in answers[0]
    assert "apply_patch" not in answers[0]
    assert "Call `apply_patch`" in answers[1]
    assert "`edit_file`" not in answers[1]
    await session.close()


async def test_text_that_is_no_patch_is_recorded_as_invalid_input(bench, work):
    session = await bench.session(Scripted([patch("no patch"), says("x")]))
    events = await play(session.send("go"))
    assert "tool.input_invalid" in names(events)
    [failed] = [each for each in events if isinstance(each, ToolFailed)]
    assert 'line 1 is "no patch"; expected `*** Add File: PATH`' in failed.error_message
    await session.close()
