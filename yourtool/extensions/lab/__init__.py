"""Experiments on stored sessions and on models.

Where a change goes:

- how well a turn went, and figures of models: `extensions/lab/evaluation.py` (verdicts),
  `past_turns.py` (the fold)
- which past turns are similar: `extensions/lab/patterns.py`; what is proposed: `learned_routes.py`
- what test requests show: `extensions/lab/trial_requests.py`, its effect in
  `providers/catalogue/trials.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # used by one command each
    __name__,
    "stored_routes",
    "trial_requests",
)
