"""Folders that the user of a test trusts."""

from pathlib import Path

from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.paths import Paths


def trust(workspace: Path, paths: Paths | None = None, *, trusted: bool = True) -> None:
    """Answer the question about the present files of a workspace."""
    project = ProjectTrust(workspace, paths)
    project.answer(project.examine_all(), trusted=trusted)
