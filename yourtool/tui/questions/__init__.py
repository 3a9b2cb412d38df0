"""The texts of questions."""
