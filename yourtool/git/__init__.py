"""Git files without a git process.

Where a change goes:

- where git keeps its files, the branch, and what the index has: `git/`, which starts no process
"""
