"""Hooks: commands at events of a session.

Where a change goes:

- what hooks get and answer: `agent/hooks/hooks.py` (fields), `reply.py` (answers),
  `tools/aliases.py` (names)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "execution", "reply")  # without hooks, unused
