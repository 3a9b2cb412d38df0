"""Command `/skill`."""

import asyncio
from collections.abc import Container
from typing import TYPE_CHECKING

from yourtool.agent.commands.base import (
    CommandResults,
    Report,
    Section,
    SendPrompt,
    SlashCommand,
)
from yourtool.errors import UsageError
from yourtool.events.deltas import Notice
from yourtool.tools.guidance.skills import SkillSet

if TYPE_CHECKING:
    from yourtool.agent.runtime import Runtime
    from yourtool.agent.session.session import Session


async def use_skill(session: "Session", _runtime: "Runtime", argument: str) -> CommandResults:
    """`/skill`: list the skills; with a name, send its text and the rest of the argument."""
    found = await asyncio.to_thread(session.guidance.skills.find)
    if not argument:
        if not (found.skills or found.problems):
            text = "There are no skills: `~/.yourtool/skills` and `.agents/skills` can have some."
            yield Notice(level="info", text=text)
            return
        loaded = session.guidance.skills.get_loaded()
        yield Report("Skills", await asyncio.to_thread(build_report, found, loaded))
        return
    name, task = (*argument.split(maxsplit=1), "")[:2]
    if (skill := found.skills.get(name)) is None:
        names = ", ".join(f"`{each}`" for each in found.skills) or "none"
        raise UsageError(f"There is no skill `{name}`. Skills: {names}.")
    yield SendPrompt(f"Use this skill.\n\n{skill.text}" + (f"\n\n# Task\n{task}" if task else ""))


def build_report(found: SkillSet, loaded: Container[str]) -> tuple[Section, ...]:
    """Return the skills, with the fields that have no effect, and what is wrong with the others.

    `loaded`: the names of those that the model has. Takes milliseconds for a long skill.
    """
    rows = list[tuple[str, str]]()
    for each in found.skills.values():
        state = ", loaded" * (each.name in loaded) + ", only for /skill" * (not each.is_listed)
        tools = f", names the tools {each.allowed_tools}, which need approvals as always"
        model = f", names the model {each.model}, which is not used"
        state += tools * bool(each.allowed_tools) + model * bool(each.model)
        about = f"{each.source}, {each.tokens:,} tokens{state}"
        rows.append((each.name, f"{each.description} ({about})"))
    problems = tuple((str(number), text) for number, text in enumerate(found.problems, 1))
    sections = Section("Skills", tuple(rows)), Section("Not used", problems)
    return tuple(each for each in sections if each.rows)


COMMANDS = (
    SlashCommand(
        name="skill",
        aliases=("skills",),
        run=use_skill,
        argument="[NAME [TASK]]",
        is_multiline=True,
        during_turn=False,
        summary="list the skills, or send one to the model with a task",
    ),
)
