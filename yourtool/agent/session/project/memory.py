"""Memory for later sessions.

The user starts it with `/memory`; without a file, requests have neither its text nor its tool.
"""

from collections.abc import Mapping
from pathlib import Path

from yourtool.foundation.files import is_file, real_path
from yourtool.paths import resolve_paths
from yourtool.store.forks import workspace_hash
from yourtool.tools.guidance.memory import MemoryFile, build_remember
from yourtool.tools.toolset import Toolbox

_USER_LIMITS, _WORKSPACE_LIMITS = (1_536, 3_072), (2_048, 4_096)


class Memory:
    """The memory files of one workspace, as a source of the tool that changes them."""

    def __init__(self, workspace: Path) -> None:
        folder = resolve_paths().home / "memory"
        own = folder / "workspaces" / workspace_hash(real_path(workspace))
        self.files: Mapping[str, MemoryFile] = {
            "USER.md": MemoryFile(folder / "USER.md", "About the user (USER.md)", *_USER_LIMITS),
            "MEMORY.md": MemoryFile(
                own / "MEMORY.md", "About this workspace (MEMORY.md)", *_WORKSPACE_LIMITS
            ),
        }
        self._toolbox = Toolbox((build_remember(self.files),))
        self._exists = False

    def refresh(self) -> None:
        """Look whether there is memory; blocks."""
        self._exists = any(is_file(each.path) for each in self.files.values())

    def current(self) -> Toolbox:
        """Return the tool if `refresh` has found memory."""
        return self._toolbox if self._exists else Toolbox(())

    def text(self) -> str:
        """Return the sections for the next request, which are short; empty without memory."""
        found = ((each.title, each.read().strip()) for each in self.files.values())
        return "\n\n".join(f"# {title}\n{text}" for title, text in found if text)
