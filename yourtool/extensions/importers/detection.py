"""Format detection by content."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from yourtool.errors import UsageError
from yourtool.extensions.importers import attocode, claude_code, codex, operator_use, pi, suna
from yourtool.extensions.importers.source import Object, Source
from yourtool.extensions.importers.transcript import Transcript


class _Format(NamedTuple):
    matches: Callable[[Sequence[Object]], bool]
    """Whether JSON objects, of which there is one, have the format."""
    read: Callable[[Sequence[Object], Transcript], None]


_FORMATS = (
    _Format(claude_code.is_session, claude_code.read_session),
    _Format(codex.is_session, codex.read_session),
    _Format(operator_use.is_tree, operator_use.read_tree),
    _Format(operator_use.is_flat, operator_use.read_flat),
    _Format(attocode.is_session, attocode.read_session),
    _Format(pi.is_session, pi.read_session),
    _Format(pi.is_messages, pi.read_messages),
)
NAMES = "yourtool, Claude Code, Codex, pi, OpenClaw, Attocode, Suna and Operator-Use"
"""The programs whose files can be imported."""


def read_transcript(source: Source, name: str) -> Transcript:
    """Return the session in a file; `name` is its id if the format has none.

    Raises:
        UsageError: the format is unknown, or the file has no entries.
    """
    losses = Counter[str]()
    transcript = Transcript(
        system="", format="", source_id="", created_at=datetime.now(UTC), losses=losses
    )
    if rows := suna.find_rows(source.read_document()):
        suna.read_rows(rows, transcript)
    else:
        objects = source.read_objects(losses)
        found = next((each for each in _FORMATS if objects and each.matches(objects)), None)
        if found is None:
            raise UsageError(f"its format is unknown; files of {NAMES} can be imported")
        try:
            found.read(objects, transcript)
        except RecursionError as error:
            raise UsageError("a line of it is nested too deeply") from error
    transcript.source_id = transcript.source_id or name
    if not transcript.entries:
        raise UsageError(f"it is a session of {transcript.system} without messages")
    return transcript
