import pytest

from yourtool.tools.builtin import default_toolbox
from yourtool.tools.tool_names import describe_unknown_tool, find_tool_name

DEFINITIONS = default_toolbox().definitions
KNOWN = [each.name for each in DEFINITIONS]


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


def test_wrong_name_is_answered_with_the_right_one_and_its_arguments():
    text = describe_unknown_tool("str_replace", DEFINITIONS)
    assert text.startswith(
        "There is no tool `str_replace`. Call `edit_file`, whose arguments are `path`, `edits`"
        " (an array of objects with `old`, `new`, `replace_all`). The tools are `read_file`, "
    )


def test_unknown_name_is_answered_with_all_names():
    assert describe_unknown_tool("frobnicate", DEFINITIONS[:2]) == (
        "There is no tool `frobnicate`. The tools are `read_file`, `write_file`."
    )
