"""Experiments on stored sessions and on models: replays, other rules and prices, test requests."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # used by one command each
    __name__,
    "stored_routes",
    "trial_requests",
)
