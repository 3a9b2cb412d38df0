"""The commands that run after edits: those of the user, then those of a trusted project."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.agent.session.project_files import ProjectFile
from yourtool.agent.session.project_trust import ProjectTrust
from yourtool.agent_config import CheckConfig
from yourtool.errors import ToolError
from yourtool.paths import Paths
from yourtool.permissions.trust import CHECKS
from yourtool.tables import parse_toml


class _ProjectConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that the file of a project can set."""

    checks: dict[str, CheckConfig] = {}


def find_checks(
    own: Mapping[str, CheckConfig], workspace: Path, paths: Paths
) -> Mapping[str, CheckConfig]:
    """Return the checks by name; a project does not replace one of the user.

    It reads exactly the content that the user trusts, so a changed file configures nothing.

    Raises:
        ToolError: the file of a project is invalid.
    """
    found = dict(own)
    for file in ProjectTrust(workspace, paths).examine().used_files:
        if file.kind is CHECKS:
            for name, check in _parse(file).items():
                found.setdefault(name, check)
    return found


def _parse(file: ProjectFile) -> Mapping[str, CheckConfig]:
    try:
        return msgspec.convert(parse_toml(file.text), _ProjectConfig).checks
    except ValueError as error:
        raise ToolError(f"`{file.name}` is invalid: {error}") from error
