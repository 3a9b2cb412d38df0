import pytest

from tests.doubling import LINEAR, growth
from yourtool.tui.transcript.key_argument import get_key_argument
from yourtool.tui.transcript.tool_card import ToolCard

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"patch": PATCH}, "a.py, b.py"),
        ({"patch": "*** Add File: a.py\n+x\n*** Upd"}, "a.py"),
        ({"patch": "*** Add File: a.p"}, "*** Add File: a.p"),
        ({"patch": "--- a/x\n+++ b/x\n@@\n-x\n+y\n"}, "x"),
        ({"patch": ["a"], "note": "n"}, "n"),
        ({"content": "text", "path": "a.py"}, "a.py"),
        ({"other": "text"}, "text"),
        ({"path": 1}, ""),
        ({"id": "p3", "text": "print(6*7)"}, "p3: print(6*7)"),
    ],
)
def test_most_telling_argument_is_shown(arguments, shown):
    assert get_key_argument(arguments) == shown


def test_card_of_a_patch_is_described_with_its_paths():
    card = ToolCard("apply_patch")
    card.set_arguments({"patch": PATCH.replace("b.py", "b\x1b[2J")})
    assert "\x1b" not in card.activity
    assert card.activity.startswith("editing a.py, b")


@pytest.mark.parametrize("line", ["*** Add File: \n", "*** Add File:", "+++ b/" + " " * 9, "\n"])
@pytest.mark.sample(4)
def test_files_of_a_hostile_patch_are_found_in_linear_time(line):
    assert growth(get_key_argument, lambda n: {"patch": line * n}, 200) < LINEAR
