"""User input and its way to turns.

Where a change goes:

- queue, stop, what waits for a turn: `tui/input/turn_runner.py`
"""
