"""A home directory with the settings of other agents, a project, and an import into ours."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from yourtool.extensions.settings_import.importing import PEERS, Importer, Report
from yourtool.paths import resolve_paths
from yourtool.settings.first_files import install_defaults
from yourtool.tools.builtin import default_toolbox


class World:
    """The files of the user and of a project."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home, self.project = home, project
        self.paths = resolve_paths()
        self.ours = self.paths.home
        install_defaults(self.paths)

    def write(self, where: Path, name: str, content: Any) -> Path:
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run(self, *peers: str, dry_run: bool = False) -> Report:
        kinds = default_toolbox().subject_kinds
        importer = Importer(self.paths, self.project, kinds, os.environ)
        return importer.run(peers or tuple(PEERS), dry_run=dry_run)

    def read(self) -> dict[str, bytes]:
        """Return all files of ours and of the project by their names."""
        return {
            f"{root.name}/{path.relative_to(root)}": path.read_bytes()
            for root in (self.ours, self.project)
            for path in sorted(root.rglob("*"))
            if path.is_file() and ".git/" not in str(path)
        }


@pytest.fixture
def world(home, tmp_path, monkeypatch) -> World:
    person = tmp_path / "person"
    project = tmp_path / "project"
    person.mkdir()
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    monkeypatch.setenv("HOME", str(person))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return World(person, project)


def names(items, kind="") -> list[str]:
    return [each.name for each in items if each.kind == kind or not kind]
