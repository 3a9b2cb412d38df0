"""The interface as plain lines, for screen readers and terminals without cursor movement.

Where a change goes:

- what the linear mode writes: `extensions/linear/speaker.py`; its questions: `questions.py`
"""
