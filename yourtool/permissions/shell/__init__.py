"""Command lines in permission rules: their syntax, what they run, and which of it only reads."""
