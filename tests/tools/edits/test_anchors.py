import pytest

from tests.doubling import LINEAR, growth
from yourtool.tools.edits.anchors import AnchorLines

PYTHON = """\
class A:
    def f(
        self,
    ):
        one()

        two()

    def g(self):
        pass

class B:
    def f(self):
        pass
"""
C = """\
static int first(char *x)
{
    if (x) {
        one();
    }
}

int second()
{
    first("x");
}
"""


def blocks(text, *anchors, after=0):
    found = AnchorLines(text.removesuffix("\n").split("\n")).find_blocks(anchors, after)
    return [(each.start + 1, each.stop) for each in found]


@pytest.mark.parametrize(
    ("anchors", "found"),
    [
        (("class A:",), [(1, 11)]),
        (("    def g(self):",), [(9, 11)]),
        (("def g",), [(9, 11)]),
        (("def f",), [(2, 8), (13, 14)]),
        (("class B:", "def f"), [(13, 14)]),
        (("class A", "def f"), [(2, 8)]),
        (("class A", "class B"), [(1, 11)]),
        (("class C", "def g"), [(9, 11)]),
        (("lass A",), []),
        (("self",), [(3, 4)]),
        (("(self)",), [(9, 11), (13, 14)]),
        (("",), []),
        (("class C",), []),
    ],
)
def test_block_of_an_anchor_ends_with_its_indentation(anchors, found):
    assert blocks(PYTHON, *anchors) == found


def test_block_in_braces_contains_its_last_line():
    assert blocks(C, "static int first(char *x)") == [(1, 6)]
    assert blocks(C, "if (x)") == [(3, 5)]
    assert blocks(C, "first(char") == [(1, 6)]
    assert blocks(C, "first") == [(10, 11)], "a line that starts with it"


def test_anchor_is_found_from_a_line_on():
    assert blocks(PYTHON, "def f", after=5) == [(13, 14)]


def test_anchor_in_typographic_characters_names_the_plain_line():
    assert blocks('print("a")\n', "print(\u201ca\u201d)") == [(1, 1)]


def test_blocks_that_overlap_are_one():
    assert blocks("if x:\n  if x:\n    if x:\n      y\nz\n", "if x:") == [(1, 4)]


def test_anchor_that_is_nearly_everywhere_names_nothing():
    assert blocks("x\n" * 1_001, "x") == []
    assert len(blocks("x\n" * 1_000, "x")) == 1_000


@pytest.mark.parametrize(
    "build",
    [
        lambda n: "".join(" " * (at % 200) + "x\n" for at in range(n)),
        lambda n: "xx" * n,
        lambda n: "x\n" + " \n" * n,
        lambda n: "\t" * n + "x\n" + " x\n" * n,
    ],
)
def test_blocks_of_a_hostile_file_are_found_in_linear_time(build):
    assert growth(lambda text: blocks(text, "x", "x", "x y"), build, 500) < LINEAR
