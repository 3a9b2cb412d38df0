"""Unknown commands."""

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize("command", ["sesions", "sessions frob", "config frob"])
def test_unknown_command_is_rejected_with_a_hint_to_the_help(line, command):
    code, out, err = line.bare(*command.split())
    assert (code, out) == (2, "")
    assert "--help`" in err or "sends it as a prompt" in err
    assert len(err.splitlines()) == 2
