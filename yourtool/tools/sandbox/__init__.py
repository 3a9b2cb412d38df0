"""The sandbox of commands: bubblewrap, else Landlock, else none."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without commands
    __name__,
    "blocks",
    "caches",
    "confinement",
    "downloads",
    "enclosed_network",
    "enclosure",
    "host_needs",
    "layout",
    "ports",
    "probes",
    "yaml_secrets",
)
