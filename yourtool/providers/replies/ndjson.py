"""JSON documents on the lines of a body.

The format is https://github.com/ndjson/ndjson-spec. A body of one line is one event, so replies
that are not streamed need no separate parser.
"""

from yourtool.errors import NetworkError
from yourtool.providers.replies.body_decoder import LINE_LIMIT, PAGE_LIMIT, BodyDecoder, SseEvent


class NdjsonDecoder(BodyDecoder):
    """Decoder with one unnamed event per line; empty lines are skipped."""

    def __init__(self) -> None:
        super().__init__()
        self._pending: list[bytes] = []  # an unfinished line
        self._pending_size = 0

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
        self._pending.append(chunk)
        self._pending_size += len(chunk)
        events: list[SseEvent] = []
        if b"\n" in chunk:
            *lines, rest = b"".join(self._pending).split(b"\n")
            self._pending, self._pending_size = [rest], len(rest)
            events = [SseEvent("", line) for line in lines if line.strip()]
        if self._pending_size > LINE_LIMIT:
            raise NetworkError(
                f"the stream has a line of more than {LINE_LIMIT // 2**20} MiB; it was cut off",
                retryable=False,
            )
        return events

    def end(self) -> list[SseEvent]:
        """Return the last line, which may lack a line end."""
        line, self._pending = b"".join(self._pending), []
        return [SseEvent("", line)] if line.strip() else []
