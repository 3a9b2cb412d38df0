"""Session store in SQLite.

Where a change goes:

- the form of the database: a step in `store/sqlite/schema.py`; a database of the version before in
  `tests/store/sqlite/schemas/`
- a second store: a package next to `store/sqlite/` that implements `store/base.py`,
  `tests/store/test_contract.py`
"""
