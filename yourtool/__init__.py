"""An interactive coding agent for the terminal."""
