"""Protected places around a command.

Where a change goes:

- what is compared at protected places around a command: `tools/protection/places.py`; which
  settings of git are harmless: `git/harmless_settings.py`, `git_settings.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "protected")  # a session can do without commands
