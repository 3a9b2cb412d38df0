"""Errors of headless mode name command line options, never slash commands."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")
COMMAND = re.compile(r"(?<![\w./~-])/(?:model|models|key|retry|continue|effort|attach|new|help)\b")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("-p", "hi"), "credentials.toml"),
        (("-p", "hi", "-m", "no-such-model"), "yourtool models"),
        (("-p", "hi", "-m", "sonnet"), "set `ANTHROPIC_API_KEY`"),
        (("-p", "@sonnet", "-m", "demo:tour"), "needs a message"),
        (("-p", "@sonnet hi", "-m", "demo:tour"), "Choose one with `--model`"),
        (("route", "-m", "no-such-model", "hi"), "yourtool models"),
        (("route", "-m", "sonnet", "hi"), "ANTHROPIC_API_KEY"),
        (("models",), "ANTHROPIC_API_KEY"),
        (("doctor",), ""),
    ],
)
def test_headless_error_names_no_slash_command(line, argv, named):
    _, out, err = line(*argv)
    assert COMMAND.search(out + err) is None
    assert named in out + err
