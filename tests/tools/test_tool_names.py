import pytest

from yourtool.tools.builtin import default_toolbox
from yourtool.tools.tool_names import find_tool_name

KNOWN = [each.name for each in default_toolbox().definitions]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Bash", "shell"),
        ("Read", "read_file"),
        ("READ_FILE", "read_file"),
        ("readFile", "read_file"),
        ("str_replace", "edit_file"),
        ("MultiEdit", "edit_file"),
        ("functions.shell", "shell"),
        ("TodoWrite", "update_plan"),
        ("WebFetch", "fetch_url"),
        ("LS", "list_dir"),
        ("grep_search", "grep"),
        ("GlobTool", "glob"),
        ("constructor", None),
        ("", None),
    ],
)
def test_name_from_habit_is_recognised(name, meant):
    assert find_tool_name(name, KNOWN) == meant


def test_synonym_of_a_missing_tool_is_not_recognised():
    assert find_tool_name("Bash", ["read_file"]) is None
