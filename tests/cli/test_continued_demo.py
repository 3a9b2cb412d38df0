"""`--continue` after the demo, which works in a copy of the directory."""

import json
import shutil

import pytest

from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")
DEMO = ("-p", "hi", "-m", "demo:tour", "--output-format", "json")


def test_demo_can_be_continued_in_its_directory(line):
    first = json.loads(line(*DEMO)[1])
    code, out, _ = line("-c", *DEMO)
    assert code == 3  # the second chapter would change a file
    assert json.loads(out)["session_id"] == first["session_id"]


def test_demo_of_another_directory_of_the_same_name_is_not_continued(line, tmp_path):
    line(*DEMO)
    other = tmp_path / "other" / line.workspace.name
    other.mkdir(parents=True)
    code, _, err = line.bare("--cwd", str(other), "-c", *DEMO)
    assert code == 2 and "no session" in err


def test_demo_without_its_copied_directory_is_not_continued(line):
    line(*DEMO)
    shutil.rmtree(resolve_paths().scratch)
    code, out, _ = line("-c", *DEMO)
    assert code == 2
    assert "no session" in json.loads(out)["error"]["message"]
