"""The files of a release, and those with which others join the project."""

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release import ROOT, build, find_caches, list_files
from yourtool import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW = ROOT / ".github/workflows/test.yml"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    wheel, sdist = build(ROOT, tmp_path_factory.mktemp("dist"), "1700000000")
    return wheel, sdist


def read_pins(name: str) -> dict[str, str]:
    """Return the versions of a file of constraints, by the names of their packages."""
    pins = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in pins}


def requirements(*, tools: bool) -> list[Requirement]:
    """Return what `pyproject.toml` requires, with all extras, and with the tools for tests."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    if tools:
        lists += [*PROJECT["dependency-groups"].values(), PROJECT["build-system"]["requires"]]
    return [Requirement(each) for part in lists for each in part]


@pytest.mark.remaining
def test_builds_with_another_mask_for_new_files_give_the_same_bytes(built, tmp_path):
    before = os.umask(0o077)
    try:
        again = build(ROOT, tmp_path, "1700000000")
    finally:
        os.umask(before)
    assert [each.read_bytes() for each in built] == [each.read_bytes() for each in again]


def test_the_wheel_has_types_themes_settings_and_no_tests(built):
    files = list_files(built[0])
    assert {
        "yourtool/py.typed",
        "yourtool/data/themes/dark.toml",
        "yourtool/data/config/config.toml",
        f"yourtool-{__version__}.dist-info/licenses/LICENSE",
    } <= files
    folders = {name.partition("/")[0] for name in files}
    assert folders == {"yourtool", f"yourtool-{__version__}.dist-info"}
    assert not find_caches(files)


def test_the_sdist_has_what_its_tests_need_and_no_caches(built):
    files = list_files(built[1])
    tests = {str(each.relative_to(ROOT)) for each in (ROOT / "tests").rglob("*.py")}
    assert tests <= files
    others = ("Makefile", ".ci/venv", "constraints.txt", "config/config.toml", "CHANGELOG.md")
    assert {*others, "tests/cassettes/README.md", "benchmarks/__main__.py"} <= files
    assert not find_caches(files)


def test_every_dependency_has_a_lower_bound():
    unbounded = [
        each.name
        for each in requirements(tools=True)
        if not any(part.operator in (">=", "==") for part in each.specifier)
    ]
    assert not unbounded


def test_exact_versions_are_in_the_ranges_of_the_project():
    pins = read_pins("constraints.txt")
    outside = [
        each.name
        for each in requirements(tools=True)
        if not each.specifier.contains(pins[canonicalize_name(each.name)])
    ]
    assert not outside


def test_the_lock_has_a_hash_for_each_version_and_names_no_host():
    text = (ROOT / "constraints-hashed.txt").read_text()
    locked, pins = read_pins("constraints-hashed.txt"), read_pins("constraints.txt")
    assert locked.items() <= pins.items()
    assert {canonicalize_name(each.name) for each in requirements(tools=False)} <= locked.keys()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) == len(locked)
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry) for entry in entries)
    assert "/" not in text


def test_the_workflow_tests_every_version_of_python_that_the_project_names():
    prefix = "Programming Language :: Python :: "
    named = [
        each.removeprefix(prefix)
        for each in PROJECT["project"]["classifiers"]
        if each.startswith(prefix)
    ]
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert matrix["dependencies"] == ["lowest", "pinned", "newest"]
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"


def test_workflows_run_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    lines = "\n".join(step.get("run", "") for job in jobs for step in job["steps"])
    assert {"static", "test", "lowest", "release"} <= set(re.findall(r"make ([a-z-]+)", lines))
    assert set(re.findall(r"make ([a-z-]+)", lines)) <= targets


def test_hooks_before_a_commit_are_the_commands_of_make_static():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [each["repo"] for each in hooks] == ["local"]
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin/")
    _, _, static = makefile.partition("\nstatic:")
    recipe = re.findall(r"^\t\.venv/bin/(\S+)", static.partition("\n\n")[0], re.MULTILINE)
    entries = [hook["entry"] for each in hooks for hook in each["hooks"]]
    assert [entry.split()[0].removeprefix(".venv/bin/") for entry in entries] == recipe


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml", "config.yml"])
def test_forms_for_issues_are_read_as_yaml(name):
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text())
    if name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= form.keys()
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in fields}) == len(fields)
    assert all(each["attributes"]["label"] for each in fields)
