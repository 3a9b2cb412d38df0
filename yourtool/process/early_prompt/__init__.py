"""A prompt that accepts keys while the interface is still being imported.

Where a change goes:

- a key in the early prompt: `process/early_prompt/line_editor.py`, which freezes at every other
  key
"""
