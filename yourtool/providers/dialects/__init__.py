"""Wire formats: one module each, and one for its requests."""
