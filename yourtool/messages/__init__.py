"""The canonical message format: blocks, metadata, the stored form and the invariants."""
