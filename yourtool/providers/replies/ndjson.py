"""Split a body into the JSON documents on its lines, https://github.com/ndjson/ndjson-spec.

A body of one line is one event too, so a server that answers at once is read like one that streams.
"""

from yourtool.errors import NetworkError
from yourtool.providers.replies.sse import LINE_LIMIT, PAGE_LIMIT, Framing, SseEvent


class Ndjson(Framing):
    """One event a line, without a name; empty lines are none."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []  # an unfinished line
        self._held = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the lines that `chunk` completes.

        Raises:
            NetworkError: a line is longer than `LINE_LIMIT`.
        """
        if self._undecided and chunk.strip():
            self._undecided, self._is_page = False, chunk.lstrip()[:1] == b"<"
        if self._is_page:
            self.page = (self.page + chunk)[:PAGE_LIMIT]
            return []
        self._pieces.append(chunk)
        self._held += len(chunk)
        events: list[SseEvent] = []
        if b"\n" in chunk:
            *lines, rest = b"".join(self._pieces).split(b"\n")
            self._pieces, self._held = [rest], len(rest)
            events = [SseEvent("", line) for line in lines if line.strip()]
        if self._held > LINE_LIMIT:
            raise NetworkError(
                f"the stream holds a line of more than {LINE_LIMIT // 2**20} MiB; it was cut off",
                retryable=False,
            )
        return events

    def end(self) -> list[SseEvent]:
        """Return the last line, which nothing needs to end."""
        line, self._pieces = b"".join(self._pieces), []
        return [SseEvent("", line)] if line.strip() else []
