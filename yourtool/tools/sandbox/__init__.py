"""The sandbox of commands: bubblewrap, else Landlock, else none."""

from yourtool.late_modules import late_modules

__getattr__ = late_modules(  # a session can do without commands
    __name__,
    "blocks",
    "caches",
    "confinement",
    "downloads",
    "enclosure",
    "host_needs",
    "layout",
    "names",
    "ports",
    "probes",
    "proxy",
    "yaml_secrets",
)
