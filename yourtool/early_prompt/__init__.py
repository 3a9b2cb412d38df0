"""A prompt that accepts keys while the interface is still being imported."""
