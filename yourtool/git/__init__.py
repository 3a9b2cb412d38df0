"""Files of git that are read without running git.

Where a change goes:

- where git keeps its files, the branch, and what the index has: `git/`, which starts no process
"""
