"""Offline replay of a session.

Where a change goes:

- what a replay gives and what it does again: `extensions/lab/replay/recording.py`; the stored
  model and tools: `mocks.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # for `sessions replay` only
    __name__,
    "player",
)
