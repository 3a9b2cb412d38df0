"""Reader of the bytes that a terminal sends.

Where a change goes:

- a form of a key: `process/terminal_input/key_forms.py`
- pastes, replies of the terminal and what is unknown: `process/terminal_input/reader.py`
- which event of Textual it becomes: `tui/terminal/terminal_events.py`
"""
