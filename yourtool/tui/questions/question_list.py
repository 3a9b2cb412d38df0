"""The approval requests that wait for an answer."""

import asyncio

from yourtool.effects import Confirmation, Decision


class QuestionList:
    """Requests in order, of which one is on the screen; they are answered in any order."""

    def __init__(self) -> None:
        self._entries: list[tuple[Confirmation, asyncio.Future[Decision]]] = []
        self._at = 0

    @property
    def shown(self) -> Confirmation | None:
        """The request on the screen."""
        return self._entries[self._at][0] if self._entries else None

    @property
    def place(self) -> int:
        """The place of the request on the screen, from 1."""
        return self._at + 1

    @property
    def total(self) -> int:
        """The number of requests."""
        return len(self._entries)

    def add(self, question: Confirmation) -> asyncio.Future[Decision]:
        """Add a request; return its future answer."""
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._entries.append((question, answer))
        return answer

    def move(self, step: int) -> bool:
        """Put another request on the screen; return False if only one waits."""
        if len(self._entries) < 2:
            return False
        self._at = (self._at + step) % len(self._entries)
        return True

    def remove(self, answer: asyncio.Future[Decision]) -> bool:
        """Remove a request; return whether it was on the screen."""
        at = next(at for at, entry in enumerate(self._entries) if entry[1] is answer)
        was_shown = at == self._at
        del self._entries[at]
        if at < self._at or self._at == len(self._entries):
            self._at = max(0, self._at - 1)
        return was_shown

    def answer(self, decision: Decision) -> None:
        """Answer the request on the screen, or all of them if the rest is denied, too."""
        here = self._entries[self._at : self._at + 1]
        for _, answer in self._entries if decision.denies_rest else here:
            if not answer.done():
                answer.set_result(decision)
