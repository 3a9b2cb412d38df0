"""Hooks: commands that run at events of a session, in the form that several agents share."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(__name__, "execution", "reply")  # without hooks, unused
