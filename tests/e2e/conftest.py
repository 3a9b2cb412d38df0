"""Projects for sessions, with a separate home."""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT


def make_repository(path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", "init", "-q", path], check=True)
    subprocess.run([*git, "add", "-A"], cwd=path, check=True)
    subprocess.run([*git, "commit", "-qm", "start"], cwd=path, check=True)


@pytest.fixture(scope="session")
def foreign_sources(tmp_path_factory):
    """The sources of an installed package."""
    folder = tmp_path_factory.mktemp("sources")
    spec = find_spec("iniconfig")
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, folder / "project" / "iniconfig")
    (folder / "project" / "README.md").write_text("# iniconfig\n\nReads settings.\n")
    return folder / "project"


@pytest.fixture(
    params=["somebody else's project", pytest.param("this repository", marks=pytest.mark.soak)]
)
def project(request, tmp_path):
    """A clone of this repository, and a foreign project."""
    path = tmp_path / "project"
    if request.param == "this repository":
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", path], check=True)
    else:
        shutil.copytree(request.getfixturevalue("foreign_sources"), path)
        make_repository(path)
    return path


@pytest.fixture
def work(tmp_path):
    """A small repository named `work`."""
    path = tmp_path / "work"
    path.mkdir()
    (path / "README.md").write_text("# work\n")
    make_repository(path)
    return path


@pytest.fixture
def home(tmp_path):
    return {"YOURTOOL_HOME": str(tmp_path / "home"), "YOURTOOL_DEMO_PACE": "0"}
