"""Interface in plain lines.

It is for screen readers and for terminals without cursor movement.

Where a change goes:

- what the linear mode writes: `extensions/linear/speaker.py`; its questions: `questions.py`
"""
