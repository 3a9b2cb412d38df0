"""The screenshots of README and docs show the program as it is."""

import json
import os
import re
import subprocess
import sys
import time
from html import unescape
from pathlib import Path

import pytest

from tests.pictures.asciicast import Asciicast
from tests.pictures.scene_clock import SceneClock

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
COMMITTED = ROOT / "docs" / "screenshots"


@pytest.mark.req("R-QLT-06")
@pytest.mark.remaining
def test_screenshots_and_recording_are_the_same_bytes_in_another_run(tmp_path):
    """The committed files are from an earlier run, elsewhere."""
    subprocess.run(
        [sys.executable, "-m", "tests.pictures", tmp_path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in COMMITTED.iterdir()}
    assert written.keys() == committed.keys()
    stale = [name for name, content in written.items() if content != committed[name]]
    assert not stale, "run `make pictures` and look at the files"


def test_every_screenshot_is_on_a_page():
    pages = [README, ROOT / "docs" / "guide.md"]
    shown = {
        name
        for page in pages
        for name in re.findall(r"([\w-]+\.svg|[\w-]+\.cast)", page.read_text())
    }
    assert shown == {path.name for path in COMMITTED.iterdir()}


def test_readme_shows_the_first_screen_a_diff_question_the_explanation_of_a_model_and_the_picker():
    pictures = re.findall(r"!\[[^\]]+\]\(docs/screenshots/(.+?)\.svg\)", README.read_text())
    assert pictures == ["first-screen", "diff-question", "model-show", "model-picker"]
    texts = {
        "first-screen": "ask before changes and commands",
        "diff-question": "Edit `",
        "model-show": "7 global default",
        "model-picker": "Model for this session",
    }
    for name, text in texts.items():
        drawn = "".join(re.findall(r">([^<]*)<", (COMMITTED / f"{name}.svg").read_text()))
        assert text in unescape(drawn).replace("\xa0", " "), name


def test_a_recording_has_the_rows_that_changed_and_no_empty_frame():
    cast = Asciicast(2, 2, "t")
    cast.add(0.5, ["ab", "cd"])
    cast.add(1.0, ["ab", "cd"])
    cast.add(1.5, ["ab", "ef"])
    head, *frames = map(json.loads, str(cast).splitlines())
    assert head == {"version": 2, "width": 2, "height": 2, "title": "t"}
    assert frames == [
        [0.5, "o", "\x1b[?25l\x1b[2J\x1b[1;1Hab\x1b[2;1Hcd"],
        [1.5, "o", "\x1b[2;1Hef"],
    ]


def test_only_the_package_sees_the_clock_of_a_script():
    clock = SceneClock()
    assert eval("clock()", {"__name__": "yourtool.tui.app", "clock": clock}) == 1_000.0
    assert eval("clock()", {"__name__": "asyncio.events", "clock": clock}) <= time.monotonic()
