"""The chat screen and the modal screens above it."""
