"""Command `yourtool acp`.

It serves the Agent Client Protocol on standard input and output, for editors.
"""

from argparse import ArgumentParser

from yourtool.cli.arguments import Arguments, build_run_options
from yourtool.cli.run_options import add_command_options
from yourtool.errors import UsageError
from yourtool.extensions import editors
from yourtool.foundation.extras import build_install_command
from yourtool.paths import Paths, require_data_directory
from yourtool.process.memory import require_memory
from yourtool.settings.config import load_report
from yourtool.settings.first_files import install_defaults

_LIBRARY = "acp"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_command_options(parser)


def run(paths: Paths, arguments: Arguments) -> int:
    """Serve one client until it ends.

    Raises:
        UsageError: the library is not installed, or the settings are invalid.
    """
    require_memory()
    install_defaults(paths)
    load_report(paths).require_usable()
    require_data_directory(paths)
    try:
        serve = editors.server.run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != _LIBRARY:
            raise
        raise UsageError(
            "`yourtool acp` needs a library that is not installed;"
            f" install it with `{build_install_command('acp')}`"
        ) from error
    return serve(paths, build_run_options(arguments, interactive=True))
