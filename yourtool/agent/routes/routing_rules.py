"""Routing rules of a session.

A file with a mistake changes nothing: the rules that it had before stay in use, and each distinct
content is reported once.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from yourtool.agent.history.state import State
from yourtool.events.turns import RoutingPolicyChanged, RoutingPolicyInvalid
from yourtool.foundation.amounts import Spending
from yourtool.messages.blocks import ImageBlock
from yourtool.messages.memo import MessageMemo
from yourtool.messages.message import Message
from yourtool.paths import to_stored_path
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.registry import Registry
from yourtool.routing.policy import (
    FILE_NAME,
    MAX_BYTES,
    Policy,
    PolicyError,
    PolicyFile,
    ResolveModel,
    build_policy,
    parse_policy,
)
from yourtool.routing.predicates import MAX_TEXT, TurnInput
from yourtool.settings.config import Config
from yourtool.settings.problems import Problem

_SHARED_WORDS = 2
"""Words of a description that a message has if a skill matches it."""
_WORD = re.compile(r"\w{4,}")
_PATH_ARGUMENTS = ("path", "paths", "file", "file_path")
_NONE = frozenset[str]()
_PATCHED_FILE = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ )(.{1,4096})$", re.M)


class DefaultModels(Struct, frozen=True):
    """The default models, as canonical ids."""

    workspace_default: str | None
    global_default: str

    @property
    def preferred(self) -> str:
        """The default model of the workspace."""
        return self.workspace_default or self.global_default


def find_default_models(
    config: Config, catalogue: Catalogue, registry: Registry, workspace: Path
) -> DefaultModels:
    """Return the default models of sessions in a directory."""
    own, named = config.workspaces.get(str(workspace)), config.model
    return DefaultModels(
        catalogue.resolve(own.model).id if own and own.model else None,
        catalogue.resolve(named).id if named else registry.default_model(),
    )


class _Loaded(Struct, frozen=True):
    """A file as it was read last."""

    content: PolicyFile = PolicyFile()
    digest: str = ""
    """Of the bytes; empty without a file."""
    problems: tuple[Problem, ...] = ()
    """Why the bytes are not used."""


class RoutingRules:
    """The rules for one directory."""

    def __init__(
        self,
        file: Path,
        workspace: Path,
        resolve: ResolveModel,
        spent_today: Callable[[], Awaitable[Spending]],
        read_skills: Callable[[], Mapping[str, str]],
        configured: DefaultModels,
    ) -> None:
        """`file`: the rules of the user; it can be missing. `workspace`: a real path.

        `read_skills` returns the descriptions of the skills by name, and can block. `configured`:
        the default models where the rules have none.
        """
        self.policy = Policy()
        self.file = file
        self._workspace, self._resolve = workspace, resolve
        self._spent_today, self._read_skills = spent_today, read_skills
        self.configured = configured
        self._user, self._project = _Loaded(), _Loaded()
        self._status: tuple[int, ...] = ()
        self._inputs = TurnInput(workspace=to_stored_path(workspace))
        self._skills: Mapping[str, frozenset[str]] = {}

    @property
    def defaults(self) -> DefaultModels:
        """The default models of the rules, or else of the settings."""
        return DefaultModels(
            self.policy.workspace_default or self.configured.workspace_default,
            self.policy.global_default or self.configured.global_default,
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The mistakes and warnings of the files as they are now."""
        files = (self._user, self._project)
        return tuple(
            problem for each in files for problem in (each.problems or each.content.warnings)
        )

    @property
    def has_mistakes(self) -> bool:
        """Whether a file is not used as it is now."""
        return bool(self._user.problems or self._project.problems)

    def refresh(self, project: tuple[str, str] | None) -> list[RoutingPolicyInvalid]:
        """Read the files that changed; return a fact for each that has mistakes now; blocks.

        `project`: name and text of the file of the project, if the user trusts it.
        """
        facts = list[RoutingPolicyInvalid]()
        before = (self._user, self._project)
        if (status := _status_of(self.file)) != self._status:
            self._status = status
            self._user = self._load(self._user, str(self.file), self._read_user_file)
            if self._user != before[0]:
                self._project = _Loaded()  # which can use the tiers of the user
        name, text = project or (FILE_NAME, "")
        tiers = self._user.content.general.tiers
        self._project = self._load(self._project, name, text.encode, tiers)
        for old, new in zip(before, (self._user, self._project), strict=True):
            if new.problems and new.digest != old.digest:
                facts.append(
                    RoutingPolicyInvalid(
                        policy_path=new.problems[0].where,
                        errors=tuple(map(str, new.problems)),
                        using_last_known_good=new.content != PolicyFile(),
                    )
                )
        if before != (self._user, self._project):
            contents = (self._user.content, self._project.content)
            self.policy = build_policy(*contents, str(self._workspace))
        return facts

    def find_change(self, state: State) -> RoutingPolicyChanged | None:
        """Return the fact for rules that are not those of the last turn."""
        if self.policy.version == state.routing_policy:
            return None
        return RoutingPolicyChanged(
            version=self.policy.version, policy=self.policy.to_document() or UNSET
        )

    async def load_inputs(self) -> None:
        """Load what the rules test and the session does not have."""
        if "cost_today_exceeds_usd" in self.policy.predicates:
            spent = await self._spent_today()
            self._inputs = replace(self._inputs, spent_today=spent.cost_usd)
        if "skills_matching_message_includes" in self.policy.predicates:
            described = await asyncio.to_thread(self._read_skills)
            self._skills = {name: _words(text) for name, text in described.items()}

    def build_input(self, state: State) -> TurnInput:
        """Return what conditions test about the last prompt, but not what no rule asks for.

        Always with the extensions of files, so that other rules can be tried on stored turns.
        """
        prompt = find_prompt(state)
        text = prompt.text if prompt else ""
        named = _named_extensions.values(state.messages)
        return replace(
            self._inputs,
            text=text,
            has_images=prompt is not None
            and any(isinstance(block, ImageBlock) for block in prompt.content),
            has_tool_calls=any(each.tool_uses for each in state.messages),
            file_extensions=frozenset[str]().union(*named),
            skills=_matching_skills(self._skills, text),
            local_time=datetime.now().time(),
        )

    def _load(
        self,
        before: _Loaded,
        where: str,
        read: Callable[[], bytes],
        outer_tiers: Mapping[str, str] | None = None,
    ) -> _Loaded:
        """Return a file as it is now; with a mistake, with the content that it had before."""
        try:
            data = read()
        except OSError as error:
            reason = error.strerror or str(error)
            return _Loaded(before.content, reason, (_mistake(where, f"cannot be read: {reason}"),))
        digest = hashlib.sha256(data).hexdigest() if data else ""
        if digest == before.digest:
            return before
        try:
            text = data.decode("utf-8-sig")
            content = parse_policy(text, where, self._resolve, outer_tiers)
        except UnicodeDecodeError:
            return _Loaded(before.content, digest, (_mistake(where, "is not UTF-8"),))
        except PolicyError as error:
            return _Loaded(before.content, digest, error.problems)
        return _Loaded(content, digest)

    def _read_user_file(self) -> bytes:
        """Return the content of the user's file; empty if it does not exist.

        Raises:
            OSError: it cannot be read, or is too large.
        """
        try:
            with self.file.open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return b""
        if len(data) > MAX_BYTES:
            raise OSError(0, f"it is larger than {MAX_BYTES // 2**20} MiB")
        return data


def examine_rules(
    file: Path, workspace: Path, resolve: ResolveModel, project: tuple[str, str] | None
) -> RoutingRules:
    """Return the rules as their files are now, without cost, skills and default models; blocks."""
    rules = RoutingRules(file, workspace, resolve, _spend_nothing, dict, DefaultModels(None, ""))
    rules.refresh(project)
    return rules


def find_prompt(state: State) -> Message | None:
    """Return the last prompt, which conditions test."""
    return next((each for each in reversed(state.messages) if each.is_prompt), None)


async def _spend_nothing() -> Spending:
    return Spending()


def _mistake(where: str, message: str) -> Problem:
    return Problem(where=where, message=message)


def _status_of(file: Path) -> tuple[int, ...]:
    """Return what changes with the content of a file; empty without one."""
    try:
        status = file.stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _matching_skills(skills: Mapping[str, frozenset[str]], text: str) -> frozenset[str]:
    """Return the skills whose name is in a message, or which share words with it."""
    words = _words(text[:MAX_TEXT]) if skills else frozenset[str]()
    return frozenset(
        name
        for name, described in skills.items()
        if name in text or len(described & words) >= _SHARED_WORDS
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _find_extensions(message: Message) -> frozenset[str]:
    """Return the extensions of the files that the calls of a message name, in lower case."""
    named = (name for call in message.tool_uses for name in iter_named_files(call.input))
    found = frozenset(suffix.lower() for name in named if (suffix := Path(name).suffix))
    return found or _NONE  # an empty set has 216 bytes, and most messages have no calls


def iter_named_files(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that the arguments of a call name."""
    for name, value in arguments.items():
        if name in _PATH_ARGUMENTS:
            yield from (each for each in _to_list(value) if isinstance(each, str))
        elif name == "patch" and isinstance(value, str):
            yield from (each.strip() for each in _PATCHED_FILE.findall(value))


def _to_list(value: Any) -> Sequence[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return (value,)


_named_extensions = MessageMemo(_find_extensions)
