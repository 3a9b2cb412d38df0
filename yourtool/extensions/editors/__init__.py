"""The Agent Client Protocol (https://agentclientprotocol.com), by which editors use the agent."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # the library `acp`; the core, which `initialize` does not need
    __name__,
    "server",
    "sessions",
)
