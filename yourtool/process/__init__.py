"""The processes and the terminal around the program.

Where a change goes:

- which values are secrets: `process/environment.py`; `foundation/masking.py` replaces them
"""
