"""Terminal interface."""
