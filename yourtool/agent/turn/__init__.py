"""Turn: model requests and tool calls.

Where a change goes:

- limits on requests and cost: `agent/turn/limits.py`; budgets of session and day:
  `agent/money/budgets.py`
- when a model repeats itself: `agent/turn/loops.py`
- a title, a summary, a judgement by a model: a caller of `call_silently` in
  `agent/turn/model_call.py`; a fact for its result
- cost, statistics: `agent/turn/accounting.py`; reports are SQL over the store
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a turn
    __name__,
    "compaction",
    "loop",
    "model_call",
    "request",
    "summaries",
)
