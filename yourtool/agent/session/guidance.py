"""What the user and the project give the model of one session to read.

Instructions come unasked: those of the workspace in the system prompt, those of a directory below
it with the result of a call. Of skills, the system prompt has a list, and the model loads a text
with a tool, which a session offers only while there are skills.
"""

from pathlib import Path

from yourtool.agent.history.state import State
from yourtool.agent.session.instructions import FolderInstructions
from yourtool.agent.session.project_trust import ProjectTrust
from yourtool.agent.session.skills import Skills
from yourtool.tools.toolset import ToolSnapshot


class Guidance:
    """The instructions and skills of one session."""

    def __init__(
        self, trust: ProjectTrust, workspace: Path, state: State, tools: ToolSnapshot
    ) -> None:
        """`tools` of a session get those that need its skills."""
        self.instructions = FolderInstructions(trust, workspace, state)
        """Those of directories below the workspace."""
        self.skills = Skills(trust, workspace, state)
        tools.join(self.skills)

    def refresh(self) -> None:
        """Read what the next turn needs before its tools are known; blocks."""
        self.skills.find()

    def list_sizes(self) -> list[tuple[str, int]]:
        """Return the sources of all that the next request has, with their bytes; blocks."""
        index = len(self.skills.find().index().encode())
        rows = self.instructions.list_sizes()
        if index:
            rows.append(("list of skills", index))
        loaded = self.skills.get_loaded().items()
        return [*rows, *((f"skill {name}", 4 * tokens) for name, tokens in loaded)]
