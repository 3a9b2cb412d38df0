"""Which commands run after edits: those of the user and of a trusted project."""

import pytest

from yourtool.agent.session.project_checks import find_checks
from yourtool.agent.session.project_trust import ProjectTrust
from yourtool.agent_config import CheckConfig
from yourtool.errors import ToolError
from yourtool.paths import resolve_paths

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


@pytest.mark.parametrize("text", ["model = 'x'\n", "[checks.a]\nrun = 1\n", "not toml"])
def test_file_of_a_project_sets_nothing_but_checks(project, text):
    (project / ".yourtool" / "config.toml").write_text(text)
    trust(project)
    with pytest.raises(ToolError, match=r"config\.toml` is invalid"):
        find_checks(OWN, project, resolve_paths())
