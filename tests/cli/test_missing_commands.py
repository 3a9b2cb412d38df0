"""Commands that are not implemented, and unknown commands."""

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize(
    "command",
    ["import", "import settings"],
)
@pytest.mark.req("R-CLI-01")
def test_unimplemented_command_is_rejected_in_one_line(line, command):
    code, out, err = line.bare(*command.split())
    assert (code, out) == (2, "")
    [told] = err.splitlines()
    words = command.split()[: 2 if command.startswith(("sessions", "permissions")) else 1]
    assert told.startswith(f"yourtool: `yourtool {' '.join(words)}` is not implemented yet")


@pytest.mark.parametrize("command", ["sesions", "sessions frob", "config frob"])
def test_unknown_command_is_rejected_with_a_hint_to_the_help(line, command):
    code, out, err = line.bare(*command.split())
    assert (code, out) == (2, "")
    assert "--help`" in err or "sends it as a prompt" in err
    assert len(err.splitlines()) == 2
