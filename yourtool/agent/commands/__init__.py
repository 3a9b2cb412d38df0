"""Slash commands: their table and handlers, which every front end shares."""
