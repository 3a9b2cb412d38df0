"""Keys and their actions.

Where a change goes:

- a key: a row in `tui/keys/keys.py`, then `make docs`
"""
