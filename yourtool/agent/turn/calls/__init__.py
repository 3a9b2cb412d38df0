"""Tool calls: judgement, approval, run and notes.

Where a change goes:

- a program that needs a network: `network` in its row of `permissions/shell/programs/`; the
  answers: `agent/turn/calls/network_answers.py`
- what runs after edits: `agent/turn/calls/edit_checks.py`, `tools/commands/check.py`; settings:
  `agent/session/project/project_checks.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "change_journal",
    "tool_runner",
)
