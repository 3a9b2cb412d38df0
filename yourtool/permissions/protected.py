"""Places that always ask: files that programs obey without anybody opening them.

Names are compared after NFKC, casefolding and removal of what cannot be seen, and as file systems
that ignore case, trailing dots or streams would compare them, on every platform.
"""

import itertools
import unicodedata

_ANYWHERE = frozenset(
    {
        # version control
        ".git", ".gitmodules", ".gitattributes", ".gitconfig", "git~1", ".hg", ".svn", ".jj",
        # hooks and continuous integration
        ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
        ".circleci", ".ci", ".gitlab-ci.yml", ".travis.yml", ".drone.yml", "jenkinsfile",
        "azure-pipelines.yml", "bitbucket-pipelines.yml", ".buildkite",
        # editors and containers that run tasks when a folder is opened
        ".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".exrc",
        ".vimrc", ".nvimrc", ".nvim.lua", ".vim", ".nvim", ".emacs", ".emacs.d", ".dir-locals.el",
        ".sublime-project",
        # agents and what they read as orders
        ".yourtool", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".continue",
        ".aider.conf.yml", ".windsurf", ".roo", ".cline", ".crush", ".goose", ".vibe", ".kiro",
        ".mcp.json", "mcp.json", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints",
        "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",
        # shells and whatever runs on entering a directory or logging in
        ".envrc", ".direnv", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
        ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
        ".inputrc", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".mise.toml",
        "mise.toml", ".tmux.conf", ".screenrc", "config.fish", "profile.ps1",
        "microsoft.powershell_profile.ps1",
        # package managers and credentials
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", "pip.conf", ".condarc",
        ".ssh", ".gnupg", ".netrc", ".git-credentials", ".aws", ".kube", ".docker",
        ".ripgreprc", ".curlrc", ".wgetrc", ".gdbinit", ".lldbinit", ".pythonrc",
    }
)  # fmt: skip
_PAIRS = frozenset(
    {
        (".github", "workflows"), (".github", "actions"), (".github", "hooks"),
        (".github", "copilot-instructions.md"), (".github", "instructions"), (".cargo", "config"),
        (".cargo", "config.toml"), (".config", "fish"), (".config", "autostart"),
        (".config", "systemd"), (".config", "git"),
    }
)  # fmt: skip
_BARE_FILES = frozenset({"head", "config", "packed-refs", "config.worktree"})


def is_protected(path: str) -> bool:
    """Tell whether changing `path` needs an answer of its own, also where it does not exist yet.

    `path` is relative to the workspace, after links were resolved; an absolute one is judged by
    the same names.
    """
    names = tuple(folded_name(name) for name in path.split("/") if name not in ("", "."))
    if any(name in _ANYWHERE for name in names):
        return True
    if any(pair in _PAIRS for pair in itertools.pairwise(names)):
        return True
    # In these places git would take the workspace itself for a repository.
    if len(names) == 1:
        return names[0] in _BARE_FILES
    return len(names) == 2 and names[0] == "hooks" and "." not in names[1]


def folded_name(name: str) -> str:
    """Return a name as it is compared with others, whatever its case and disguise."""
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
