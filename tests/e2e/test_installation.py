"""The commands of README install, upgrade and remove the program, in a new environment."""

import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.e2e.terminal import ROOT, Terminal

pytestmark = pytest.mark.remaining

README = (ROOT / "README.md").read_text()
ROW = r"^\| (?:\[{0}\]\(.*?\)|{0}) \|(.*)\|$"
OURS = ("yourtool", "_editable")


def commands(tool: str) -> list[str]:
    """Return the commands of a row of README's table: install, upgrade, remove."""
    [cells] = re.findall(ROW.format(tool), README, re.MULTILINE)
    return re.findall(r"`([^`]+)`", cells)


@pytest.mark.parametrize(
    ("tool", "install", "upgrade", "remove"),
    [
        ("uv", "uv tool install", "uv tool install --reinstall", "uv tool uninstall yourtool"),
        ("pipx", "pipx install", "pipx install --force", "pipx uninstall yourtool"),
        ("pip", "pip install", "pip install -U", "pip uninstall yourtool"),
    ],
)
def test_readme_names_how_to_install_upgrade_and_remove_the_program(tool, install, upgrade, remove):
    assert "| upgrade, after `git pull` in the clone |" in README
    assert commands(tool) == [f"{install} CLONE", f"{upgrade} CLONE", remove]


@pytest.fixture
def environment(tmp_path):
    """A virtual environment with the dependencies, which have no network to come from."""
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(OURS) and not (site / path.name).exists():
            (site / path.name).symlink_to(path)
    return place


@pytest.mark.timeout(180)
def test_commands_for_pip_install_upgrade_and_remove_a_program_that_starts(
    environment, home, tmp_path
):
    variables = {
        "PATH": f"{environment / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip inverts this variable: 0 switches the isolation off
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **home,
    }

    def run(command: str) -> str:
        words = [word.replace("CLONE", str(ROOT)) for word in shlex.split(command)]
        done = subprocess.run(
            words, cwd=tmp_path, env=variables, capture_output=True, text=True, input="y\n"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    install, upgrade, remove = commands("pip")
    program = environment / "bin" / "yourtool"
    for command in (install, upgrade):
        run(command)
        assert run("python -P -c 'print(__import__(\"yourtool\").__file__)'").startswith(
            str(environment)
        )
        assert re.fullmatch(r"yourtool \d+\.\d+\.\d+\n", run("yourtool --version"))
    with Terminal([str(program)], cwd=tmp_path, env={**variables, "PYTHONPATH": ""}) as terminal:
        terminal.wait("Press Enter to start the two-minute tour")
        terminal.send("\x04")
        assert terminal.end() == 0
    run(remove)
    assert not list(environment.rglob("yourtool*"))
    assert (Path(home["YOURTOOL_HOME"]) / "data" / "sessions.db").exists()
