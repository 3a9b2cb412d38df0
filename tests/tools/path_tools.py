"""The tools that the cases of `tests.security.paths` call, and their files."""

import os

from yourtool.tools.edits.edit import edit_file, write_file
from yourtool.tools.files.files import list_dir, read_file
from yourtool.tools.search.search import glob

TOOLS = {
    "read": lambda path: (read_file, {"path": path}),
    "list": lambda path: (list_dir, {"path": path}),
    "search": lambda path: (glob, {"pattern": path}),
    "write": lambda path: (write_file, {"path": path, "content": "new\n"}),
    "edit": lambda path: (edit_file, {"path": path, "edits": [{"old": "x", "new": "y"}]}),
}


def lay_out_files(top, fixture):
    for name in fixture.get("dirs", ()):
        (top / name).mkdir(parents=True, exist_ok=True)
    for name, text in fixture.get("files", {}).items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    for name, target in fixture.get("symlinks", {}).items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).symlink_to(target)
    for name, target in fixture.get("hardlinks", {}).items():
        (top / name).hardlink_to(top / target)
    for name in fixture.get("fifos", ()):
        os.mkfifo(top / name)
