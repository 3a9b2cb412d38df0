"""Routing of turns to models.

Where a change goes:

- a condition of a routing rule: a row of `PREDICATES` in `routing/predicates.py`; its value:
  `agent/routes/routing_rules.py`, then `make docs`
- what a file of routing rules has: `routing/policy.py`; when it is read:
  `agent/routes/routing_rules.py`
- what a decision on models depends on: `Situation` in `routing/situation.py`, its stored form in
  `agent/routes/route_records.py`
"""
