"""Events of a session by topic: stored facts and deltas for the display."""
