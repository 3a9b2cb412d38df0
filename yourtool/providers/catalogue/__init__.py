"""Which models there are, what they can take, and what they cost."""
