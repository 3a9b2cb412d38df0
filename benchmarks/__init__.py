"""What `make bench` measures: the program in a pseudo-terminal beside the smallest Textual app."""
