"""Agent Client Protocol for editors.

Editors use the agent by this protocol (https://agentclientprotocol.com).

Where a change goes:

- what editors are shown: a case of `to_acp`, its text in `extensions/editors/descriptions.py`, or
  an entry in `not_shown.py`
- a request of editors: `_REQUESTS` in `extensions/editors/server.py`, a method in `sessions.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # the library `acp`; the core, which `initialize` does not need
    __name__,
    "server",
    "sessions",
)
