"""Setting back and comparing the projects of a day."""

import pytest

from tests.day.places import make_place
from tests.day.projects import small_repository
from tests.day.runner import run_in_shell
from tests.day.trees import compare, read_tree


@pytest.fixture
def place():
    with make_place(small_repository) as made:
        yield made


def test_project_is_set_back_after_any_change(place):
    first = read_tree(place.site)
    line = (
        "rm -rf .git/refs src; ln -s README.md src; echo x > README.md; chmod 700 scripts; mkdir n"
    )
    assert run_in_shell(place, line) == 0
    assert compare(first, read_tree(place.site))
    place.set_back()
    assert compare(first, read_tree(place.site)) == []


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("touch ghost", "`work/ghost` is there"),
        ("rm notes.txt", "`work/notes.txt` is missing"),
        ("chmod 600 notes.txt", "`work/notes.txt`: -rw------- 12 bytes"),
        ("mkdir .git/ghost", "`work/.git/ghost` is there"),
        ("git update-ref refs/other/copy HEAD", "`work/.git/refs/other/copy` is there"),
        ("git commit -q --allow-empty -m Other", "`work/.git: commits`"),
    ],
)
def test_difference_of_a_tree_is_named(place, line, difference):
    first = read_tree(place.site)
    assert run_in_shell(place, line) == 0
    found = compare(first, read_tree(place.site))
    assert any(each.startswith(difference) for each in found), found
