"""The command line, for the commands of extensions."""

from tests.cli.conftest import line

__all__ = ["line"]
