"""The tools that models can call.

Where a change goes:

- a command that outlasts its call: `tools/background.py`; facts and reports:
  `agent/session/processes.py`
- a tool: a typed async function in `tools/`, its row in `tools/builtin.py`, then `make docs`
- a wrong form of arguments, a wrong tool name: `tools/adjusted_arguments.py`,
  `tools/tool_names.py`
- how models search tools, and when: `tools/tool_search.py`; which ones requests have:
  `Toolbox.offered_to`
- the sentence about an argument with a mistake: `tools/validation.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # few calls need them
    __name__,
    "validation",
)
