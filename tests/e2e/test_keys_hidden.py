"""A command of a model finds no key of the program, and shows none of those of the user's."""

import json
import os
import subprocess
import sys

import pytest

from tests.e2e.terminal import ROOT, YOURTOOL, Terminal
from tests.sandbox_here import NO_SANDBOX, get_variables

pytestmark = [
    pytest.mark.remaining,
    pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc"),
]
NAMES = ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "MY_OWN_CREDENTIAL")
LOOK = """
pid=$$
while [ "$pid" -gt 1 ]; do
  tr '\\0' '\\n' < /proc/$pid/environ | sed "s/^/$(cat /proc/$pid/comm): /"
  tr '\\0' '\\n' < /proc/$pid/cmdline
  pid=$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f2)
  [ "$pid" = "$(cat outermost)" ] && break
done
"""


@pytest.fixture
def place(tmp_path):
    """A workspace with a script that inspects every process up to that of the test."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    (work / "look.sh").write_text(LOOK)
    (work / "outermost").write_text(str(os.getpid()))
    call = {"call": "shell", "input": {"command": "sh look.sh; ps e -o args"}}
    (home / "script.json").write_text(json.dumps({"replies": [[call], [{"say": "Done."}]]}))
    (home / "config.toml").write_text(
        'model = "demo:file"\n'
        f"[providers.demo]\nquirks = {{ script = {json.dumps(str(home / 'script.json'))} }}\n"
    )
    return work, home


def environ(home):
    keys = {name: f"canary-{name.lower()}-0123456789" for name in NAMES}
    return {"YOURTOOL_HOME": str(home), "YOURTOOL_DEMO_PACE": "0", **keys}


def stored(home):
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("sandbox", [NO_SANDBOX, get_variables()], ids=["without", "here"])
def test_command_of_the_model_finds_no_key_in_any_parent_process(place, sandbox):
    work, home = place
    done = subprocess.run(
        [*YOURTOOL, "--mode", "auto", "-p", "go", "--output-format", "stream-json"],
        cwd=work,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **sandbox, **environ(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "PATH=" in done.stdout
    assert ("python" in done.stdout) is (sandbox is NO_SANDBOX), "no parent is seen in the sandbox"
    assert "canary" not in done.stdout
    assert b"canary" not in stored(home)


def test_keys_that_a_command_of_the_user_prints_are_hidden(place):
    work, home = place
    with Terminal(YOURTOOL, cwd=work, env=environ(home), rows=60) as terminal:
        terminal.wait("demo:file")
        terminal.say("!sh look.sh")
        terminal.wait("✓ ! sh look.sh")
        terminal.say("/quit")
        terminal.end()
        assert b"canary" not in terminal.output
        assert b"canary" not in stored(home)
