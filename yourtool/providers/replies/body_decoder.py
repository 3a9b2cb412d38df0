r"""Decoder of response bodies.

The event stream format is https://html.spec.whatwg.org/multipage/server-sent-events.html: lines
end in `\n`, `\r\n` or `\r` only, so U+2028 or a form feed inside a JSON string never ends one.
Bytes are split at line ends only, so no character is split. There are two differences: an event at
the end of the stream needs no blank line after it, and an event with blank data is skipped, because
some servers send those as keep-alives.
"""

from msgspec import Struct

from yourtool.errors import NetworkError

LINE_LIMIT = 8 * 1024 * 1024
"""Largest event in bytes; a larger one is an error."""
DOCUMENT_LIMIT = 64 * 1024 * 1024
"""Largest response in bytes that is one JSON document."""
PAGE_LIMIT = 16 * 1024
"""Bytes stored of a web page."""

_BOM = b"\xef\xbb\xbf"
_WHITESPACE = b" \t\r\n"


class SseEvent(Struct, frozen=True):
    """One event with data; `event` is empty if the server did not name it."""

    event: str
    data: bytes


class SseDecoder:
    """Incremental decoder for chunks of any size."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []  # an unfinished line, joined when its end arrives
        self._pending_size = 0
        self._after_cr = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes.

        Raises:
            NetworkError: an event is larger than `LINE_LIMIT`.
        """
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._pending.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            self._pending_size += len(chunk)
            self._check_size()
            return []
        lines = b"".join(self._pending).splitlines()
        self._pending = [] if chunk[-1] in b"\r\n" else [lines.pop()]
        self._pending_size = sum(map(len, self._pending))
        self._after_cr = chunk.endswith(b"\r")
        events = [event for line in lines if (event := self._process_line(line)) is not None]
        self._check_size()
        return events

    def end(self) -> list[SseEvent]:
        """Return the events in the remaining bytes at the end of the stream."""
        line, self._pending = b"".join(self._pending), []
        events = [self._process_line(line)] if line else []
        events.append(self._process_line(b""))
        return [event for event in events if event is not None]

    def _process_line(self, line: bytes) -> SseEvent | None:
        if not line:
            if not self._data:
                self._name = ""
                return None
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            event = SseEvent(self._name, data)
            self._name, self._data, self._size = "", [], 0
            return event if data.strip() else None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _check_size(self) -> None:
        if self._pending_size + self._size > LINE_LIMIT:
            raise NetworkError(
                f"the stream has an event of more than {LINE_LIMIT // 2**20} MiB; it was cut off",
                retryable=False,
            )


class BodyDecoder:
    """Decoder that detects from the first visible byte whether a body is a stream or a document.

    Content types are not reliable: proxies drop them, some servers pad JSON with blank lines while
    they wait or start a stream with a space, and a server that cannot stream returns a document.
    """

    def __init__(self) -> None:
        self._sse = SseDecoder()
        self._document: list[bytes] | None = None
        self._size = 0
        self._undecided = True
        self._partial_bom = b""  # a partial byte order mark at the start of the body
        self._is_page = False
        self.page = b""
        """The start of the body if it is a web page."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes; empty for a document.

        Raises:
            NetworkError: an event or the document is too large.
        """
        if self._undecided:
            chunk = (
                (self._partial_bom + chunk)
                .lstrip(_WHITESPACE)
                .removeprefix(_BOM)
                .lstrip(_WHITESPACE)
            )
            if _BOM.startswith(chunk):
                self._partial_bom = chunk
                return []
            self._undecided = False
            if chunk[:1] in (b"{", b"["):
                self._document = []
            self._is_page = chunk[:1] == b"<"
        if self._is_page:
            self.page = (self.page + chunk)[:PAGE_LIMIT]
            return []
        if self._document is None:
            return self._sse.feed(chunk)
        self._document.append(chunk)
        self._size += len(chunk)
        if self._size > DOCUMENT_LIMIT:
            raise NetworkError(
                f"the response is larger than {DOCUMENT_LIMIT // 2**20} MiB; it was cut off",
                retryable=False,
            )
        return []

    def end(self) -> list[SseEvent]:
        """Return the events in the remaining bytes at the end of the body."""
        return self._sse.end()

    @property
    def is_document(self) -> bool:
        """Whether the body is one JSON document."""
        return self._document is not None

    @property
    def document(self) -> bytes:
        """The JSON document received so far."""
        return b"".join(self._document or ())
