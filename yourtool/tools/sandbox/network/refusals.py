"""Hosts and ports that commands could not reach."""

from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import TypeAlias

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
    is_private: bool = False
    """Whether it was refused for its address, so that no setting allows it."""


class FailedProxy(Struct, frozen=True):
    """The user's proxy did not connect."""

    problem: str
    is_certain: bool = True
    """Whether no other command ran then."""


class RefusedPort(Struct, frozen=True):
    """A port of the loopback address of the enclosure on which nothing listened."""

    port: int
    is_certain: bool = True
    """Whether no other command ran then."""


Refusal: TypeAlias = RefusedHost | FailedProxy | RefusedPort


class Refusals:
    """What the name server and the proxy of an enclosure refused."""

    def __init__(self) -> None:
        self._watching = list[dict[str, Refusal]]()
        self._of_programs = dict[str, dict[str, RefusedHost]]()

    @contextmanager
    def watching(self, words: Collection[str] = ()) -> Generator[dict[str, Refusal], None, None]:
        """Yield what is refused meanwhile; `words`: those of the command."""
        found = dict[str, Refusal]()
        self._watching.append(found)
        try:
            yield found
        finally:
            self._watching = [each for each in self._watching if each is not found]
            self._remember(words, found)

    def _remember(self, words: Collection[str], found: dict[str, Refusal]) -> None:
        hosts = [each for each in found.values() if isinstance(each, RefusedHost)]
        certain = {each.name: each for each in hosts if each.is_certain}
        if not certain:
            return
        for word in words:
            program = word.rpartition("/")[2]
            if program in self._of_programs or len(self._of_programs) < _MAX_PROGRAMS:
                self._of_programs.setdefault(program, {}).update(certain)

    def get_hosts(self, program: str) -> tuple[str, ...]:
        """Return the hosts that commands with the name of a program asked for in vain before."""
        return tuple(self._of_programs.get(program, ()))

    def note(self, name: str, *, is_private: bool = False) -> None:
        self._note(name, RefusedHost(name, self._is_certain, is_private))

    def note_proxy(self, problem: str) -> None:
        self._note(problem, FailedProxy(problem, is_certain=self._is_certain))

    def note_port(self, port: int, *, is_refused: bool) -> None:
        """Add a port of the loopback address, or remove it, because a server listens now."""
        if is_refused:
            self._note(str(port), RefusedPort(port, is_certain=self._is_certain))
        else:
            for found in self._watching:
                found.pop(str(port), None)

    @property
    def _is_certain(self) -> bool:
        return len(self._watching) == 1

    def _note(self, key: str, refused: Refusal) -> None:
        for found in self._watching:
            if len(found) < _MAX_HOSTS and (key not in found or refused.is_certain):
                found[key] = refused
