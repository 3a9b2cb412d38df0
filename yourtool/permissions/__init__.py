"""Permission rules.

Where a change goes:

- modes, allow-lists, hooks: a rule in `permissions/judging.py`
- files of rules, and their examples: `permissions/rule_file.py`, `permissions/examples.py`
- what a decision depends on: `judge` and `Policy` in `permissions/judging.py`; what it asks about
  files: a `Question` in `effects.py`; `CallJudgement` in `events/permissions.py`
- a file of a project that configures: a row in `PROJECT_FILES` in `permissions/trust.py`;
  `agent/session/project/project_files.py` reads it, `project_trust.py` decides
- a protected name: `permissions/protected_places.py`
- a place that settings of git or a hook manager name: `permissions/configured_places.py`
- a tree of dependencies: `permissions/credential_search.py`
- a credential file: a row in `permissions/credential_files.py`, then `make docs`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without changes and searches
    __name__,
    "credential_search",
    "protection",
)
