"""Session events by topic.

Where a change goes:

- an event: a class in the module of its topic in `events/`, the union in `events/catalog.py`,
  then `make docs`
- a setting stored with the session: a fact in `events/`, a case in `State.apply`,
  `agent/session/model_selection.py`
- an entry that requests have as composed text: a fact with `get_entry_id` in `events/tree.py`, its
  message in `agent/history/entries.py`
- an override of the context: a kind in `Override` in `events/context.py`, its effect in
  `agent/history/overrides.py`; the keys: `agent/commands/context.py`
"""
