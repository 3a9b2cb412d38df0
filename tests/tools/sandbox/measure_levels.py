"""Run as a script: print the levels that this user has, as JSON."""

import json

from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.sandbox.confinement import find_means, find_missing
from yourtool.tools.sandbox.level import probe_level
from yourtool.tools.sandbox.probes import find_broken_claims


def measure():
    """Return per level why it is missing, or how many probes reached what it claims to prevent."""
    means, found = find_means(), {}
    for level in (SandboxLevel.FULL, SandboxLevel.LANDLOCK):
        reason = find_missing(level, means)
        result = None if reason else probe_level(level, means)
        found[level.value] = {
            "missing": reason or result.problem,
            "broken": sorted(find_broken_claims(level, result)) if result else [],
        }
    return found


if __name__ == "__main__":
    print(json.dumps(measure()))  # noqa: T201 - the result
