import errno
import subprocess
import sys

import pytest

from yourtool.process.memory import is_shortage


def build_error(error, *, cause=None, context=None):
    error.__cause__, error.__context__ = cause, context
    return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        RuntimeError("cannot join thread before it is started"),
        ImportError("libssl.so.3: failed to map segment from shared object"),
        SystemError("error return without exception set"),
        SystemError("<function f at 0x7f> returned NULL without setting an exception"),
        build_error(ValueError("x"), cause=KeyError("y"), context=MemoryError()),
        build_error(ValueError("x"), cause=build_error(KeyError("y"), context=MemoryError())),
        BaseExceptionGroup("two", [ValueError("x"), BaseExceptionGroup("one", [MemoryError()])]),
        ExceptionGroup("one", [build_error(ValueError("x"), cause=MemoryError())]),
    ],
)
@pytest.mark.req("D16")
def test_a_lack_of_memory_is_recognised_wherever_it_is_in_the_error(error):
    assert is_shortage(error)


@pytest.mark.parametrize(
    "error",
    [
        None,
        ValueError("x"),
        OSError(errno.ENOSPC, "No space left on device"),
        build_error(ValueError("x"), context=KeyError("y")),
        ExceptionGroup("one", [ValueError("x")]),
    ],
)
def test_other_errors_are_not_a_lack_of_memory(error):
    assert not is_shortage(error)


def test_circular_causes_are_examined_once():
    first, second = ValueError("x"), KeyError("y")
    first.__cause__, second.__cause__ = second, first
    assert not is_shortage(first)


def test_a_limit_below_the_imports_of_a_session_is_refused_before_them():
    line = "import sys; from yourtool.cli import main; code = main(['-p', 'hi']);"
    line += "print(code, 'httpx2' in sys.modules)"
    done = subprocess.run(
        ["/bin/bash", "-c", f'ulimit -v 80000; exec {sys.executable} -c "{line}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 False\n"
    assert "raise the limit of 80,000 KB (`ulimit -v`)" in done.stderr
