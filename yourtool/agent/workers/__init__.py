"""Workers that run tasks of a model.

Where a change goes:

- what a worker gets, and its limits: `agent/workers/delegation.py` (tools, model, facts),
  `agent/workers/worker.py` (its turn), `tools/guidance/delegate.py` (arguments)
"""
