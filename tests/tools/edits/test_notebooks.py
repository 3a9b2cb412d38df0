"""Notebooks are read and edited as text, and stay valid JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import examples
from tests.tools.contexts import answer, call, get_refusal
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.edits.notebooks import open_notebook
from yourtool.tools.edits.patch import apply_patch
from yourtool.tools.files.files import read_file

CELLS = [
    {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# Título\n", "text"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "c1",
        "metadata": {"tags": []},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
        "source": ["x = 1\n", 'print("x", x)'],
    },
    {"cell_type": "code", "id": "c2", "metadata": {}, "outputs": [], "source": "y = 2"},
]
TEXT = (
    "# %% cell 1 (markdown)\n# Título\ntext\n"
    '# %% cell 2 (code)\nx = 1\nprint("x", x)\n'
    "# %% cell 3 (code)\ny = 2\n"
)


def dump(cells, **options):
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, **{"indent": 1, "ensure_ascii": False, **options}) + "\n"


@pytest.fixture
def file(root):
    (root / "n.ipynb").write_text(dump(CELLS))
    return root / "n.ipynb"


def sources(file):
    cells = json.loads(file.read_text())["cells"]
    return [
        (each["cell_type"], "".join(each["source"]), len(each.get("outputs", ()))) for each in cells
    ]


def edit(old, new):
    return {"path": "n.ipynb", "edits": [{"old": old, "new": new}]}


async def test_notebook_is_read_as_the_text_of_its_cells(context, file):
    said = await answer(read_file, context, path=file.name)
    assert "a notebook with 3 cells without the outputs of 2" in said
    shown = "".join(f"{line.partition(chr(9))[2]}\n" for line in said.splitlines()[1:])
    assert shown == TEXT


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ensure_ascii", [True, False])
async def test_edit_changes_the_source_of_a_cell_only(context, file, indent, ensure_ascii):
    file.write_text(dump(CELLS, indent=indent, ensure_ascii=ensure_ascii))
    said = await answer(edit_file, context, **edit('print("x", x)', 'print("é\\n", x)\nz = 3'))
    assert said.startswith("Edited `n.ipynb`. Changed cells: 2.")
    cells = [*CELLS]
    cells[1] = {**CELLS[1], "source": ["x = 1\n", 'print("é\\n", x)\n', "z = 3"]}
    assert file.read_text() == dump(cells, indent=indent, ensure_ascii=ensure_ascii)
    await call(edit_file, context, **edit("y = 2", "y = 3"))
    cells[2] = {**CELLS[2], "source": "y = 3"}
    assert file.read_text() == dump(cells, indent=indent, ensure_ascii=ensure_ascii)


async def test_patch_changes_a_cell(context, file):
    patch = "*** Begin Patch\n*** Update File: n.ipynb\n@@\n-x = 1\n+x = 2\n*** End Patch"
    await call(apply_patch, context, patch=patch)
    assert sources(file)[1] == ("code", 'x = 2\nprint("x", x)', 1)


async def test_cells_are_added_and_removed(context, file):
    new = "# %% cell (markdown)\nmore\n# %% cell 3 (code)\ny = 2\n# %% cell (code)\n"
    await call(edit_file, context, **edit("# %% cell 3 (code)\ny = 2\n", new))
    assert sources(file)[2:] == [("markdown", "more", 0), ("code", "y = 2", 0), ("code", "", 0)]
    said = await answer(
        edit_file, context, **edit('# %% cell 2 (code)\nx = 1\nprint("x", x)\n', "")
    )
    assert "Cells were removed." in said
    assert [kind for kind, _, _ in sources(file)] == ["markdown", "markdown", "code", "code"]


async def test_edit_of_the_json_of_a_notebook_is_applied_if_it_stays_valid(context, file):
    await call(edit_file, context, **edit('"tags": []', '"tags": ["a"]'))
    assert json.loads(file.read_text())["cells"][1]["metadata"] == {"tags": ["a"]}
    before = file.read_bytes()
    await get_refusal(
        edit_file, context, "would not be valid JSON", **edit('"tags": ["a"]', '"tags": [')
    )
    await get_refusal(write_file, context, "not be valid JSON", path="n.ipynb", content="x = 1\n")
    assert file.read_bytes() == before


async def test_notebook_is_created_from_the_text_of_its_cells(context, root):
    await call(write_file, context, path="new.ipynb", content=TEXT)
    assert [each[:2] for each in sources(root / "new.ipynb")] == [
        ("markdown", "# Título\ntext"),
        ("code", 'x = 1\nprint("x", x)'),
        ("code", "y = 2"),
    ]
    ids = {each["id"] for each in json.loads((root / "new.ipynb").read_text())["cells"]}
    assert len(ids) == 3


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"cells": 1}', '{"cells": [1]}', dump([{"cell_type": "code"}])]
)
async def test_file_that_is_no_notebook_is_read_as_it_is(context, root, content):
    (root / "n.ipynb").write_text(content)
    said = await answer(read_file, context, path="n.ipynb")
    assert "a notebook with" not in said


async def test_answer_names_json_that_an_edit_made_invalid(context, root):
    (root / "a.json").write_text('{"a": 1}\n')
    arguments = {"path": "a.json", "edits": [{"old": "1", "new": "1,"}]}
    said = await answer(edit_file, context, **arguments)
    assert "It was valid JSON and is not any more" in said
    (root / "tsconfig.json").write_text('{"a": 1, // comment\n}\n')
    said = await answer(edit_file, context, **{**arguments, "path": "tsconfig.json"})
    assert said == "Edited `tsconfig.json`, line 1."


SOURCES = st.text(st.sampled_from('ab"\\é\n'), max_size=12).map(lambda text: text.rstrip("\n"))


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(SOURCES, min_size=1, max_size=5), st.data(), SOURCES, st.sampled_from([None, 1, 2]))
def test_any_source_is_replaced_without_another_change(before, data, new, indent):
    def build(texts):
        cells = [
            {"cell_type": "code", "id": f"c{at}", "source": text.splitlines(keepends=True) or [""]}
            for at, text in enumerate(texts)
        ]
        return dump(cells, indent=indent)

    number = data.draw(st.integers(0, len(before) - 1))
    after = [*before[:number], new, *before[number + 1 :]]
    notebook, expected = open_notebook("n.ipynb", build(before)), build(after)
    text = open_notebook("n.ipynb", expected).text
    replaced = notebook.replace(text).text
    assert json.loads(replaced) == json.loads(expected) or not new
    assert new == "" or replaced == expected
