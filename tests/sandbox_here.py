"""The sandbox of this machine, in which tests run commands unless they are marked `no_sandbox`."""

from functools import cache

from tests.tools.sandbox.levels import find_reason
from yourtool.settings.sandbox_config import SandboxLevel

NO_SANDBOX = {"YOURTOOL_SANDBOX_ENABLED": "false"}
"""Switches the sandbox off in a program that a test starts."""


@cache
def get_variables() -> dict[str, str]:
    """Return the variables of the programs that tests start.

    Empty where the full sandbox works; elsewhere each command would be refused.
    """
    return {} if find_reason(SandboxLevel.FULL) is None else NO_SANDBOX
