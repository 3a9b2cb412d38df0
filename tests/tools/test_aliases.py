"""Names of tools and arguments in hooks of other agents."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.tools.aliases import ALIASES, from_foreign, get_names, to_foreign
from yourtool.tools.builtin import default_toolbox

ROOT = Path("/work/project")
TOOLS = default_toolbox()


def test_every_alias_is_of_a_tool_and_its_fields_exist():
    for name, alias in ALIASES.items():
        tool = TOOLS.get(name)
        assert tool is not None
        assert {each.own for each in alias.fields} <= tool.definition.input_schema[
            "properties"
        ].keys()


@pytest.mark.parametrize(
    ("foreign", "own"),
    [("Bash", "shell"), ("Edit", "edit_file"), ("Write", "write_file"), ("Read", "read_file"),
     ("run_shell_command", "shell"), ("WebFetch", "fetch_url"), ("shell", "shell")],
)  # fmt: skip
def test_name_of_others_means_our_tool(foreign, own):
    assert foreign in get_names(own)


def test_tool_without_an_alias_keeps_its_name():
    arguments = {"path": "a", "x": 1}
    assert to_foreign("mcp__git__log", arguments, ROOT) == ("mcp__git__log", arguments)
    assert get_names("mcp__git__log") == ("mcp__git__log",)


def test_times_are_milliseconds_for_others():
    name, foreign = to_foreign("shell", {"command": "ls", "timeout_seconds": 120}, ROOT)
    assert (name, foreign) == ("Bash", {"command": "ls", "timeout": 120_000})
    assert from_foreign("shell", {"command": "ls", "timeout": 5_000}, {}, ROOT) == {
        "command": "ls",
        "timeout_seconds": 5,
    }


def test_fields_that_others_do_not_have_keep_their_value():
    original = {"command": "ls", "directory": "sub", "terminal": True}
    changed = from_foreign("shell", {"command": "rtk ls"}, original, ROOT)
    assert changed == {"command": "rtk ls", "directory": "sub", "terminal": True}


def test_several_edits_have_the_form_of_others():
    edits = [{"old": "a", "new": "b"}, {"old": "c", "new": "d", "replace_all": True}]
    _, foreign = to_foreign("edit_file", {"path": "x", "edits": edits}, ROOT)
    assert foreign["edits"][1] == {"old_string": "c", "new_string": "d", "replace_all": True}
    assert from_foreign("edit_file", foreign, {}, ROOT) == {"path": "x", "edits": edits}


PATHS = st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5}){0,3}", fullmatch=True)
TEXTS, BOOLEANS = st.text(max_size=20), st.booleans()
ARGUMENTS = st.one_of(
    st.tuples(st.just("shell"), st.fixed_dictionaries(
        {"command": TEXTS}, optional={"timeout_seconds": st.integers(1, 590),
                                      "background": st.booleans(), "directory": PATHS})),
    st.tuples(st.just("write_file"), st.fixed_dictionaries({"path": PATHS, "content": TEXTS})),
    st.tuples(st.just("read_file"), st.fixed_dictionaries(
        {"path": PATHS}, optional={"offset": st.integers(1, 9), "ranges": TEXTS})),
    st.tuples(st.just("grep"), st.fixed_dictionaries(
        {"pattern": TEXTS}, optional={"path": PATHS, "files": TEXTS, "ignore_case": BOOLEANS})),
    st.tuples(st.just("edit_file"), st.fixed_dictionaries(
        {"path": PATHS, "edits": st.lists(st.fixed_dictionaries(
            {"old": TEXTS, "new": TEXTS}, optional={"replace_all": st.booleans()}), min_size=1)})),
)  # fmt: skip


@given(ARGUMENTS)
def test_arguments_are_the_same_after_both_translations(call):
    tool, arguments = call
    _, foreign = to_foreign(tool, arguments, ROOT)
    assert from_foreign(tool, foreign, arguments, ROOT) == arguments
