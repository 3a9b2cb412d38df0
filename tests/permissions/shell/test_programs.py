"""The table of programs: what a row has from the row that it is the same as."""

import pytest

from yourtool.permissions.shell.programs import ProgramRow, _with_inherited

GIVEN = {
    "flags": "ab",
    "values": "c",
    "optional": "d",
    "options": ("--long",),
    "option_values": ("--with",),
    "tests": ("name",),
    "separate": ("--with",),
    "files": ("c",),
    "numbers": True,
    "response_files": True,
    "forms": {"c": "x"},
    "bundle": True,
    "loads_code": True,
    "enters_submodules": True,
    "runs_code": True,
    "problem": "x",
    "contained": True,
    "needs": ("--only",),
    "arguments": "files",
}


@pytest.mark.parametrize("field", sorted({*ProgramRow.__struct_fields__} - {"same_as", "refused"}))
def test_row_inherits_every_field_of_the_row_that_it_is_the_same_as(field):
    rows = {"base": ProgramRow(**{field: GIVEN[field]}), "row": ProgramRow(same_as="base")}
    assert getattr(_with_inherited(rows["row"], rows), field) == GIVEN[field]


def test_row_adds_to_what_it_inherits_and_omits_what_it_refuses():
    rows = {
        "base": ProgramRow(flags="ab", options=("--one",)),
        "row": ProgramRow(same_as="base", flags="c", refused="a", options=("--two",)),
    }
    row = _with_inherited(rows["row"], rows)
    assert (row.flags, row.options) == ("bc", ("--one", "--two"))
