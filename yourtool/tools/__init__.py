"""The tools that models can call."""
