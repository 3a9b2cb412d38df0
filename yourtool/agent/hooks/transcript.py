"""Transcript file for hooks.

`transcript_path` names it; it has the messages of a session, one JSON object per line. It is
written just before a hook runs, and then only extended. A line has the canonical blocks of a
message, in the places in which hooks of other agents look for them.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from yourtool.foundation.files import replace_file
from yourtool.messages.codec import encode_content
from yourtool.messages.message import Message

FILE_NAME = "transcript.jsonl"


class Transcript:
    """The file of one session; every method can be called in several threads at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._written: list[str] = []
        """Ids of the messages in the file."""

    def update(self, messages: Sequence[Message]) -> None:
        """Make the file have these messages; blocks on the file system.

        After a change of branch, the whole file is written.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            ids, count = [each.id for each in messages], len(self._written)
            if not count or ids[:count] != self._written:
                replace_file(self.file, b"".join(map(_encode, messages)))
            elif new := messages[count:]:
                with self.file.open("ab") as file:
                    file.write(b"".join(map(_encode, new)))
            self._written = ids


def _encode(message: Message) -> bytes:
    content = msgspec.Raw(encode_content(message.content))
    line = {
        "type": message.role.value,
        "uuid": message.id,
        "sessionId": message.session_id,
        "timestamp": message.created_at,
        "message": {"role": message.role.value, "content": content},
    }
    return msgspec.json.encode(line) + b"\n"
