"""Other agents as models: programs with the Agent Client Protocol, as our `acp`."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(__name__, "agent", "adapter", "tools")  # until a session uses an agent
