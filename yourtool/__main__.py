"""The way in: `yourtool` and `python -m yourtool`."""

import gc
import sys
from importlib import import_module

from yourtool.supervisor import supervised


def main() -> None:
    """Run the command line under the supervisor and exit with its code."""
    sys.exit(supervised(run))


def run() -> int:
    """Load the program, which the supervising parent never does, and run it.

    Garbage is not looked for meanwhile: modules stay. The program begins with it once it is loaded.
    """
    gc.disable()
    try:
        return import_module("yourtool.cli").main(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    main()
