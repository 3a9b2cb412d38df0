"""Speak to models: one module per wire dialect, one row per provider."""
