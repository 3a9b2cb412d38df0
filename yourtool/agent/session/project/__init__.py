"""Files of a project that configure a session.

Where a change goes:

- instructions, their imports and limits: `agent/session/project/instructions.py`,
  `project_files.py`
- what a skill may have, and its limits: `agent/session/project/skills.py`; the tools:
  `tools/guidance/skills.py`, `tools/guidance/skill_saving.py`
- a kind of memory: `agent/session/project/memory.py` (files, limits), `tools/guidance/memory.py`
  (changes)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "front_matter",
)
