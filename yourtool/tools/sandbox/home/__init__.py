"""The home directory that commands see.

Where a change goes:

- what commands see of a home directory: `tools/sandbox/home/home.py`; the plan of all mounts:
  `layout.py`; what compares them from inside: `runner/`
- a file of settings that commands see without its secrets: `tools/sandbox/home/home_settings.py`;
  what a secret is in each format: `secret_values.py`
- what settings of git show of a home directory: `tools/sandbox/home/git_files.py`
- a private cache of a program in the sandbox: `tools/sandbox/home/caches.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "caches",
    "yaml_secrets",
)
