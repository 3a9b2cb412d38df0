"""Import of the settings of other agents.

Where a change goes:

- settings of another agent that are taken over: its module in `extensions/settings_import/`; which
  rules: `foreign_rules.py`; our files: `targets.py`
"""
