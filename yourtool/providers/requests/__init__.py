"""Build the parts of a request that all dialects share."""
