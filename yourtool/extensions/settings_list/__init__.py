"""Settings inside the program.

They are listed with their values and sources, and changed in the user's file.

Where a change goes:

- when a changed setting has an effect: `extensions/settings_list/changes.py`, and
  `SessionEnvironment.use_settings` or `tui/screens/ui_settings.py`
- which changes ask first: `extensions/settings_list/weaker.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "handlers")  # needed by the first command
