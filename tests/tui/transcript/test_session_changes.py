"""Facts that are shown as one line."""

import pytest

from yourtool.events.files import FilesChanged, FilesRestored
from yourtool.foundation.file_images import FileImage, LeftFile, RecordedChange
from yourtool.tui.transcript.session_changes import describe_change
from yourtool.tui.transcript.timeline import Timeline

STORED = FileImage("file", digest="1", mode=0o644, size=1, stored=True)
LARGE = FileImage("file", digest="2", mode=0o644, size=2**30)


def notices(after, names, omitted=0):
    """Return the notices of the transcript about changes by a call."""
    changes = tuple(RecordedChange(path=each, before=STORED, after=after) for each in names)
    story = Timeline()
    story.apply(FilesChanged(tool_use_id="call", changes=changes, omitted=omitted))
    for item in story.items:
        item.lay_out(100)
    return [(item.mark[0], [line.text for line in item.rows]) for item in story.items]


@pytest.mark.req("R-UNDO-02")
def test_files_that_undo_cannot_restore_are_named_after_the_call():
    assert notices(STORED, ["a"]) == []
    assert notices(LARGE, ["a", "b"]) == [("!", ["/undo cannot take back changes to a, b"])]
    assert notices(STORED, ["a"], omitted=1_234) == [
        ("!", ["/undo cannot take back changes to 1,234 more files"])
    ]


def test_name_of_a_changed_file_is_one_visible_line():
    [(_, [text])] = notices(LARGE, ["a\n\x1b[2Jb"])
    assert text.isprintable()


@pytest.mark.req("R-UNDO-01")
@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["a"], "1 file: a"),
        (["a", "b"], "2 files: a, b"),
        ([".git/logs/refs/stash", ".git/refs/stash"], "the stash"),
        ([".git/refs/heads/my/branch", ".git/logs/refs/heads/my/branch"], "the branch my/branch"),
        ([".git/refs/tags/v1", "a"], "the tag v1, a"),
        ([".git/refs/remotes/origin/main"], "the remote branch origin/main"),
        ([".git/HEAD", ".git/index"], "the branch that is checked out, what is staged"),
        ([".git", ".git/config"], ".git, .git/config"),
    ],
)
def test_restored_parts_of_a_repository_have_the_names_of_git(paths, text):
    restored = FilesRestored(kind="undo", paths=tuple(paths))
    assert describe_change(restored) == ("info", f"Took back the changes to {text}")


def test_part_of_a_repository_that_is_left_has_the_name_of_git():
    left = (LeftFile(".git/refs/heads/side", "was changed since"),)
    restored = FilesRestored(kind="undo", paths=("a",), left=left)
    assert describe_change(restored) == (
        "warning",
        "Took back the changes to 1 file: a. Left as they are: the branch side (was changed since)",
    )
