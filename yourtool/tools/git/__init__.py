"""Git program, files and lost work.

Where a change goes:

- what undo brings back of git: `tools/git/git_state.py` (comparison), `git_restoring.py`,
  `present_repository.py`, `git_directory.py` (writing), `git_object_store.py` (saved objects)
"""
