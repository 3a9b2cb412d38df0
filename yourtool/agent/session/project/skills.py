"""Agent Skills.

A model loads their instructions for a task; https://agentskills.io/specification defines the
format. A skill is a directory with `SKILL.md`: front matter with its name and description, then the
text. The skills of the user need no trust; those of a project are files that configure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from yourtool.agent.history.state import State
from yourtool.agent.session.project import front_matter
from yourtool.agent.session.project.project_files import MAX_BYTES, read_capped_file
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.errors import ToolError
from yourtool.foundation.files import expand_home, is_directory
from yourtool.foundation.text import printable
from yourtool.messages.blocks import TextBlock
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import SKILLS
from yourtool.tools.guidance.skill_saving import FOLDER, build_save_skill
from yourtool.tools.guidance.skills import (
    LOAD_SKILL,
    SKILL_HEADING,
    Skill,
    SkillSet,
    build_load_skill,
    count_tokens,
)
from yourtool.tools.toolset import Toolbox

MAX_LOADED = 3
"""Skills that a model can load in a session."""
MAX_TOKENS = 30_000
"""Of all skills that a model loads in a session, estimated."""
_MAX_SKILLS = 200
_SHARED_FOLDERS = (".claude/skills", ".agents/skills")
"""In the home directory of the user, who shares them with other programs."""
_MAX_FOUND = 10
_NAME = re.compile(r"(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_MAX_NAME, _MAX_DESCRIPTION, _MAX_COMPATIBILITY = 64, 1_024, 500
_MAX_FIELD = 200
_CUT = f"\n[cut at {MAX_BYTES} bytes]"
"""The end of a text that is too long."""


def find_skills(workspace: Path, trust: ProjectTrust | None = None) -> SkillSet:
    """Return the skills of the user and those of a trusted project, which come first; blocks."""
    trust = trust or ProjectTrust(workspace)
    texts = [("user", *each) for each in _read_user_skills()]
    if trust.asks:
        used = trust.examine().used_files
        texts += [
            (file.name, file.name, file.path.parent.name, file.text + _CUT * file.is_truncated)
            for file in used
            if file.kind is SKILLS
        ]
    skills, problems = dict[str, Skill](), list[str]()
    for source, place, directory, text in texts:
        try:
            skill = _parse(source, directory, text)
        except front_matter.FrontMatterError as error:
            problems.append(f"The skill `{printable(place)}` is not used: {error}.")
        else:
            skills[skill.name] = skill
    return SkillSet(dict(sorted(skills.items())), tuple(problems))


def read_descriptions(workspace: Path) -> Mapping[str, str]:
    """Return the description of each skill by its name; blocks."""
    return {name: each.description for name, each in find_skills(workspace).skills.items()}


def _read_user_skills() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the directory and the text of each skill; the last of a name is used."""
    for shown, folder in _list_user_folders():
        try:
            found = sorted(folder.iterdir())[:_MAX_SKILLS]
        except OSError:
            continue
        for directory in found:
            if (data := read_capped_file(directory / "SKILL.md")) is not None:
                text = data[:MAX_BYTES].decode("utf-8-sig", "replace")
                text += _CUT * (len(data) > MAX_BYTES)
                yield f"{shown}/{directory.name}", directory.name, text


def _list_user_folders() -> list[tuple[str, Path]]:
    """Return the folders with skills of the user; with `YOURTOOL_HOME`, only that in it."""
    own = resolve_paths().home
    home = expand_home(Path("~"))
    others = _SHARED_FOLDERS if own == home / ".yourtool" else ()
    shared = [(f"~/{each}", home / each) for each in others]
    return [*shared, ("~/.yourtool/skills", own / "skills")]


def _parse(source: str, directory: str, text: str) -> Skill:
    """Return a skill.

    Raises:
        FrontMatterError: it does not have the form of the specification.
    """
    fields, body = front_matter.split_front_matter(text)
    if fields is None:
        raise front_matter.FrontMatterError("it does not start with `---`")
    name = _get_text(fields, "name", _MAX_NAME)
    description = _get_text(fields, "description", _MAX_DESCRIPTION)
    if not _NAME.fullmatch(name):
        raise front_matter.FrontMatterError("its `name` is not of a-z, 0-9 and single hyphens")
    if name != directory:
        raise front_matter.FrontMatterError(f"its `name`, {name}, is not that of its directory")
    if "compatibility" in fields:
        _get_text(fields, "compatibility", _MAX_COMPATIBILITY)
    if not isinstance(fields.get("metadata", {}), dict):
        raise front_matter.FrontMatterError("its `metadata` is not a mapping")
    is_listed = str(fields.get("disable-model-invocation", "")).lower() != "true"
    tools, model = (_show_field(fields.get(each)) for each in ("allowed-tools", "model"))
    return Skill(name, description, body.strip(), source, is_listed, tools, model)


def _show_field(value: object) -> str:
    """Return a text or a list of texts in one line."""
    parts = cast("list[object]", value) if isinstance(value, list) else [value or ""]
    return ", ".join(" ".join(printable(str(each)).split()) for each in parts)[:_MAX_FIELD]


def _get_text(fields: Mapping[str, Any], name: str, limit: int) -> str:
    value: object = fields.get(name)
    text = " ".join(printable(value).split()) if isinstance(value, str) else ""
    if not text or len(text) > limit:
        problem = f"its `{name}` is not a text of 1 to {limit:,} characters"
        raise front_matter.FrontMatterError(problem)
    return text


class Skills:
    """The skills of one session, as a source of the tool that loads them."""

    def __init__(self, trust: ProjectTrust, workspace: Path, state: State) -> None:
        self._trust = trust
        self._workspace = workspace
        self._state = state
        self._found = SkillSet({})
        self._can_save = False
        """Whether the workspace has a folder for skills."""

    def find(self) -> SkillSet:
        """Return the present skills, which `current` is about from then on; blocks."""
        self._found = find_skills(self._workspace, self._trust)
        self._can_save = is_directory(self._workspace / FOLDER)
        return self._found

    def current(self) -> Toolbox:
        """Return the tools that are of use after what `find` has found."""
        has_skills = bool(self._found.index())
        load = (build_load_skill(self.load),) if has_skills else ()
        save = (build_save_skill(self.check_new),) if has_skills or self._can_save else ()
        return Toolbox((*load, *save), self._found.problems)

    def check_new(self, name: str, text: str) -> None:
        """Check the file of a new skill; blocks.

        Raises:
            ToolError: it is invalid, or a skill has this name.
        """
        try:
            _parse("user", name, text)
        except front_matter.FrontMatterError as error:
            raise ToolError(f"the skill `{name}` is not valid: {error}") from error
        if name in self.find().skills:
            raise ToolError(f"there is a skill `{name}` already; choose another name")

    def load(self, name: str) -> Skill | str:
        """Return a skill, or a text about why not or which skills match words; blocks.

        Raises:
            ToolError: there is no match, or the session has loaded too much.
        """
        found = self.find()
        skill = found.skills.get(name.strip())
        if skill is None or not skill.is_listed:
            if not (matches := found.search(name)):
                raise ToolError(f"no skill matches `{name}`; do the task without one")
            rows = (f"- {each.name}: {each.description}" for each in matches[:_MAX_FOUND])
            return "\n".join(("No skill has this name. These match:", *rows))
        loaded = self.get_loaded()
        if skill.name in loaded:
            return f"The skill `{skill.name}` is loaded already: its text is above."
        tokens = sum(map(count_tokens, loaded.values())) + skill.tokens
        if len(loaded) >= MAX_LOADED or tokens > MAX_TOKENS:
            names = ", ".join(f"`{each}`" for each in loaded) or "none"
            raise ToolError(
                f"the skill `{skill.name}` has {skill.tokens:,} tokens and is not loaded: a session"
                f" can load {MAX_LOADED} skills of {MAX_TOKENS:,} tokens together. Loaded: {names}"
            )
        return skill

    def get_loaded(self) -> dict[str, str]:
        """Return the names and texts of the skills that requests have."""
        return dict(_iter_loaded(self._state))


def _iter_loaded(state: State) -> Iterable[tuple[str, str]]:
    calls = set[str]()
    for message in state.sent_messages:
        calls |= {call.id for call in message.tool_uses if call.name == LOAD_SKILL}
        result = message.result
        if result is None or result.is_error or result.tool_use_id not in calls:
            continue
        first = result.content[0] if result.content else None
        if isinstance(first, TextBlock) and first.text.startswith(SKILL_HEADING):
            name = first.text.removeprefix(SKILL_HEADING).partition(" (")[0]
            yield name, first.text
