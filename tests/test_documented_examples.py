"""The examples of the documentation, copied letter by letter into a real home."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_blocks(page, language):
    """Return the blocks of a page in a language; empty: commands."""
    text = (ROOT / "docs" / page).read_text()
    return [content for name, content in _BLOCK.findall(text) if name == language]


class Home:
    """A user's home with every default, and a project next to it."""

    def __init__(self, path):
        self.path, self.project = path / "home", path / "project"
        (self.path / ".yourtool/hooks").mkdir(parents=True)
        self.project.mkdir()
        programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        kept = {each: os.environ[each] for each in ("LANG", "TMPDIR") if each in os.environ}
        self.environment = {**kept, "HOME": str(self.path), "PATH": programs, "TERM": "dumb"}

    def run(self, line):
        return subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def configure(self, *replies, more=""):
        """Write settings with a model that plays a script."""
        script = self.path / "script.json"
        script.write_text(json.dumps({"replies": replies}))
        (self.path / ".yourtool/config.toml").write_text(
            f'model = "demo:file"\n[providers.demo]\nquirks = {{ script = "{script}" }}\n{more}'
        )


@pytest.fixture
def own_home(tmp_path):
    return Home(tmp_path)


def test_hooks_of_the_page_guard_and_record_a_turn(own_home):
    guard = own_home.path / ".yourtool/hooks/guard.py"
    guard.write_text(read_blocks("hooks.md", "python")[0])
    own_home.run("chmod +x ~/.yourtool/hooks/guard.py")
    own_home.configure(
        [{"call": "shell", "input": {"command": "rm -rf build"}}],
        [{"call": "write_file", "input": {"path": "a.txt", "content": "a\n"}}],
        [{"say": "Done."}],
        more=read_blocks("hooks.md", "toml")[0],
    )
    (own_home.project / "build").mkdir()
    done = own_home.run("yourtool -p --mode auto --output-format stream-json go")
    assert done.returncode == 3, done.stderr  # a call was denied
    assert "Delete only what you made." in done.stdout
    assert "Delete only what you made.." not in done.stdout
    assert (own_home.project / "build").is_dir()
    [edit] = (own_home.path / "edits.jsonl").read_text().splitlines()
    assert json.loads(edit)["tool_input"]["file_path"].endswith("/a.txt")
    assert "failed" not in done.stderr


def test_settings_of_the_page_change_the_variables_of_commands(own_home):
    command = 'echo "<$NODE_ENV $NPM_TOKEN ${WORK_PLACE-none} $OTHER_TOKEN$DATABASE_URL>"'
    call = {"call": "shell", "input": {"command": command}}
    own_home.configure(
        [call], [{"say": "Done."}], more="\n".join(read_blocks("security.md", "toml"))
    )
    own_home.environment |= {
        "NPM_TOKEN": "given", "WORK_PLACE": "x", "OTHER_TOKEN": "x", "DATABASE_URL": "postgres://h"
    }  # fmt: skip
    done = own_home.run("yourtool -p --mode auto --output-format stream-json go")
    assert done.returncode == 0, done.stderr
    assert "<test given none postgres://h>" in done.stdout


@pytest.mark.needs("tools/mcp")
def test_server_of_the_page_is_added_shown_and_called(own_home):
    (own_home.path / "clock.py").write_text(read_blocks("mcp.md", "python")[0])
    [commands, *_] = read_blocks("mcp.md", "")
    lines = [each for each in commands.splitlines() if each.startswith("yourtool ")]
    ran = [own_home.run(line) for line in lines]
    assert [each.returncode for each in ran] == [0, 0, 0], ran
    assert "now" in ran[1].stdout
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.+\n", ran[2].stdout)
