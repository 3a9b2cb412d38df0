"""Entry point of the command line."""

import gc
import os
import sys
from contextlib import suppress

from yourtool.process import environment, prctl
from yourtool.process.early_prompt.handover import Handover
from yourtool.process.early_prompt.prompt import find_early_prompt
from yourtool.process.memory import SHORTAGE, is_shortage
from yourtool.process.supervisor import run_supervised

_SHORTAGE_LINE = f"yourtool: {SHORTAGE}\n".encode()


def main() -> None:
    """Run the command line under the supervisor and exit with its code."""
    _open_missing_streams()
    environment.hide()
    prctl.forbid_inspection()
    early_prompt = find_early_prompt(sys.argv[1:])
    handover = early_prompt.handover if early_prompt is not None else None
    code = run_supervised(lambda: run(handover), early_prompt)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or without a reader
            stream.flush()
    os._exit(code)  # without waiting for threads of cancelled calls


def run(handover: Handover | None) -> int:
    """Import and run the program, which the supervising parents never import.

    Garbage collection is off during the import, because modules stay; the program enables it.
    """
    gc.disable()
    _reserve_stderr()
    try:
        __import__("threading").excepthook = _discard  # its import would delay the first paint
        return __import__("yourtool.cli", fromlist=["main"]).main(sys.argv[1:], handover)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the program could not be loaded
        if handover is not None:
            handover.release()
        _report(type(error), error, None)
        return 1


def _report(_kind: object, error: BaseException, _trace: object) -> None:
    """Print why the program cannot run; without memory, use the prepared line."""
    line = _SHORTAGE_LINE
    with suppress(MemoryError):
        if not is_shortage(error):
            line = f"yourtool: the program could not be loaded: {error!r}\n".encode()
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line)


def _reserve_stderr() -> None:
    """Reserve standard error for the program.

    Reports of the interpreter, threads or C libraries, such as a traceback when memory is short,
    would be written over the screen; they are discarded.
    """
    sys.unraisablehook = _discard
    sys.excepthook = _report
    with suppress(OSError):
        own_stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
        stream = os.fdopen(
            own_stderr, "w", buffering=1, encoding="utf-8", errors="backslashreplace"
        )
        sys.stderr = stream
        setattr(sys, "__stderr__", stream)  # noqa: B010 - the interface draws on this one


def _discard(_: object) -> None:
    pass


def _open_missing_streams() -> None:
    """Open closed standard streams, because the next opened file would get their number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


if __name__ == "__main__":
    main()
