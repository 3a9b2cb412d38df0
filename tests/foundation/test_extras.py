"""The command that adds the libraries of an extra."""

import json
import sys
from pathlib import Path

import pytest

from yourtool.foundation.extras import build_install_command

ROOT = Path(__file__).parents[2]


def install(prefix, url="file:///home/me/the%20clone", *, editable=False):
    """Write what an installer writes."""
    folder = prefix / "lib/python3.12/site-packages/yourtool-1.0.dist-info"
    folder.mkdir(parents=True)
    found = {"url": url, "dir_info": {"editable": editable}}
    (folder / "direct_url.json").write_text(json.dumps(found))
    return prefix


@pytest.mark.parametrize(
    ("file", "start"),
    [
        ("uv-receipt.toml", "uv tool install --reinstall '/home/me/the clone["),
        ("pipx_metadata.json", "pipx install --force '/home/me/the clone["),
        ("pyvenv.cfg", f"{sys.executable} -m pip install '/home/me/the clone["),
    ],
)
def test_command_is_that_of_the_installer(tmp_path, file, start):
    (install(tmp_path) / file).touch()
    command = build_install_command("keyring", tmp_path)
    assert command.startswith(start)
    assert "keyring" in command and "mcp" in command, "what is there already stays"


def test_clone_that_is_used_in_place_stays_so(tmp_path):
    command = build_install_command("mcp", install(tmp_path, editable=True))
    assert " -m pip install -e '/home/me/the clone[" in command


@pytest.mark.parametrize("url", ["https://example.org/yourtool.whl", "", None])
def test_source_that_is_no_directory_is_the_name_of_the_package(tmp_path, url):
    assert "pip install 'yourtool[" in build_install_command("mcp", install(tmp_path, url))


def test_command_for_this_clone_names_it():
    assert f"'{ROOT}[" in build_install_command("mcp")
