"""Paths in tool calls, and their targets.

`{ws}`, `{root}` and `{home}` mean the workspace, the directory above it, and the home
directory. `fixture` adds to `FIXTURE`, below `{root}`. A decision is `inside`, `outside`,
`protected` (needs an approval even if edits are accepted) or `reject` (a clear error).
"""

from typing import Any

FIXTURE: dict[str, Any] = {
    "dirs": ["ws/harbour/empty", "outside", "home"],
    "files": {
        "ws/README.md": "# Harbour\n",
        "ws/harbour/tide.py": "x = 1\n",
        "ws/harbour/high water.txt": "14:10\n",
        "ws/.git/config": "[core]\n",
        "outside/secret.txt": "CANARY\n",
        "home/.ssh/id_ed25519": "CANARY\n",
        "ws_old/x.txt": "CANARY\n",
    },
}
_LINKS = {
    "symlinks": {
        "ws/in": "harbour",
        "ws/out": "../outside",
        "ws/new": "../outside/new.txt",
        "ws/absolute": "/etc",
        "ws/harbour/up": "..",
        "ws/chain": "out",
        "ws/loop": "loop",
    },
    "fifos": ["ws/pipe"],
}
_TABLE: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "inside",
        "plain",
        "read",
        (
            "README.md",
            "./README.md",
            "harbour/tide.py",
            "harbour/high water.txt",
            "harbour/../README.md",
            "harbour//tide.py",
            "{ws}/harbour/tide.py",
        ),
    ),
    ("inside", "symlink", "read", ("in/tide.py", "harbour/up/README.md", "in/up/in/tide.py")),
    ("inside", "plain", "list", (".", "harbour", "harbour/empty", "in")),
    ("inside", "plain", "write", ("new.txt", "harbour/new.txt", "a/b/c/new.txt", "in/new.txt")),
    ("inside", "plain", "edit", ("harbour/tide.py",)),
    (
        "outside",
        "dotdot",
        "read",
        ("../outside/secret.txt", "harbour/../../outside/secret.txt", "..", "{root}/ws/.."),
    ),
    ("outside", "prefix", "read", ("{ws}_old/x.txt", "../ws_old/x.txt")),
    ("outside", "home", "read", ("~/.ssh/id_ed25519", "{home}/.ssh/id_ed25519", "~root/x")),
    ("outside", "absolute", "read", ("/etc/passwd", "/", "//etc/passwd")),
    ("outside", "proc", "read", ("/proc/self/cwd/README.md", "/proc/self/environ", "/dev/fd/0")),
    (
        "outside",
        "symlink",
        "read",
        ("out/secret.txt", "chain/secret.txt", "absolute/passwd", "harbour/up/out/secret.txt"),
    ),
    ("outside", "symlink", "write", ("out/new.txt", "new", "chain/new.txt", "../new.txt")),
    ("outside", "symlink", "list", ("out", "absolute", "..")),
    ("outside", "glob", "search", ("../**", "{root}/**", "harbour/../../**")),
    (
        "protected",
        "control-file",
        "write",
        (
            ".git/hooks/pre-commit",
            ".git/config",
            ".GIT/hooks/post-checkout",
            "harbour/.git/config",
            ".yourtool/config.toml",
            ".vscode/tasks.json",
        ),
    ),
    ("reject", "name", "read", ("", "a\0b", "t" * 300, "d/" * 3000, "loop", "gone.txt")),
    ("reject", "kind", "read", ("pipe", "harbour")),
)


def _cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for expect, kind, operation, paths in _TABLE:
        for path in paths:
            name = f"{expect}-{kind}-{operation}-{len(found):03}"
            found.append(
                {
                    "id": name,
                    "expect": expect,
                    "class": kind,
                    "op": operation,
                    "path": path,
                    "fixture": _LINKS,
                }
            )
    return found


PATHS = _cases()
