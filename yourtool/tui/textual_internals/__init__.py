"""Private names of Textual; docs/adr/0090-private-names-of-textual.md lists them.

Where a change goes:

- what is painted, and when: `tui/textual_internals/painting.py` (rows),
  `tui/screens/urgent_painting.py` (after a key), `tui/terminal/slow_terminal_app.py` (skipped
  frames)
"""
