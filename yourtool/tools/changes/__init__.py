"""Changes of files by commands and tools.

Where a change goes:

- what a call changes in files: `tools/changes/workspace_watch.py` (commands),
  `ToolContext.journal` (tools); undo: `agent/history/file_history.py`
"""
