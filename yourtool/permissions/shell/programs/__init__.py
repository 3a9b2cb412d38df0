"""Table of programs.

A new program is a row in one of the files `*.toml`; `table.py` has the fields, `arguments.py` reads
the arguments of a command by them. The tests read the rows, too: a row is tested without a test of
its own.
"""
