"""Other agents as models.

They are programs with the Agent Client Protocol, like our `acp`.

Where a change goes:

- what another agent sends or asks for: `extensions/agents/messages.py` (forms), `adapter.py`
  (replies), `tools.py` (answers)
- when an agent can answer, and what the end of its turn settles:
  `extensions/agents/session_agents.py`, `agent/turn/agents.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(__name__, "agent", "adapter", "tools")  # until a session uses an agent
