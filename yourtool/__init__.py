"""An interactive coding agent for the terminal."""

__version__ = "0.2.0"
