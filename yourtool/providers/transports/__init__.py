"""Ways for bytes to a provider and back."""
