"""System prompt of a session.

A stable part that providers can cache comes first, then the moment.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, UnsetType

from yourtool.agent.history.state import State
from yourtool.agent.requests.prompt import (
    build_sandbox_text,
    build_situation_text,
    build_stable_text,
)
from yourtool.agent.session.project.instructions import Instructions, list_instructions
from yourtool.agent.session.project.skills import find_skills
from yourtool.agent.session.surroundings import describe_surroundings
from yourtool.agent.session_environment import SessionEnvironment
from yourtool.foundation.masking import Mask
from yourtool.foundation.text import storable
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import Message, PromptMessage, Role, now
from yourtool.settings.config import Mode

NO_KEYS = Mask()


class SystemPrompt:
    """The system prompt of one session."""

    def __init__(self, session_id: str, state: State, env: SessionEnvironment) -> None:
        self._session_id = session_id
        self._stored = state.system_prompt
        self._env = env
        self.problems: tuple[str, ...] = ()
        """The instructions that the last prompt did not have completely, for the user."""

    def find_surroundings(self) -> str | UnsetType:
        """Return what is new about the workspace, at the start of a session; blocks."""
        if self._stored.surroundings:
            return UNSET
        env = self._env
        own = env.place.spill.parent
        further = [each for each in env.place.workspace.readable if each.parent != own]
        found = describe_surroundings(
            env.place.workspace.root, further, is_trusted=env.gate.is_trusted
        )
        if (sandbox := env.place.sandbox) is not None:
            lines = (found, build_sandbox_text(sandbox.level, sandbox.reached))
            found = "\n".join(filter(None, lines))
        return storable(env.place.mask().text(found))

    async def measure_sandbox(self) -> None:
        """Find the level of the sandbox, which the surroundings name, at the start of a session."""
        if not self._stored.surroundings and self._env.place.sandbox is not None:
            await self._env.place.sandbox.measure()

    def build_stable(self) -> Message:
        """Return the part that is the same in every turn, until instructions change; blocks."""
        env, around = self._env, self._stored.surroundings
        root, mask, lists_skills = env.place.workspace.root, env.place.mask(), not env.is_worker
        instructions = list_instructions(root)
        self.problems = tuple(each.problem for each in instructions if each.problem)
        return build_stable_message(
            root, self._session_id, around, mask, instructions, lists_skills=lists_skills
        )

    def build_situation(self, mode: Mode, memory: str = "") -> Message:
        """Return the part about the moment of a request, with the text of the memory."""
        env = self._env
        text = build_situation_text(
            now().date().isoformat(),
            mode,
            is_answered=env.user.interactive,
            is_worker=env.is_worker,
        )
        parts = (text, memory) if memory else (text,)
        return _build_message("system-1", self._session_id, "\n\n".join(parts))


def system_messages(
    workspace: Path, session_id: str, mode: Mode = Mode.ASK
) -> tuple[Message, Message]:
    """Return the system prompt as it is in a directory about which nothing else is known."""
    surroundings = f"Working directory: {workspace}"
    stable = build_stable_message(workspace, session_id, surroundings)
    situation = build_situation_text(now().date().isoformat(), mode)
    return stable, _build_message("system-1", session_id, situation)


def build_stable_message(
    workspace: Path,
    session_id: str,
    surroundings: str,
    mask: Mask = NO_KEYS,
    instructions: Sequence[Instructions] | None = None,
    *,
    lists_skills: bool = True,
) -> Message:
    """Return the part that is the same in every turn, until an instruction file changes; blocks.

    `mask` replaces keys, because the text is stored and sent. `instructions`: None reads them.
    `lists_skills`: whether the session can load skills.
    """
    found = list_instructions(workspace) if instructions is None else instructions
    skills = find_skills(workspace).index() if lists_skills else ""
    text = build_stable_text(surroundings, ((each.source, each.text) for each in found), skills)
    return _build_message("system-0", session_id, mask.text(text))


def _build_message(message_id: str, session_id: str, text: str) -> Message:
    return PromptMessage(
        id=message_id,
        session_id=session_id,
        role=Role.SYSTEM,
        content=(TextBlock(storable(text)),),
        created_at=now(),
    )
