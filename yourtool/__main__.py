"""The way in: `yourtool` and `python -m yourtool`."""

import gc
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module

from yourtool import environment, prctl
from yourtool.memory import SHORTAGE, is_shortage
from yourtool.supervisor import supervised

_SHORTAGE_LINE = f"yourtool: {SHORTAGE}\n".encode()


def main() -> None:
    """Run the command line under the supervisor and exit with its code."""
    _open_missing_streams()
    environment.hide()
    prctl.forbid_inspection()
    code = supervised(run)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it, or it was closed
            stream.flush()
    os._exit(code)  # a thread that still works for a cancelled call keeps nobody waiting


def run() -> int:
    """Load the program, which the supervising parents never do, and run it.

    Garbage is not looked for meanwhile: modules stay. The program begins with it once it is loaded.
    """
    gc.disable()
    _keep_screen_clean()
    try:
        return import_module("yourtool.cli").main(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the program could not be loaded
        _report(type(error), error, None)
        return 1


def _report(_kind: object, error: BaseException, _trace: object) -> None:
    """Say in a sentence why the program cannot run; without memory for one, use a prepared one."""
    line = _SHORTAGE_LINE
    with suppress(MemoryError):
        if not is_shortage(error):
            line = f"yourtool: the program could not be loaded: {error!r}\n".encode()
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line)


def _keep_screen_clean() -> None:
    """Give standard error to the program alone.

    What the interpreter, a thread or a library in C reports of its own accord, such as a traceback
    when memory is short, would be written over the screen; it is discarded.
    """
    sys.unraisablehook = threading.excepthook = _discard
    sys.excepthook = _report
    with suppress(OSError):
        ours, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        os.close(nothing)
        stream = os.fdopen(ours, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
        sys.stderr = stream
        setattr(sys, "__stderr__", stream)  # noqa: B010 - the interface draws on this one


def _discard(_: object) -> None:
    pass


def _open_missing_streams() -> None:
    """Open standard streams that were closed, or the next file that is opened would be one."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


if __name__ == "__main__":
    main()
