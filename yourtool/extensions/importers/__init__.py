"""Import of sessions that other programs stored: one module for each format."""
