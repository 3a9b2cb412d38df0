"""Routing of a session, and its records."""
