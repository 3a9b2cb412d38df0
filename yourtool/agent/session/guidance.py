"""Guidance by the user and the project.

Instructions come unasked: those of the workspace in the system prompt, those of a directory below
it with the result of a call. Of skills, the system prompt has a list, and the model loads a text
with a tool, which a session offers only while there are skills. The same applies to the originals
of messages that are summarised.
"""

import asyncio

from yourtool.agent.history.state import State
from yourtool.agent.session.originals import Originals
from yourtool.agent.session.project.instructions import FolderInstructions
from yourtool.agent.session.project.memory import Memory
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.agent.session.project.skills import Skills
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.tools.toolset import Toolbox


class Guidance:
    """The instructions and skills of one session."""

    def __init__(self, trust: ProjectTrust, state: State, env: SessionEnvironment) -> None:
        """Add the tools for skills, memory and originals, but not to those of a worker."""
        workspace = env.place.workspace.root
        self.instructions = FolderInstructions(trust, workspace, state)
        """Those of directories below the workspace."""
        self.skills = Skills(trust, workspace, state)
        self.memory = Memory(workspace)
        self._tools = env.tools
        if not env.is_worker:
            env.tools.join(self.skills)
            env.tools.join(self.memory)
            env.tools.join(Originals(state))

    async def renew_tools(self) -> Toolbox:
        """Read what the tools of a turn depend on, and return its tools."""
        await asyncio.to_thread(self.skills.find)
        await asyncio.to_thread(self.memory.refresh)
        return self._tools.renew()

    def list_sizes(self) -> list[tuple[str, int]]:
        """Return the sources of all that the next request has, with their bytes; blocks."""
        index = len(self.skills.find().index().encode())
        rows = self.instructions.list_sizes()
        if index:
            rows.append(("list of skills", index))
        if memory := len(self.memory.text().encode()):
            rows.append(("memory", memory))
        loaded = self.skills.get_loaded().items()
        return [*rows, *((f"skill {name}", len(text.encode())) for name, text in loaded)]
