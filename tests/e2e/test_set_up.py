"""`make` sets itself up, also with a Python without `ensurepip`, such as Debian's."""

import ensurepip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT

pytestmark = pytest.mark.remaining

BUNDLED = Path(ensurepip.__file__).parent / "_bundled"


def make_environment(directory, tmp_path, *missing, **variables):
    """Run `.ci/venv` without the network and with a Python that lacks some modules."""
    lacking = tmp_path / "lacking"
    for name in missing:
        (lacking / name).mkdir(parents=True)
        (lacking / name / "__init__.py").write_text(f"raise ImportError('no {name} here')\n")
    kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
    return subprocess.run(
        [ROOT / ".ci" / "venv"],
        cwd=directory,
        env={
            **kept,
            "PATH": str(tmp_path / "empty"),
            "PYTHON": sys.executable,
            "PYTHONPATH": str(lacking),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def wheels(tmp_path):
    found = list(BUNDLED.glob("pip-*.whl"))
    if not found:
        pytest.skip("this Python brings no wheel of pip, and there is no network")
    directory = tmp_path / "wheels"
    directory.mkdir()
    shutil.copy(found[0], directory)
    return directory


def test_without_ensurepip_an_existing_pip_installs_the_packages(tmp_path, wheels):
    work = tmp_path / "work"
    work.mkdir()
    done = make_environment(work, tmp_path, "ensurepip", PIP_FIND_LINKS=str(wheels))
    assert done.returncode == 0, done.stderr
    python = work / ".venv" / "bin" / "python"
    where = subprocess.run(
        [python, "-c", "import pip; print(pip.__file__)"], capture_output=True, text=True
    )
    assert Path(where.stdout.strip()).is_relative_to(work / ".venv")
    (work / ".venv" / "kept").touch()
    again = make_environment(work, tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (work / ".venv" / "kept").exists(), "what is whole is left alone"


def test_make_prints_what_it_installs_on_standard_error(tmp_path):
    """A replacement for Python that prints like pip, which needs the network."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name, words in ((".ci/venv", ""), (".venv/bin/python", 'echo "Collecting $*"')):
        script = tmp_path / name
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{words}\n")
        script.chmod(0o755)
    shutil.copy(tmp_path / ".venv/bin/python", tmp_path / ".venv/bin/yourtool")
    done = subprocess.run(
        ["make", "--no-print-directory", "run", "ARGS=-p hello"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Collecting -p hello\n"
    assert "make: creating a virtual environment in .venv\n" in done.stderr
    assert "make: installing yourtool; the first time" in done.stderr
    assert done.stderr.count("Collecting -m pip install") == 2
    assert "--quiet" not in done.stderr


def test_a_missing_recorded_set_is_an_error_that_names_its_variable(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".venv").mkdir()
    for name in ("pyproject.toml", "constraints.txt", ".venv/.pip", ".venv/.dev"):
        (tmp_path / name).touch()
    environ = {**os.environ, "YOURTOOL_SHARED": "/nonexistent"}
    done = subprocess.run(
        ["make", "test-recorded"], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "there is no recorded set in /nonexistent" in done.stderr
    assert "YOURTOOL_SHARED" in done.stderr


def test_without_any_pip_the_error_names_the_missing_package(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    done = make_environment(work, tmp_path, "ensurepip", "pip", "virtualenv", "uv")
    assert done.returncode == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"python{version}-venv" in done.stderr
    assert "Traceback" not in done.stderr
