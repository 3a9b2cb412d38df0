"""The way in: `yourtool` and `python -m yourtool`."""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module

from yourtool import environment, prctl
from yourtool.supervisor import supervised


def main() -> None:
    """Run the command line under the supervisor and exit with its code."""
    environment.hide()
    prctl.forbid_inspection()
    code = supervised(run)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # None or closed by whoever started us
            stream.flush()
    os._exit(code)  # a thread that still works for a cancelled call keeps nobody waiting


def run() -> int:
    """Load the program, which the supervising parents never do, and run it.

    Garbage is not looked for meanwhile: modules stay. The program begins with it once it is loaded.
    """
    gc.disable()
    try:
        return import_module("yourtool.cli").main(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    main()
