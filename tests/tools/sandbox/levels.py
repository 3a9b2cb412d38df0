"""What this machine can enforce, for tests that need it."""

from functools import cache

import pytest

from yourtool.sandbox_config import SandboxConfig, SandboxLevel
from yourtool.tools.sandbox.confinement import find_means, find_missing
from yourtool.tools.sandbox.level import LevelMeter, probe_level
from yourtool.tools.sandbox.sandbox import Sandbox


@cache
def find_reason(level):
    """Return why a level does not work here, or None; blocks at first."""
    means = find_means()
    return find_missing(level, means) or probe_level(level, means).problem


def require(level):
    """Skip a test, with the reason, if a level does not work on this machine."""
    if (reason := find_reason(level)) is not None:
        pytest.skip(f"the level `{level}` of the sandbox is missing: {reason}")


class FixedMeter(LevelMeter):
    """A meter for one level, which other tests measure."""

    def __init__(self, config, level):
        super().__init__(config)
        self._fixed = level
        self.means = find_means()

    def _try(self, level, means, hidden):
        return None if level is self._fixed else "the test does not use it"


def build_sandbox(root, level, *, own=(), readable=(), **settings):
    if level is not SandboxLevel.NONE:
        require(level)
    config = SandboxConfig(**{"enabled": True, "fallback": "landlock", **settings})
    return Sandbox(config, root, FixedMeter(config, level), own=own, readable=readable)
