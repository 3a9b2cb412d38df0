"""A prompt that takes keys while the interface is still being imported."""
