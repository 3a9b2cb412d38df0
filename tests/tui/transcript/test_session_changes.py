"""Facts that are shown as one line."""

import pytest

from yourtool.events.files import FilesChanged
from yourtool.file_images import FileImage, RecordedChange
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
