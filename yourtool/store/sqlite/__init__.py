"""The session store in SQLite: one database file, and a lock file per open session."""
