"""Session storage: the port, its implementation in SQLite, copies and exports of sessions."""
