"""Protected places.

Every write to these files, which programs run or load by name, needs an approval.

Names are compared after NFKC normalisation, case folding and removal of invisible characters. On
every platform they are compared like on file systems that ignore case, trailing dots and streams,
separate names with backslashes, and have short names such as `git~1`, as git's own checks do:
https://github.com/git/git/blob/v2.47.0/path.c (`is_ntfs_dotgit`, `is_ntfs_dot_generic`).
"""

import itertools
import re
import unicodedata

_VERSION_CONTROL = "git or another version control runs it, or has its settings there"
_HOOKS = "a hook manager or a service that tests commits runs what it names"
_EDITORS = "editors and containers run what it names when the folder is opened"
_AGENTS = "coding agents follow it, or run what it names"
_SHELLS = "shells and other programs run it by its name"
_SETTINGS = "programs read settings, addresses or keys from it"
_PROTECTED_NAMES = {
    _VERSION_CONTROL: {
        ".git", ".gitmodules", ".gitattributes", ".gitconfig", ".hg", ".svn", ".jj",
    },
    _HOOKS: {
        ".husky", ".githooks", ".git-hooks", ".hooks", ".pre-commit-config.yaml",
        ".pre-commit-hooks.yaml", ".overcommit.yml", ".overcommit", ".lefthook", ".lefthook-local",
        "captainhook.json", "grumphp.yml", "prek.toml", ".rusty-hook.toml",
        ".circleci", ".ci", ".gitlab-ci.yml", ".travis.yml", ".drone.yml", "jenkinsfile",
        "azure-pipelines.yml", "bitbucket-pipelines.yml", ".buildkite",
    },
    _EDITORS: {
        ".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".exrc",
        ".vimrc", ".nvimrc", ".nvim.lua", ".vim", ".nvim", ".emacs", ".emacs.d", ".dir-locals.el",
        ".sublime-project",
    },
    _AGENTS: {
        ".yourtool", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".continue",
        ".aider.conf.yml", ".windsurf", ".roo", ".cline", ".crush", ".goose", ".vibe", ".kiro",
        ".mcp.json", "mcp.json", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints",
        "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",
    },
    _SHELLS: {
        ".envrc", ".direnv", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
        ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
        ".inputrc", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".mise.toml",
        "mise.toml", ".tmux.conf", ".screenrc", "config.fish", "profile.ps1",
        "microsoft.powershell_profile.ps1",
    },
    _SETTINGS: {
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", "pip.conf", ".condarc",
        ".ssh", ".gnupg", ".netrc", ".git-credentials", ".aws", ".kube", ".docker",
        ".ripgreprc", ".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".pythonrc",
    },
}  # fmt: skip
"""Names of files and directories, by the reason."""
_PROTECTED_PAIRS = {
    (".github", "workflows"): _HOOKS, (".github", "actions"): _HOOKS,
    (".github", "hooks"): _HOOKS, (".github", "copilot-instructions.md"): _AGENTS,
    (".github", "instructions"): _AGENTS, (".cargo", "config"): _SETTINGS,
    (".cargo", "config.toml"): _SETTINGS, (".config", "fish"): _SHELLS,
    (".config", "autostart"): _SHELLS, (".config", "systemd"): _SHELLS,
    (".config", "git"): _VERSION_CONTROL,
}  # fmt: skip
_CAUSES = {name: cause for cause, names in _PROTECTED_NAMES.items() for name in names}
_OUTER_NAMES = frozenset(outer for outer, _ in _PROTECTED_PAIRS)
_SHORT_NAME = re.compile(r"gi[^~]{0,6}~[0-9]+")
"""The short names of `.git`, `.gitmodules`, `.gitattributes`, also those that contain a hash."""
_HOOK_SETTINGS = re.compile(
    r"(?:\.?(?:lefthook(?:-local)?|simple-git-hooks)|lint-staged\.config|husky\.config"
    r"|\.huskyrc|\.lintstagedrc)\.(?:yml|yaml|toml|json|js|cjs|mjs|ts)|\.huskyrc|\.lintstagedrc"
)
"""The files of hook managers that have several forms."""
_HARMLESS_IN_GIT = frozenset(
    {("index.lock",), ("config.lock",), ("head.lock",), ("info", "exclude")}
)
"""What git neither runs nor takes settings from: locks are only looked for, and left-over ones are
removed by hand; patterns hide files from `git status`."""


def is_protected(path: str) -> bool:
    """Whether a write to `path`, which need not exist, always needs an approval by its name.

    `Protection` finds those that the settings of git and of hook managers name.

    `path` is relative to the workspace, with links resolved; absolute paths are compared by the
    same names.
    """
    return find_cause(path) is not None


def find_cause(path: str) -> str | None:
    """Return why the name of a path makes it a protected place, a clause; None: it does not."""
    parts = path.replace("\\", "/").split("/")
    names = tuple(folded_name(name) for name in parts if name not in ("", "."))
    if names[-2:-1] == (".git",) or names[-3:-2] == (".git",):
        start = len(names) - 1 - names[::-1].index(".git")
        if names[start + 1 :] in _HARMLESS_IN_GIT:
            names = names[:start]
    for name in names:
        if (cause := _CAUSES.get(name)) is not None:
            return cause
        if _SHORT_NAME.fullmatch(name):
            return _VERSION_CONTROL
        if _HOOK_SETTINGS.fullmatch(name):
            return _HOOKS
    return next(filter(None, map(_PROTECTED_PAIRS.get, itertools.pairwise(names))), None)


def has_protected_entries(name: str) -> bool:
    """Whether a directory of this name, which is not protected itself, can have such entries."""
    return folded_name(name) in _OUTER_NAMES


def folded_name(name: str) -> str:
    """Return a name in the form used for comparisons."""
    if name.isascii() and name.isprintable():
        return name.lower().partition(":")[0].rstrip(". ")
    visible = "".join(
        char for char in unicodedata.normalize("NFKC", name) if not _is_ignorable(char)
    )
    folded = unicodedata.normalize("NFKC", visible.casefold())
    return folded.partition(":")[0].rstrip(". ")


def _is_ignorable(char: str) -> bool:
    return (
        unicodedata.category(char) in ("Cf", "Cc")
        or char in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0000" <= char <= "\U000e0fff"
    )
