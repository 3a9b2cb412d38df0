"""Commands that do not exist yet, and words that are no command."""

import pytest

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.mark.parametrize(
    "command",
    [
        "sessions delete", "sessions delete ID", "sessions check", "sessions rename ID name",
        "permissions", "permissions check ls", "permissions list --json", "cost", "cost --by day",
        "completion", "completion bash", "acp", "auth list", "mcp list", "trust", "import settings",
    ],
)  # fmt: skip
@pytest.mark.req("R-CLI-01")
def test_a_command_that_does_not_exist_yet_is_refused_in_one_line(line, command):
    code, out, err = line.bare(*command.split())
    assert (code, out) == (2, "")
    [told] = err.splitlines()
    words = command.split()[: 2 if command.startswith("sessions") else 1]
    assert told.startswith(f"yourtool: `yourtool {' '.join(words)}` does not exist yet")


@pytest.mark.parametrize("command", ["frobnicate", "sessions frob", "config frob"])
def test_a_word_that_is_no_command_is_refused_with_the_way_to_the_help(line, command):
    code, out, err = line.bare(*command.split())
    assert (code, out) == (2, "")
    assert "--help` shows what there is" in err
    assert len(err.splitlines()) == 2
