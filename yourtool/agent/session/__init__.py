"""The session: its verbs, its model selection and its environment."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # until there is a skill or a command
    __name__,
    "front_matter",
    "preflight",
    "turn_opening",
)
