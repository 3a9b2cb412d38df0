"""What `make bench` measures: the program in a pseudo-terminal, and the smallest Textual app."""
