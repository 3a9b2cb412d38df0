"""Database schema and its migrations.

The facts are in `events`. `sessions`, `messages` and `tool_calls` are projections of them; only the
body of a message is stored in `messages` alone, and a reply that still streams in
`partial_replies`. `message_words` is a full-text index of messages
(https://www.sqlite.org/fts5.html), and `removals` records what was deleted. Migration N upgrades a
file from version N to N + 1. A released migration is never edited.
"""

from collections.abc import Sequence
from typing import TypeAlias

Migrations: TypeAlias = Sequence[Sequence[str]]
"""The SQL statements of each migration."""

_INITIAL = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        workspace_path TEXT NOT NULL,
        active_model TEXT,
        routing_policy_json TEXT,
        schema_version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE messages (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        role TEXT NOT NULL,
        content_json TEXT NOT NULL,
        metadata_json TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        schema_version INTEGER NOT NULL,
        FOREIGN KEY (session_id) REFERENCES sessions(id)
    )
    """,
    "CREATE INDEX idx_messages_session_created ON messages(session_id, created_at)",
    """
    CREATE TABLE tool_calls (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        result_message_id TEXT,
        name TEXT NOT NULL,
        status TEXT NOT NULL,
        provider_id TEXT,
        provider TEXT,
        created_at INTEGER NOT NULL,
        completed_at INTEGER,
        FOREIGN KEY (session_id) REFERENCES sessions(id),
        FOREIGN KEY (message_id) REFERENCES messages(id),
        FOREIGN KEY (result_message_id) REFERENCES messages(id)
    )
    """,
    "CREATE INDEX idx_tool_calls_session_status ON tool_calls(session_id, status)",
    """
    CREATE TABLE events (
        id TEXT PRIMARY KEY,
        timestamp_us INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        turn_id TEXT,
        parent_event_id TEXT,
        type TEXT NOT NULL,
        actor TEXT NOT NULL,
        sensitivity TEXT NOT NULL,
        payload_json TEXT NOT NULL
    )
    """,
    "CREATE INDEX idx_events_session ON events(session_id, id)",
    "CREATE INDEX idx_events_type ON events(type, timestamp_us)",
    "CREATE INDEX idx_events_turn ON events(turn_id)",
    "CREATE INDEX idx_events_parent ON events(parent_event_id)",
)

_FORKS_AND_SEARCH = (
    "ALTER TABLE sessions ADD COLUMN parent_session_id TEXT",
    "ALTER TABLE sessions ADD COLUMN copied_through TEXT",
    """
    CREATE VIRTUAL TABLE message_words USING fts5(
        words, message_id UNINDEXED, tokenize = 'unicode61 remove_diacritics 2'
    )
    """,
    """
    INSERT INTO message_words (words, message_id)
    SELECT stored_words(content_json), id FROM messages ORDER BY rowid
    """,
)
"""`copied_through` is the id of the last event that was copied by a fork or an import.

`stored_words` is a Python function (`fulltext.py`), called by this migration only.
"""

_PAGES_OF_SESSIONS = (
    "CREATE INDEX IF NOT EXISTS idx_sessions_updated ON sessions(updated_at, id)",
)

_FILE_CHANGES = (
    """
    CREATE TABLE IF NOT EXISTS file_changes (
        event_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        prompt_id TEXT NOT NULL,
        tool_use_id TEXT NOT NULL,
        timestamp_us INTEGER NOT NULL,
        path TEXT NOT NULL,
        before_digest TEXT NOT NULL,
        after_digest TEXT NOT NULL,
        change_json TEXT NOT NULL,
        FOREIGN KEY (session_id) REFERENCES sessions(id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS idx_file_changes_session ON file_changes(session_id, event_id)",
    "CREATE INDEX IF NOT EXISTS idx_file_changes_path ON file_changes(path)",
    "CREATE INDEX IF NOT EXISTS idx_file_changes_call ON file_changes(tool_use_id)",
    "CREATE INDEX IF NOT EXISTS idx_file_changes_event ON file_changes(event_id)",
)

_WORKERS = (
    "ALTER TABLE sessions ADD COLUMN worker_of TEXT",
    "CREATE INDEX IF NOT EXISTS idx_sessions_worker ON sessions(worker_of)",
)
"""`worker_of` is the session that delegated the task of a worker."""

_PARTIAL_REPLIES = (
    """
    CREATE TABLE IF NOT EXISTS partial_replies (
        session_id TEXT PRIMARY KEY,
        fact_json TEXT NOT NULL,
        FOREIGN KEY (session_id) REFERENCES sessions(id)
    )
    """,
)

_REMOVALS = (
    """
    CREATE TABLE IF NOT EXISTS removals (
        removed_at INTEGER NOT NULL,
        subject TEXT NOT NULL,
        reason TEXT NOT NULL,
        message_count INTEGER NOT NULL
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS idx_events_renamed ON events(session_id, id)
        WHERE type = 'session.renamed'
    """,
    """
    CREATE INDEX IF NOT EXISTS idx_events_turns ON events(session_id)
        WHERE type = 'turn.started'
    """,
)
"""`subject` is the id of a deleted session or the pseudonym of a forgotten user.

The indexes find titles and count turns in long sessions (https://www.sqlite.org/partialindex.html).
"""

MIGRATIONS: Migrations = (
    _INITIAL,
    _FORKS_AND_SEARCH,
    _PAGES_OF_SESSIONS,
    _FILE_CHANGES,
    _WORKERS,
    _PARTIAL_REPLIES,
    _REMOVALS,
)
