"""Hosts that commands could not reach, as their enclosure saw it."""

from collections.abc import Collection, Generator
from contextlib import contextmanager

from msgspec import Struct

_MAX_HOSTS = 20
"""Of one command, and of one program."""
_MAX_PROGRAMS = 200


class RefusedHost(Struct, frozen=True):
    """A host that was asked for."""

    name: str
    """With its port, if it is not a usual one."""
    is_certain: bool = True
    """Whether no other command ran then, which could have asked for it."""


class Refusals:
    """Hosts that the name server and the proxy of an enclosure refused."""

    def __init__(self) -> None:
        self._watching = list[dict[str, RefusedHost]]()
        self._of_programs = dict[str, dict[str, RefusedHost]]()

    @contextmanager
    def watching(
        self, words: Collection[str] = ()
    ) -> Generator[dict[str, RefusedHost], None, None]:
        """Yield what is refused meanwhile; `words`: those of the command."""
        found = dict[str, RefusedHost]()
        self._watching.append(found)
        try:
            yield found
        finally:
            self._watching = [each for each in self._watching if each is not found]
            self._remember(words, found)

    def _remember(self, words: Collection[str], found: dict[str, RefusedHost]) -> None:
        certain = {name: each for name, each in found.items() if each.is_certain}
        if not certain:
            return
        for word in words:
            program = word.rpartition("/")[2]
            if program in self._of_programs or len(self._of_programs) < _MAX_PROGRAMS:
                self._of_programs.setdefault(program, {}).update(certain)

    def get_hosts(self, program: str) -> tuple[str, ...]:
        """Return the hosts that commands with the name of a program asked for in vain before."""
        return tuple(self._of_programs.get(program, ()))

    def note(self, name: str) -> None:
        """Add a host to what is refused now."""
        refused = RefusedHost(name, is_certain=len(self._watching) == 1)
        for found in self._watching:
            if len(found) < _MAX_HOSTS and (name not in found or refused.is_certain):
                found[name] = refused
