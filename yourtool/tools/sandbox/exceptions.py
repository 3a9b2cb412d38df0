"""Commands and hosts that the sandbox excepts."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from yourtool.effects import Subject
from yourtool.permissions.rules import (
    HOST_RULE,
    NETWORK_RULE,
    OUTSIDE_RULE,
    Rule,
    RuleSet,
    RuleVerdict,
    get_place,
)
from yourtool.permissions.shell import coverage
from yourtool.settings.sandbox_config import SandboxConfig

_TOOL = "shell"


class Exceptions:
    """The exceptions of one sandbox, as they are now."""

    def __init__(self, config: SandboxConfig, workspace: Path) -> None:
        self._config = config
        self._workspace = workspace
        # What rules for a tool mean is what these commands mean.
        self._outside = tuple(Rule(_TOOL, command) for command in config.outside)
        self.get_rules: Callable[[], RuleSet] = RuleSet
        """Returns the rules of the session, of which some are about the sandbox."""

        self.hosts_of_servers: tuple[str, ...] = ()
        """Those of the accepted MCP servers of a project, whose network all commands share."""

    def get_hosts(self) -> tuple[str, ...]:
        own = (*self._config.hosts, *self._iter_allowed(HOST_RULE))
        return tuple(dict.fromkeys((*own, *self.hosts_of_servers)))

    def covers(self, line: str, *, with_filters: bool = False) -> bool:
        """Whether each command of a line runs outside; blocks on the file system.

        `with_filters`: commands that only read the workspace may be in it, such as `| tail`.
        """
        granted = (Rule(_TOOL, command) for command in self._iter_allowed(OUTSIDE_RULE))
        return self._covers((*self._outside, *granted), line, with_filters=with_filters)

    def gives_network(self, line: str) -> bool:
        """Whether each command of a line has a network in the sandbox, or only reads; blocks."""
        granted = (Rule(_TOOL, command) for command in self._iter_allowed(NETWORK_RULE))
        return self._covers((*granted,), line, with_filters=True)

    def _covers(self, allow: tuple[Rule, ...], line: str, *, with_filters: bool) -> bool:
        if not allow:
            return False
        rules = RuleSet(allow=allow)
        subject = Subject("command", line, os.path.realpath(self._workspace))
        if rules.verdict(_TOOL, subject) is RuleVerdict.ALLOW:
            return True
        place, specs = get_place(subject), rules.get_specs(_TOOL)
        return with_filters and coverage.cover_line(specs, line, place, is_trusted=True).is_complete

    def _iter_allowed(self, rule: str) -> Iterator[str]:
        for each in self.get_rules().allow:
            if each.tool == rule and each.spec is not None:
                yield each.spec
