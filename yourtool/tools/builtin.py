"""The tools that ship with the program."""

from yourtool.tools.commands.process_tools import process_input, process_output, process_stop
from yourtool.tools.commands.shell import shell
from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.edits.patch import apply_patch
from yourtool.tools.files.files import list_dir, read_file
from yourtool.tools.guidance.ask_user import ask_user
from yourtool.tools.guidance.delegate import delegate
from yourtool.tools.guidance.plan import update_plan
from yourtool.tools.guidance.plan_proposal import propose_plan
from yourtool.tools.search.search import glob, grep
from yourtool.tools.toolset import Toolbox
from yourtool.tools.web.web import build_fetch_url


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
            ask_user,
            *((delegate,) if delegates else ()),
        )
    )
