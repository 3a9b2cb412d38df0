"""Optional libraries and their installation command."""

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_LIBRARIES = {"acp": "acp", "images": "PIL", "keyring": "keyring", "mcp": "mcp"}
"""The module of each extra."""
_UV_FILE, _PIPX_FILE = "uv-receipt.toml", "pipx_metadata.json"
"""What uv and pipx write into the environments that they manage."""


def build_install_command(extra: str, prefix: Path = Path(sys.prefix)) -> str:
    """Return the command that adds an extra and keeps the others; blocks on the file system.

    `prefix`: the environment of the program.
    """
    source, is_editable = _find_source(prefix)
    names = sorted({extra} | {name for name, module in _LIBRARIES.items() if find_spec(module)})
    wanted = shlex.quote(f"{source}[{','.join(names)}]")
    if (prefix / _UV_FILE).exists():
        return f"uv tool install --reinstall {wanted}"
    if (prefix / _PIPX_FILE).exists():
        return f"pipx install --force {wanted}"
    option = "-e " if is_editable else ""
    return f"{shlex.quote(sys.executable)} -m pip install {option}{wanted}"


def _find_source(prefix: Path) -> tuple[str, bool]:
    """Return the directory from which the program was installed, and whether it is used there.

    https://packaging.python.org/en/latest/specifications/direct-url/
    """
    for file in prefix.glob("lib/python*/site-packages/yourtool-*.dist-info/direct_url.json"):
        try:
            found: Any = json.loads(file.read_text())
            address = urlsplit(str(found["url"]))
            is_editable = found.get("dir_info", {}).get("editable", False) is True
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue
        if address.scheme == "file":
            return unquote(address.path), is_editable
    return "yourtool", False
