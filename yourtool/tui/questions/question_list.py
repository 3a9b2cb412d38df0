"""The approval requests that wait for an answer."""

import asyncio

from yourtool.effects import Confirmation, Decision


class QuestionList:
    """Requests in order; the first one is on the screen."""

    def __init__(self) -> None:
        self._entries: list[tuple[Confirmation, asyncio.Future[Decision]]] = []

    @property
    def first(self) -> Confirmation | None:
        """The request on the screen."""
        return self._entries[0][0] if self._entries else None

    @property
    def waiting(self) -> int:
        """The number of requests after the first one."""
        return max(0, len(self._entries) - 1)

    def add(self, question: Confirmation) -> asyncio.Future[Decision]:
        """Add a request; return its future answer."""
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._entries.append((question, answer))
        return answer

    def remove(self, answer: asyncio.Future[Decision]) -> bool:
        """Remove a request; return whether it was the first one."""
        is_first = self._entries[0][1] is answer
        self._entries = [entry for entry in self._entries if entry[1] is not answer]
        return is_first

    def answer(self, decision: Decision) -> None:
        """Answer the first request, or all of them if the rest is denied, too."""
        for _, answer in self._entries if decision.denies_rest else self._entries[:1]:
            if not answer.done():
                answer.set_result(decision)
