"""Core: sessions and turns."""
