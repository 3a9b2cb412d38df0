"""Harmless git settings.

Only listed settings are harmless: a setting can run a program or redirect what is sent, and new
versions of git add some. https://git-scm.com/docs/git-config
"""

import re
from collections.abc import Sequence

_HARMLESS = {
    "core": """repositoryformatversion filemode bare ignorecase logallrefupdates precomposeunicode
        symlinks autocrlf eol safecrlf abbrev quotepath sparsecheckout sparsecheckoutcone
        untrackedcache preloadindex commitgraph compression loosecompression bigfilethreshold
        multipackindex splitindex longpaths checkstat trustctime whitespace commentchar""",
    "extensions": """objectformat worktreeconfig refstorage noop preciousobjects
        compatobjectformat relativeworktrees""",
    "user": "name email",
    "author": "name email",
    "committer": "name email",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "init": "defaultbranch",
    "merge": """ff conflictstyle renames renamelimit log stat autostash verbosity branchdesc
        directoryrenames""",
    "rebase": "autosquash autostash stat updaterefs abbreviatecommands missingcommitscheck",
    "fetch": "prune prunetags parallel writecommitgraph output showforcedupdates",
    "log": "date decorate abbrevcommit follow graphcolors showroot mailmap",
    "status": """short branch showuntrackedfiles showstash relativepaths aheadbehind renames
        renamelimit submodulesummary""",
    "branch": "autosetupmerge autosetuprebase sort",
    "tag": "sort",
    "diff": """algorithm renames renamelimit mnemonicprefix noprefix colormoved colormovedws context
        interhunkcontext submodule ignoresubmodules wserrorhighlight indentheuristic statgraphwidth
        suppressblankempty relative""",
    "commit": "cleanup status verbose",
    "submodule": "active recurse fetchjobs propagatebranches",
    "maintenance": "auto strategy",
    "stash": "showpatch showstat showincludeuntracked",
    "worktree": "guessremote userelativepaths",
    "lfs": "repositoryformatversion",
    "gc": """auto autodetach autopacklimit pruneexpire worktreepruneexpire reflogexpire
        reflogexpireunreachable aggressivedepth aggressivewindow packrefs logexpiry cruftpacks
        bigpackthreshold writecommitgraph maxcruftsize""",
}
"""Settings that neither name programs nor addresses, by section."""
_HARMLESS_SETTINGS = frozenset(
    f"{section}.{name}" for section, names in _HARMLESS.items() for name in names.split()
)
HARMLESS_SECTIONS = frozenset(
    {"advice", "color", "column", "rerere", "index", "pack", "feature", "checkout", "grep"}
)
OF_BRANCHES = frozenset({"merge", "rebase", "description", "vscode-merge-base", "gh-merge-base"})
"""Settings of one branch that are harmless with any value."""
_OPTIONS = frozenset(
    {"--add", "--bool", "--int", "--local", "--replace-all", "--unset", "--unset-all"}
)
_VERBS = frozenset({"set", "unset"})
_SETTING = re.compile(r"[A-Za-z]+\.[A-Za-z-]+")
_OF_BRANCH = re.compile(r"branch\..+\.([a-z-]+)", re.IGNORECASE)


def is_harmless_setting(key: str) -> bool:
    """True if any value of a setting without a subsection is harmless; in lower case."""
    return key in _HARMLESS_SETTINGS or key.partition(".")[0] in HARMLESS_SECTIONS


def changes_harmless_setting(arguments: Sequence[str]) -> bool:
    """Return True if `git config` with these arguments changes only a harmless setting.

    Examples: `user.name "A. U. Thor"`, `branch.main.rebase true`.
    """
    words = list(arguments)
    while words and (words[0] in _OPTIONS or words[0] in _VERBS):
        del words[0]
    if not words or any(word.startswith("-") for word in words):
        return False
    if (found := _OF_BRANCH.fullmatch(words[0])) is not None:
        return found[1].lower() in OF_BRANCHES
    return _SETTING.fullmatch(words[0]) is not None and is_harmless_setting(words[0].lower())
