"""Completion of the word at the cursor.

It completes commands, their arguments, models and files.
"""

import asyncio
import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from yourtool.agent.commands import table
from yourtool.agent.commands.base import SlashCommand
from yourtool.agent.commands.command_table import CORE, CommandTable
from yourtool.agent.commands.modes import MODE_DESCRIPTIONS
from yourtool.models import EFFORTS
from yourtool.settings.config import Mode
from yourtool.tui.lines.slices import Slices

if TYPE_CHECKING:  # the core opens after the first paint
    from yourtool.agent.runtime import Runtime

MAX_SUGGESTIONS = 50
_ORDERED_KINDS = ("effort", "mode")
"""Kinds of values that are not sorted."""
_MAX_QUERY_CHARACTERS = 4096
"""Longest path that an operating system accepts."""
MAX_SEARCHED_CHARACTERS = 5_000_000
"""Limit for the combined length of the names that one query searches at once."""
MAX_FILES = 200_000
"""Files of a workspace that can be completed."""
_NAMES_AT_ONCE = 2_000
"""Number of files that one step searches; more files are searched in several steps."""
_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_ATTACHMENT = re.compile(r"/attach +(\S*)")


class Candidate(Struct, frozen=True):
    """One suggestion for the word at the cursor."""

    text: str
    """Replacement for the word, with a trailing space if more input can follow."""
    label: str
    description: str = ""


class Suggestions(Struct, frozen=True):
    """The candidates for the word at `start`, best first."""

    start: int
    """Offset into the text before the cursor."""
    candidates: tuple[Candidate, ...]


class Completer:
    """Suggests completions; `values` has names and descriptions by kind of argument."""

    def __init__(self) -> None:
        self.values: Mapping[str, Sequence[tuple[str, str]]] = {
            "effort": [(level, "") for level in EFFORTS]
        }
        self.commands: CommandTable | None = None
        """Those of the session."""
        self.command_uses: Mapping[str, int] = {}
        """Uses of each command before this run, by its name."""
        self._files: Sequence[str] = ()
        self._is_loading_files = False
        self._found: tuple[str, list[str]] | None = None
        """The last file name that was searched for in slices, and the matches."""

    @property
    def files(self) -> Sequence[str]:
        """The files of the workspace; empty until they are loaded."""
        return self._files

    @files.setter
    def files(self, files: Sequence[str]) -> None:
        self._files, self._found = files, None

    async def load_files(self, list_files: Callable[[int], Sequence[str]]) -> bool:
        """List the files off the event loop, once at a time; return whether there are any."""
        if self._is_loading_files:
            return False
        self._is_loading_files = True
        try:
            self.files = await asyncio.to_thread(list_files, MAX_FILES)
        finally:
            self._is_loading_files = False
        return bool(self.files)

    def load_values(self, runtime: "Runtime") -> None:
        """Suggest the modes, the providers and the models that can be used."""
        registry, models = runtime.registry, runtime.catalogue.all()
        providers = {model.provider for model in models}
        usable = {name for name in providers if registry.configuration_problem(name) is None}
        self.values = {
            **self.values,
            "mode": [(mode.value, MODE_DESCRIPTIONS[mode]) for mode in Mode],
            "provider": [(row.name, row.label) for row in registry.providers()],
            "model": [
                (model.id, ", ".join(model.aliases)) for model in models if model.provider in usable
            ],
        }

    def needs_files(self, before: str) -> bool:
        """Whether the list of files has to be loaded to complete `before`."""
        if before.startswith("!"):
            return False
        return not self.files and ("@" in before or before.startswith("/attach "))

    def needs_search(self, before: str) -> bool:
        """Whether there are so many files that `search_files` should be called before `suggest`."""
        query = _get_file_query(before)
        has_found = self._found is not None and self._found[0] == query
        return query is not None and len(self._files) > _NAMES_AT_ONCE and not has_found

    async def search_files(self, before: str) -> None:
        """Search all files in slices, so that keys are handled; `suggest` uses the matches."""
        files, query, slices = self._files, _get_file_query(before) or "", Slices()
        found: list[str] = []
        for start in range(0, len(files), _NAMES_AT_ONCE):
            found += fuzzy_matches(query, files[start : start + _NAMES_AT_ONCE])
            if slices.is_over:
                await slices.pause()
        if files is self._files:
            self._found = query, fuzzy_matches(query, found)

    def suggest(self, before: str) -> Suggestions | None:
        """Return suggestions for the text before the cursor, None in a shell command."""
        if before.startswith("!"):
            return None
        if found := re.fullmatch(r"/(\S*)", before):
            return self._commands(found[1])
        if found := re.fullmatch(r"/(\S+) +(\S*)", before):
            return self._arguments(found[1], found[2])
        if found := _MENTION.search(before):
            return self._mentions(found.start(), found[1], first=found.start() == 0)
        return None

    def _commands(self, prefix: str) -> Suggestions | None:
        """Suggest commands: the one with exactly this name, then those that were used most."""

        def rank(command: SlashCommand) -> tuple[bool, int]:
            names = (command.name, *command.aliases)
            return prefix not in names, -sum(self.command_uses.get(name, 0) for name in names)

        found = sorted((self.commands or CORE).complete(prefix), key=rank)
        candidates = tuple(_command_candidate(each, prefix) for each in found)
        return Suggestions(0, candidates) if candidates else None

    def _arguments(self, name: str, query: str) -> Suggestions | None:
        command = next((each for each in table.COMMANDS if each.name == name), None)
        if command is None or query in dict(command.keywords):
            return None
        described = dict(self.values.get(command.argument_kind or "", ()))
        if command.argument_kind == "file":
            described = dict.fromkeys(self._match_files(query), self._about_files)
        found = (
            _matching_models(query, described)
            if command.argument_kind == "model"
            else fuzzy_matches(query, described)
        )
        if command.argument_kind in _ORDERED_KINDS and not query:
            found = list(described)
        if found == [query]:
            return None
        candidates = [
            Candidate(word, word, about)
            for word, about in command.keywords
            if word.startswith(query)
        ]
        candidates += [Candidate(each, each, described[each]) for each in found]
        return Suggestions(len(f"/{name} "), tuple(candidates)) if candidates else None

    def _mentions(self, start: int, query: str, *, first: bool) -> Suggestions | None:
        """Suggest files and, at the start, models: the better match first, else files."""
        models = dict(self.values.get("model", ())) if first else {}
        files = self._match_files(query)
        described = {each: "resource" if "://" in each else self._about_files for each in files}
        found = sorted([*described, *fuzzy_matches(query, models)], key=partial(_quality, query))
        names = dict.fromkeys([*_owners(query, models), *found])
        candidates = [
            Candidate(f"@{each} ", each, {**models, **described}[each])
            for each in islice(names, MAX_SUGGESTIONS)
        ]
        return Suggestions(start, tuple(candidates)) if candidates else None

    @property
    def _about_files(self) -> str:
        return "file" if len(self._files) < MAX_FILES else f"one of the first {MAX_FILES:,} files"

    def _match_files(self, query: str) -> list[str]:
        if self._found is not None and self._found[0] == query:
            return self._found[1]
        return fuzzy_matches(query, self._files)


def _command_candidate(command: SlashCommand, typed: str) -> Candidate:
    """Return the suggestion of a command, under the complete alias that was typed."""
    name = f"/{typed if typed in command.aliases else command.name}"
    text = f"{name} " if command.argument else name
    return Candidate(text, command.usage, command.summary)


def _get_file_query(before: str) -> str | None:
    """Return the start of a file name that ends at the cursor; None for other text."""
    found = _MENTION.search(before) or _ATTACHMENT.fullmatch(before)
    return None if found is None or before.startswith("!") else found[1]


def _matching_models(query: str, aliases: Mapping[str, str]) -> list[str]:
    """Return the matching ids; one with exactly this alias comes first, as for `/model`."""
    return list(dict.fromkeys([*_owners(query, aliases), *fuzzy_matches(query, aliases)]))


def _owners(alias: str, aliases: Mapping[str, str]) -> list[str]:
    """Return the models with exactly this alias, then those of vendors that end with it."""
    if not alias:
        return []
    end = alias.lower().replace(".", "-")
    ends = (f":{end}", f"-{end}") if any(map(str.isdigit, end)) else ()
    own = (each for each in aliases if "/" not in each)
    tails = [each for each in own if ends and each.replace(".", "-").endswith(ends)]
    return [name for name, known in aliases.items() if alias in known.split(", ")] + tails


def fuzzy_matches(query: str, names: Iterable[str], limit: int = MAX_SUGGESTIONS) -> list[str]:
    """Return the names that contain the letters of `query` in order, best match first."""
    if not query:
        return heapq.nsmallest(limit, names, key=lambda name: (name.count("/"), name))
    folded_query = query.lower()
    if len(folded_query) > _MAX_QUERY_CHARACTERS:
        return []
    pattern = re.compile(subsequence_pattern(folded_query), re.MULTILINE)
    text = "\n".join(names)
    if len(text) > MAX_SEARCHED_CHARACTERS:
        text = text[:MAX_SEARCHED_CHARACTERS].rpartition("\n")[0]
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length in lower case
        lowered = text
    found: list[str] = []
    for match in pattern.finditer(lowered):
        end = lowered.find("\n", match.end())
        found.append(text[match.start() : end if end >= 0 else len(text)])
    return heapq.nsmallest(limit, found, key=lambda name: _distance(folded_query, name.lower()))


def subsequence_pattern(letters: str) -> str:
    """Return a pattern for a line that contains the letters in order.

    The first occurrence of a letter is sufficient, so the atomic groups disable backtracking.
    """
    return "^" + "".join(f"(?>[^\n]*?{re.escape(letter)})" for letter in letters)


def _distance(query: str, name: str) -> tuple[bool, bool, bool, int, str]:
    return *_quality(query, name), len(name), name


def _quality(query: str, name: str) -> tuple[bool, bool, bool]:
    """Return how a name contains the letters of a query; the best value is the least."""
    query, name = query.lower(), name.lower()
    base = name.rpartition("/")[2]
    is_prefix = base.startswith(query) or f":{query}" in base
    return not is_prefix, query not in base, query not in name
