"""Protected places before and after a command; see `protected.py`."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(__name__, "protected")  # a session can do without commands
