"""The tools that ship with the program."""

from yourtool.tools.delegate import delegate
from yourtool.tools.edit import edit_file, write_file
from yourtool.tools.files import list_dir, read_file
from yourtool.tools.patch import apply_patch
from yourtool.tools.plan import update_plan
from yourtool.tools.plan_proposal import propose_plan
from yourtool.tools.process_tools import process_input, process_output, process_stop
from yourtool.tools.search import glob, grep
from yourtool.tools.shell import shell
from yourtool.tools.toolset import Toolbox
from yourtool.tools.web import build_fetch_url


def default_toolbox(*, delegates: bool = True) -> Toolbox:
    """Return the built-in tools in the order in which they are sent to models."""
    return Toolbox(
        (
            read_file,
            write_file,
            edit_file,
            apply_patch,
            list_dir,
            glob,
            grep,
            shell,
            process_output,
            process_input,
            process_stop,
            build_fetch_url(),
            update_plan,
            propose_plan,
            *((delegate,) if delegates else ()),
        )
    )
