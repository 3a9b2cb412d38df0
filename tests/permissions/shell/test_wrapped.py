"""Commands that run another one, whose rule counts."""

import pytest

from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.wrapped import find_inner_start, unwrap

MODULES = """
black build coverage flake8 isort mypy nox pylint pyright pytest ruff tox unittest
"""


@pytest.fixture
def inner(tmp_path):
    """Return the words of the command that a line runs, or None."""

    def find(line):
        found = unwrap(parse_plain(line)[0], Place(tmp_path, tmp_path))
        return None if found is None else " ".join(found.texts)

    return find


@pytest.mark.parametrize("name", MODULES.split())
def test_module_that_is_a_program_counts_as_it(inner, name):
    assert inner(f"python -m {name} -x a") == f"{name} -x a"
    assert inner(f"python3 -m {name}") == name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git --no-pager log -1", "git log -1"), ("git log --no-pager", None), ("git", None),
        ("git --no-pager", "git"), ("timeout 5 make test", "make test"), ("timeout 5", None),
        ("timeout 1.5h make", "make"), ("timeout -k 5 10 make", "make"), ("timeout", None),
        ("timeout -s KILL 10 make", "make"), ("timeout -v --foreground 5 make", "make"),
        ("timeout --preserve-status --verbose 5 make", "make"), ("timeout -v", None),
        ("timeout -k", None), ("timeout -s", None), ("timeout -k x 5 make", None),
        ("timeout -s 'a b' 5 make", None), ("timeout --other 5 make", None), ("timeout make", None),
        ("timeout 5 timeout 6 python -m pytest x", "pytest x"),
        ("timeout 5 git --no-pager log", "git log"),
        ("timeout 5* make", None), ("timeout 5 ls a*", "ls a*"), ("python -m", None),
        ("python", None),
        ("python -m other", None), ("python -c pytest", None), ("python2 -m pytest", None),
        ("python -m pyte*", None), ("PYTHONPATH=x python -m pytest", None),
        ("A=1 python -m pytest", "pytest"),
        ("make", None), ("timeouts 5 make", None), ("git -C x --no-pager log", None),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_wrapper_counts_as_what_it_runs_only_if_all_of_it_is_understood(inner, line, expected):
    assert inner(line) == expected


@pytest.mark.parametrize("variables", ["A=1", "CI=1 B=2"])
def test_variables_of_a_wrapper_are_those_of_its_command(variables, tmp_path):
    (command,) = parse_plain(f"{variables} timeout 5 python -m pytest")
    found = unwrap(command, Place(tmp_path, tmp_path))
    assert (found.texts, found.variables) == (("pytest",), command.variables)


def test_command_of_timeout_starts_after_its_duration():
    assert find_inner_start(["timeout", "-k", "5", "10", "rm", "x"]) == 4
    assert find_inner_start(["nice", "rm"]) is None


@pytest.mark.parametrize(
    "name",
    [
        "pytest", "pytest.py", "pytest.pyc", "pytest.cpython-311-x86_64-linux-gnu.so", "random.py",
        "json/__init__.py", "json/__init__.cpython-311-darwin.so", "zipfile.pyc",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_module_that_the_workspace_can_replace_is_not_the_program(inner, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert inner("python -m pytest") is None


@pytest.mark.parametrize(
    "name", ["json/a.py", "test/__init__.py", "pytest.ini", "random.txt", "src/random.py", "own.py"]
)
def test_file_that_python_would_not_import_instead_replaces_no_module(inner, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert inner("python -m pytest") == "pytest"


def test_module_in_a_directory_that_cannot_be_listed_is_not_the_program(tmp_path):
    (command,) = parse_plain("python -m pytest")
    assert unwrap(command, Place(tmp_path, tmp_path / "missing")) is None
