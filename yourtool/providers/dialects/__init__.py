"""Wire formats: one module each, and beside it how its requests are written."""
