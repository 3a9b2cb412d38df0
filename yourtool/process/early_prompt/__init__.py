"""Prompt during the import of the interface.

Where a change goes:

- a key in the early prompt: `process/early_prompt/line_editor.py`, which freezes at every other
  key
"""
