"""Code that every layer uses."""
