"""Standard streams that are closed, full or without a reader."""

import json
import os
import resource
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandbox_here import get_variables

ROOT = Path(__file__).parents[2]
SCRIPT = {"replies": [[{"say": "One. " * 200}], [{"say": "Two."}]]}


@pytest.fixture
def start(home, tmp_path):
    (home / "script.json").write_text(json.dumps(SCRIPT))
    (home / "config.toml").write_text(
        'model = "demo:file"\n'
        f"[providers.demo]\nquirks = {{ script = {json.dumps(str(home / 'script.json'))} }}\n"
    )

    def run(*arguments, unbuffered=False, **streams):
        environ = {
            **({"PYTHONUNBUFFERED": "1"} if unbuffered else {}),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "YOURTOOL_HOME": str(home),
            "YOURTOOL_DEMO_PACE": "0",
            **get_variables(),
        }
        return subprocess.run(
            [sys.executable, "-P", "-m", "yourtool", *arguments],
            cwd=tmp_path,
            env=environ,
            text=True,
            timeout=60,
            check=False,
            **{"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams},
        )

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "go"),
        ("-p", "go", "--output-format", "json"),
        ("-p", "go", "--output-format", "stream-json"),
        ("models", "--json"),
        ("sessions", "list", "--help"),
    ],
    ids=" ".join,
)
@pytest.mark.sample(5)
def test_closed_output_has_its_own_exit_code(start, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = start(*arguments, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("models", "--help")])
def test_closed_output_of_unbuffered_help_has_the_same_exit_code(start, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = start(*arguments, unbuffered=True, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_that_is_read_completely_has_the_usual_exit_code(start):
    done = start("-p", "go", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, "One. " * 200 + "\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [("models", "--json"), ("-p", "go"), ("-p", "go", "--output-format", "stream-json")],
    ids=" ".join,
)
@pytest.mark.sample(6)
def test_full_disk_behind_standard_output_is_reported(start, arguments, unbuffered):
    with Path("/dev/full").open("w") as full:
        done = start(*arguments, unbuffered=unbuffered, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "yourtool: cannot write the output: No space left on device\n"


@pytest.mark.remaining
def test_closed_standard_streams_are_accepted(start):
    def close():
        for stream in (0, 1, 2):
            os.close(stream)

    done = start("-p", "go", stdin=None, stdout=None, stderr=None, preexec_fn=close)
    assert done.returncode == 0


@pytest.mark.parametrize("files", [7, 8, 9, 10, 16])
def test_limit_of_open_files_gives_a_result_or_one_line(start, files):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    arguments = ("-p", "go", "--output-format", "json")
    done = start(*arguments, stdout=subprocess.PIPE, preexec_fn=limit)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    if files > 8:  # with fewer, the program cannot be loaded
        assert json.loads(done.stdout)["type"] == "result"


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_silent_input_that_stays_open_is_left_after_a_prompt_and_named(start, kind):
    pair = [each.detach() for each in socket.socketpair()]
    ends = pair if kind == "socket" else os.pipe()
    done = start("-p", "go", stdin=ends[0], stdout=subprocess.PIPE)
    for each in {*pair, *ends}:
        os.close(each)
    assert done.returncode == 0 and done.stdout.startswith("One.")
    assert "standard input is open, and nothing came for 3 s; going on without it" in done.stderr


@contextmanager
def written_by(script):
    """Yield the end of a pipe that a program writes to."""
    reading, writing = os.pipe()
    with subprocess.Popen([sys.executable, "-c", script], stdout=writing):
        os.close(writing)
        yield reading
        os.close(reading)


def test_input_that_has_begun_is_read_to_its_end_however_slow(start):
    with written_by(
        "import sys, time; print('a', flush=True); time.sleep(4); print('b')"
    ) as reading:
        done = start("-p", "go", "--output-format", "stream-json", stdin=reading, stdout=-1)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"go\\n\\na\\nb\\n"' in done.stdout


def test_input_without_a_prompt_beside_it_is_waited_for(start):
    with written_by("import time; time.sleep(4); print('hello')") as reading:
        done = start("-p", stdin=reading, stdout=subprocess.PIPE)
    assert done.returncode == 0 and done.stdout.startswith("One.")
    assert "waiting for the prompt" in done.stderr


def test_input_that_is_open_for_writing_only_is_an_error_with_a_way_out(start, tmp_path):
    with (tmp_path / "out").open("w") as file:
        done = start("-p", "go", stdin=file, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "standard input cannot be read: Bad file descriptor; `</dev/null` replaces it"
        in done.stderr
    )
