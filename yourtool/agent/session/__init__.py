"""Session: verbs, model selection and environment.

Where a change goes:

- a verb of a session: a coroutine with `@shows_events` in `agent/session/`, which emits to its
  `channel`
- what a swap would lose or cost: `agent/session/preflight.py`; the report after it:
  `agent/turn/hand_over.py`
- a model that judges turns: `agent/session/judging.py`; its limits: `JudgeBudget` in
  `agent/money/budgets.py`
- another model during an outage: `agent/session/fallback.py` (consent, target), `fallbacks` in
  `routing/router.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until there is a skill or a command
    __name__,
    "preflight",
    "turn_opening",
)
