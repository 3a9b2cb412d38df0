"""The terminal, its keyboard and its clipboard."""
