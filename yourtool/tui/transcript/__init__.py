"""The conversation as a scrolling list of items."""
