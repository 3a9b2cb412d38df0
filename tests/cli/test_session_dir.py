"""`--session-dir` with an unusable directory."""

import json
from pathlib import Path

import pytest

from tests.e2e.terminal import YOURTOOL, Terminal

pytestmark = pytest.mark.usefixtures("own_logging")
COMMANDS = [("-p", "hi", "-m", "demo:tour"), ("sessions", "list"), ("sessions", "show", "x")]


@pytest.fixture(params=["/proc", "/proc/x", "file", "file/x", "dangling/x"])
def place(request, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deep")
    if request.param.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    return str(tmp_path / request.param)


@pytest.mark.parametrize("command", COMMANDS)
def test_unusable_session_directory_is_reported_with_advice(line, place, command):
    code, out, err = line("--session-dir", place, *command)
    assert (code, out) == (2, "")
    assert f"`{place}`" in err and "`--session-dir DIR`" in err
    assert err.count("\n") == 1


def test_unusable_session_directory_is_reported_as_json(line, tmp_path):
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file")
    _, out, _ = line("-p", "hi", "--session-dir", place, "--output-format", "json")
    failed = json.loads(out)
    assert (failed["exit_code"], failed["error"]["class"]) == (2, "usage")
    assert place in failed["error"]["message"]


def test_home_of_an_unknown_user_is_a_usage_error(line):
    code, _, err = line("--session-dir", "~no-such-user/x", "sessions", "list")
    assert code == 2
    assert "~no-such-user/x" in err and "internal error" not in err


def test_interface_does_not_open_without_a_store(home, tmp_path):
    (tmp_path / "file").write_text("")
    argv = [*YOURTOOL, "--session-dir", str(tmp_path / "file")]
    with Terminal(argv, cwd=tmp_path, env={"YOURTOOL_HOME": str(home)}) as terminal:
        shown = terminal.wait("--session-dir DIR")
        assert "sessions cannot be stored in" in shown and "Traceback" not in shown
        assert terminal.end() == 2
