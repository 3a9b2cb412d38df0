"""Which changes of a session can be taken back, folded from its facts."""

import itertools

import pytest

from yourtool.agent.history.file_history import FileHistory, TurnChanges
from yourtool.events.facts import UNSTAMPED
from yourtool.events.files import FileChangeFailed, FilesChanged, FilesRestored, FilesRestoring
from yourtool.events.sessions import SessionImported
from yourtool.events.turns import TurnStarted
from yourtool.foundation.file_images import ABSENT_FILE, FileImage, Hunk, LeftFile, RecordedChange
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import PromptMessage

pytestmark = pytest.mark.req("R-UNDO-01", "R-UNDO-02")
numbers = itertools.count(1)


def image(content):
    return FileImage("file", digest=content, mode=0o644, size=1, stored=True)


def prompt(name):
    content = [TextBlock(text=name)]
    return PromptMessage(id=name, session_id="s", created_at=UNSTAMPED, content=content)


def start(history, turn, message=None):
    history.apply(
        TurnStarted(
            turn_id=turn,
            user_message_hash="",
            estimated_input_tokens=0,
            has_images=False,
            has_tool_calls_in_history=False,
            message=None if message is None else prompt(message),
        )
    )


def change(history, turn, path, before, after, **fields):
    """Record the change of a file; return the id of the fact."""
    states = [ABSENT_FILE if each is None else image(each) for each in (before, after)]
    changed = RecordedChange(
        path=path,
        before=states[0],
        after=states[1],
        hunks=(Hunk(1, 1, 1, 2),),
        directories=fields.pop("directories", ()),
    )
    name = f"event{next(numbers):06}"
    history.apply(
        FilesChanged(id=name, turn_id=turn, tool_use_id="call", changes=(changed,), **fields)
    )
    return name


def restore(history, plan, *, paths=None):
    """Record that a plan was carried out."""
    history.apply(
        FilesRestoring(kind=plan.kind, turns=plan.turns, files=plan.files, through=plan.through)
    )
    restored = tuple(each.path for each in plan.files) if paths is None else paths
    history.apply(FilesRestored(id=f"event{next(numbers):06}", kind=plan.kind, paths=restored))


def digests(plan):
    return {each.path: (each.before.digest, each.after.digest) for each in plan.files}


@pytest.fixture
def history():
    found = FileHistory()
    start(found, "t1", "p1")
    change(found, "t1", "a", "0", "1")
    start(found, "t2", "p2")
    change(found, "t2", "a", "1", "2")
    change(found, "t2", "b", None, "x")
    return found


def test_new_session_has_nothing_to_take_back():
    history = FileHistory()
    start(history, "retry")
    assert history.plan_undo() is history.plan_redo() is None
    assert history.plan_rewind("p1") is history.count("p1") is history.find_states("a") is None


def test_last_turn_is_taken_back_first(history):
    plan = history.plan_undo()
    assert (plan.kind, plan.turns, plan.left) == ("undo", ("t2",), ())
    assert digests(plan) == {"a": ("2", "1"), "b": ("x", "")}
    restore(history, plan)
    assert digests(history.plan_undo()) == {"a": ("1", "0")}
    restore(history, history.plan_undo())
    assert history.plan_undo() is None


def test_redo_is_the_last_undo_in_reverse_until_a_file_changes(history):
    restore(history, history.plan_undo())
    restore(history, history.plan_undo())
    again = history.plan_redo()
    assert (again.kind, again.turns, digests(again)) == ("redo", ("t1",), {"a": ("0", "1")})
    restore(history, again)
    assert digests(history.plan_redo()) == {"a": ("1", "2"), "b": ("", "x")}
    assert digests(history.plan_undo()) == {"a": ("1", "0")}
    change(history, "t3", "c", "0", "1")
    assert history.plan_redo() is None


def test_first_and_last_state_of_a_file_are_those_of_all_its_changes(history):
    change(history, "t2", "a", "2", "0")
    assert tuple(each.digest for each in history.find_states("a")) == ("0", "0")


def test_turn_that_changes_files_again_can_be_taken_back_again(history):
    restore(history, history.plan_undo())
    change(history, "t2", "a", "1", "3")
    assert digests(history.plan_undo()) == {"a": ("3", "1")}


def test_rewind_takes_back_all_turns_since_a_prompt_with_its_retries(history):
    start(history, "t3")
    change(history, "t3", "a", "2", "3")
    assert digests(history.plan_rewind("p2")) == {"a": ("3", "1"), "b": ("x", "")}
    assert digests(history.plan_rewind("p1")) == {"a": ("3", "0"), "b": ("x", "")}
    assert history.plan_rewind("p1").turns == ("t1", "t2", "t3")
    assert history.plan_rewind("other") is None
    restore(history, history.plan_rewind("p2"))
    assert history.plan_rewind("p2") is None
    assert digests(history.plan_rewind("p1")) == {"a": ("1", "0")}


def test_return_restores_the_files_as_they_were_after_any_fact():
    history = FileHistory()
    start(history, "t1", "p1")
    first = change(history, "t1", "a", "0", "1")
    start(history, "t2", "p2")
    second = change(history, "t2", "a", "1", "2")
    third = change(history, "t2", "b", None, "x")
    own = change(history, None, "c", "u", "v")
    for through, turns, files in (
        ("", ("t1", "t2"), {"a": ("2", "0"), "b": ("x", "")}),
        (first, ("t2",), {"a": ("2", "1"), "b": ("x", "")}),
        (second, ("t2",), {"b": ("x", "")}),
    ):
        plan = history.plan_return(through)
        assert (plan.kind, plan.turns, digests(plan)) == ("rewind", turns, files)
        assert (plan.left, plan.through) == ((), through)
    assert history.plan_return(third) is history.plan_return(own) is None


def test_turns_are_undone_between_two_returns(history):
    last = change(history, "t2", "b", "x", "y")
    restore(history, history.plan_return(""))
    assert history.plan_return("") is None
    assert history.plan_undo() is None
    again = history.plan_return(last)
    assert (again.turns, digests(again)) == ((), {"a": ("0", "2"), "b": ("", "y")})
    restore(history, again)
    assert history.plan_undo().turns == ("t2",)
    assert history.plan_return(last) is None


def test_return_names_a_file_that_it_cannot_restore(history):
    changed = RecordedChange(path="c", before=image("0"), after=FileImage("file", digest="1"))
    history.apply(FilesChanged(id="f", turn_id="t3", tool_use_id="call", changes=(changed,)))
    start(history, "t3", "p3")
    plan = history.plan_return("event9")
    assert (plan.turns, plan.files, [each.path for each in plan.left]) == (("t3",), (), ["c"])


def test_changes_of_a_prompt_are_counted_with_those_that_are_not_listed(history):
    change(history, "t2", "a", "2", "3", omitted=5)
    assert history.count("p2") == TurnChanges(files=2 + 5, added=6, removed=3)
    assert history.count("p1") == TurnChanges(files=1, added=2, removed=1)


def test_files_that_are_not_listed_are_named_as_left(history):
    change(history, "t2", "a", "2", "3", omitted=1_234)
    assert history.plan_undo().left == (LeftFile("1,234 more files", "too many changed at once"),)


def test_edit_of_somebody_else_ends_what_is_taken_back(history):
    change(history, "t3", "a", "mine", "3")
    change(history, "t3", "a", "3", "4")
    assert digests(history.plan_undo()) == {"a": ("4", "mine")}
    plan = history.plan_rewind("p1")
    assert digests(plan)["a"] == ("4", "mine")
    assert [each.path for each in plan.left] == ["a"]
    assert tuple(each.digest for each in history.find_states("a")) == ("mine", "4")


def test_file_that_is_as_before_is_not_restored(history):
    change(history, "t3", "a", "2", "3")
    change(history, "t3", "a", "3", "2")
    assert history.plan_undo().files == ()


@pytest.mark.parametrize("secret", [0, 1])
def test_content_that_was_not_stored_is_left(history, secret):
    states = [image("2"), image("3")]
    states[secret] = FileImage("file", digest=states[secret].digest, mode=0o644)
    changed = RecordedChange(path="a", before=states[0], after=states[1])
    history.apply(FilesChanged(id="e", turn_id="t3", tool_use_id="call", changes=(changed,)))
    plan = history.plan_undo()
    assert plan.files == ()
    assert plan.left[0].reason.startswith("its content was not stored")


def test_change_that_failed_is_forgotten_and_the_others_stay(history):
    name = change(history, "t3", "a", "2", "3")
    other = change(history, "t3", "c", None, "y")
    history.apply(FileChangeFailed(tool_use_id="call", changed_event_id=name))
    assert digests(history.plan_undo()) == {"c": ("y", "")}
    history.apply(FileChangeFailed(tool_use_id="call", changed_event_id=other))
    assert history.plan_undo().turns == ("t2",)
    assert history.find_states("c") is None


def test_changes_of_an_imported_session_happened_to_other_files(history):
    restore(history, history.plan_undo())
    history.apply(SessionImported(source_session_id="other"))
    assert history.plan_undo() is history.plan_redo() is history.plan_rewind("p1") is None
    assert history.count("p1") is None


def test_restore_without_a_beginning_is_ignored(history):
    before = history.plan_undo()
    history.apply(FilesRestored(id="e", kind="undo", paths=("a", "b")))
    assert history.plan_undo() == before
    history.apply(FilesRestoring(kind="redo", turns=("t2",), files=()))
    history.apply(FilesRestored(id="e", kind="redo", paths=()))
    assert history.plan_undo() == before


def test_restore_that_has_not_ended_is_unfinished(history):
    plan = history.plan_undo()
    fact = FilesRestoring(kind=plan.kind, turns=plan.turns, files=plan.files)
    history.apply(fact)
    assert history.unfinished == fact
    history.apply(FilesRestored(id="e", kind="undo", paths=("a",)))
    assert history.unfinished is None
    assert digests(history.plan_redo()) == {"a": ("1", "2")}


def test_directories_are_removed_with_the_file_for_which_they_were_created(history):
    change(history, "t3", "d/e/f", None, "1", directories=("d", "d/e"))
    change(history, "t3", "d/e/f", "1", "2")
    (file,) = history.plan_undo().files
    assert file.directories == ("d", "d/e")
    restore(history, history.plan_undo())
    restore(history, history.plan_redo())
    assert history.plan_undo().files[0].directories == ("d", "d/e")
    change(history, "t4", "d/e/f", "2", "3")
    assert history.plan_undo().files[0].directories == ()


def test_change_outside_a_turn_is_a_turn_of_its_own(history):
    name = change(history, None, "c", "0", "1")
    assert history.plan_undo().turns == (name,)
