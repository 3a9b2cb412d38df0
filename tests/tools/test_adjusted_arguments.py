import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.contexts import call, get_refusal
from yourtool.errors import ToolFailure
from yourtool.tools.adjusted_arguments import adjust_arguments
from yourtool.tools.builtin import default_toolbox
from yourtool.tools.edits.edit import edit_file

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "command": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "share": {"type": "number", "maximum": 1},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["old"],
            },
        },
    },
    "required": ["path", "edits"],
}
EDIT = {"old": "a", "count": 2}


def adjusted(**arguments):
    return adjust_arguments(SCHEMA, arguments).values


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limit": "10"}, {"limit": 10}),
        ({"limit": " 10.0 "}, {"limit": 10}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"deep": "True"}, {"deep": True}),
        ({"deep": "false"}, {"deep": False}),
        ({"limit": None, "deep": None}, {}),
        ({"content": None, "command": None}, {}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"edits": json.dumps([EDIT])}, {"edits": [EDIT]}),
        ({"edits": json.dumps(EDIT)}, {"edits": [EDIT]}),
        ({"edits": EDIT}, {"edits": [EDIT]}),
        ({"edits": [json.dumps(EDIT)]}, {"edits": [EDIT]}),
        ({"edits": [{"old": "a", "count": "2"}]}, {"edits": [EDIT]}),
        ({"path": "f", "old": "a", "count": "2"}, {"path": "f", "edits": [EDIT]}),
    ],
)
def test_form_with_a_clear_meaning_is_adjusted(given, expected):
    assert adjusted(**given) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"limit": "ten"},
        {"limit": "1.5"},
        {"limit": "1e3"},
        {"limit": "9" * 40},
        {"limit": True},
        {"deep": "yes"},
        {"deep": 1},
        {"path": None},
        {"edits": None},
        {"path": '["a"]', "content": "{}", "command": "12"},
        {"path": 3, "content": {"a": 1}, "command": 4},
        {"edits": [{"old": "[1]"}]},
        {"edits": '[{"old": "a"'},
        {"edits": '[], "path": "x"'},
        {"edits": '["\\u0000"]'},
        {"edits": "text"},
        {"old": "a", "more": 1},
        {"old": "a", "edits": []},
        {"unknown": "1"},
    ],
)
def test_form_without_a_clear_meaning_is_unchanged(given):
    assert adjusted(**given) == given


@pytest.mark.parametrize(
    ("given", "expected", "note"),
    [
        ({"limit": 5_000}, {"limit": 100}, "`limit` can be at most 100, so 100 was used."),
        ({"limit": "0"}, {"limit": 1}, "`limit` can be at least 1, so 1 was used."),
        ({"share": 1.5}, {"share": 1}, "`share` can be at most 1, so 1 was used."),
    ],
)
def test_number_beyond_a_bound_becomes_the_bound_and_is_reported(given, expected, note):
    result = adjust_arguments(SCHEMA, given)
    assert (result.values, result.notes) == (expected, (note,))


NAMES = st.sampled_from(["path", "edits", "old", "new", "limit", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["path", "edits", "old", "limit", "content"]), JSON))
def test_arguments_of_the_model_are_never_changed_in_place(arguments):
    before = copy.deepcopy(arguments)
    for tool in default_toolbox():
        result = adjust_arguments(tool.definition.input_schema, arguments)
        again = adjust_arguments(tool.definition.input_schema, result.values)
        assert repr(again.values) == repr(result.values)
    assert repr(arguments) == repr(before)


@given(st.text(max_size=30))
def test_text_of_commands_paths_and_contents_never_changes(text):
    for tool in default_toolbox():
        for name in ("command", "content", "path"):
            values = adjust_arguments(tool.definition.input_schema, {name: text}).values
            assert values == {name: text}


@pytest.mark.req("R-TOOL-09")
async def test_old_and_new_can_be_outside_of_edits(context, root):
    (root / "f").write_text("a b")
    for arguments in (
        {"path": "f", "old": "a", "new": "A"},
        {"path": "f", "edits": '[{"old": "b", "new": "B", "replace_all": "true"}]'},
    ):
        await call(edit_file, context, **edit_file.adjust(arguments).values)
    assert (root / "f").read_text() == "A B"


async def test_unknown_argument_is_an_error_with_the_nearest_known_one(context):
    await get_refusal(
        edit_file, context, "$.edit: unknown field; did you mean `edits`? Otherwise use one of",
        failure=ToolFailure.VALIDATION_ERROR, path="f", edit=[],
    )  # fmt: skip
    await get_refusal(
        edit_file, context, "$.zzzz: unknown field; use one of",
        failure=ToolFailure.VALIDATION_ERROR, path="f", zzzz=[],
    )  # fmt: skip
