"""Files of git that are read without running git."""
