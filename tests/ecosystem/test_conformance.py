"""The client scenarios of `@modelcontextprotocol/conformance`, with our connection."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ecosystem.parts import find_script

pytestmark = [pytest.mark.ecosystem, pytest.mark.needs("tools/mcp")]

SCENARIOS = (
    "initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
    "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
    "auth/basic-cimd", "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none", "auth/pre-registration",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported",
    "auth/2025-03-26-oauth-metadata-backcompat", "auth/cross-app-access-complete-flow",
    "auth/client-credentials-jwt", "auth/client-credentials-basic",
)  # fmt: skip


def test_every_scenario_is_run():
    program = find_script("@modelcontextprotocol/conformance", "conformance")
    listed = subprocess.run([*program, "list", "--client"], capture_output=True, check=True)
    names = re.findall(r"^  - (\S+)", listed.stdout.decode(), re.MULTILINE)
    assert sorted(names) == sorted(SCENARIOS)


@pytest.mark.figure("conformance")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_conformance_scenario_passes(scenario, home):
    command = f"{sys.executable} -m tests.ecosystem.conformance_client"
    program = find_script("@modelcontextprotocol/conformance", "conformance")
    done = subprocess.run(
        [*program, "client", "--command", command, "--scenario", scenario, "--timeout", "60000"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    output = done.stdout + done.stderr
    assert " 0 failed" in output, json.dumps(output[-3000:])
