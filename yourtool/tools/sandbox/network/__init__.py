"""The network that commands have.

Where a change goes:

- how a server in the sandbox is offered to the user: `tools/sandbox/network/ports.py`; which ports
  it has: `tools/sandbox/runner/processes.py`
- which hosts a download is offered: `tools/sandbox/network/known_hosts.py` (files of the project),
  `refusals.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "downloads",
    "enclosed_network",
    "ports",
)
