"""Which commands run after edits: those of the user and of a trusted project."""

import re

import pytest

from yourtool.agent.session.project.project_checks import find_check_problems, find_checks
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.errors import ToolError
from yourtool.paths import resolve_paths
from yourtool.settings.agent_config import CheckConfig
from yourtool.settings.config import load_report

OWN = {"lint": CheckConfig(run=("mine",))}
TEXT = '[checks.lint]\nrun = ["theirs"]\n[checks.types]\nrun = ["types", "{files}"]\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    (project / ".yourtool").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".yourtool" / "config.toml").write_text(TEXT)
    return project


def trust(project):
    trust = ProjectTrust(project, resolve_paths())
    trust.answer(trust.examine(), trusted=True)


def test_project_without_trust_sets_no_check(project):
    assert find_checks(OWN, project, resolve_paths()) == OWN


def test_trusted_project_adds_checks_and_replaces_none_of_the_user(project):
    trust(project)
    found = find_checks(OWN, project, resolve_paths())
    assert found == {**OWN, "types": CheckConfig(run=("types", "{files}"))}


def test_checks_of_a_project_that_changed_after_the_answer_are_not_used(project):
    trust(project)
    with (project / ".yourtool" / "config.toml").open("a") as file:
        file.write("# changed\n")
    assert find_checks(OWN, project, resolve_paths()) == OWN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model = 'x'\n", ":1: `model`: there is no such key"),
        ("[checks.a]\nrun = 1\n", ":2: `checks.a.run`: expected `array`, got `int`"),
        ("[checks.a]\n\nrun = ['']\n", ":3: `checks.a.run`: names no program"),
        ("[checks.a]\nrun = ['a']\nfiles = ['[']\n", ":3: `checks.a.files`: `[` is no glob"),
        ("[checks.a]\nrun = ['a']\nfiles = ['../b']\n", ":3: `checks.a.files`: `../b` is no"),
        ("[checks.a]\nrun = ['a']\nfile = []\n", ":3: `checks.a.file`: there is no such key"),
        ("not toml", ": not TOML: "),
    ],
)
def test_mistakes_in_the_file_of_a_project_have_their_line_and_key(project, text, problem):
    (project / ".yourtool" / "config.toml").write_text(text)
    report = load_report(resolve_paths(), {})
    [found] = find_check_problems(report, "own", project)
    assert str(found).startswith(f".yourtool/config.toml{problem}")
    trust(project)
    with pytest.raises(ToolError, match=re.escape(str(found))):
        find_checks(OWN, project, resolve_paths())


def test_mistakes_in_the_checks_of_the_user_are_listed_once(project, tmp_path):
    (project / ".yourtool" / "config.toml").unlink()
    (tmp_path / "home").mkdir(exist_ok=True)
    text = "[checks.a]\nrun = []\n[checks.b]\nfiles = ['/etc/*']\n[checks.c]\nrun = ['c']\n"
    (tmp_path / "home" / "config.toml").write_text(text)
    report = load_report(resolve_paths(), {})
    assert [each.key for each in report.problems] == ["checks.a.run"]
    found = find_check_problems(report, "own", project)
    assert [(each.line, each.key) for each in found] == [
        (3, "checks.b.run"),
        (4, "checks.b.files"),
    ]
