import pytest

from yourtool.permissions.protected_places import is_protected

NAMES = """
.git .gitmodules .gitattributes .gitconfig .hg .svn .jj .husky .githooks .pre-commit-config.yaml
lefthook.yml .lefthook.yml lefthook-local.yml
.lefthook-local.yml lefthook.toml .lefthook.json .lefthook .overcommit.yml .overcommit .hooks
.git-hooks .pre-commit-hooks.yaml captainhook.json .simple-git-hooks.cjs simple-git-hooks.json
.huskyrc .huskyrc.json husky.config.js .lintstagedrc .lintstagedrc.yml lint-staged.config.mjs
grumphp.yml prek.toml .rusty-hook.toml .circleci .ci .gitlab-ci.yml .travis.yml .drone.yml
Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .buildkite .vscode .idea .zed .fleet
.devcontainer
.devcontainer.json .exrc .vimrc .nvimrc .nvim.lua .vim .nvim .emacs .emacs.d .dir-locals.el
.sublime-project .yourtool .agents .claude .codex .cursor .gemini .opencode .continue
.aider.conf.yml .windsurf .roo .cline .crush .goose .vibe .kiro .mcp.json mcp.json .cursorrules
.windsurfrules .clinerules .goosehints AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md
GEMINI.md .envrc .direnv .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile
.zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .kshrc .cshrc .tcshrc .login .xprofile .xinitrc
.mise.toml mise.toml .tmux.conf .screenrc config.fish profile.ps1
Microsoft.PowerShell_profile.ps1 .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc pip.conf .condarc
.ssh .gnupg .netrc .git-credentials .aws .kube .docker .ripgreprc .curlrc .wgetrc .gdbinit
.lldbinit .pythonrc
"""
PAIRS = """
.github/workflows .github/actions .github/hooks .github/copilot-instructions.md
.github/instructions .cargo/config .cargo/config.toml .config/fish .config/autostart
.config/systemd .config/git
"""


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.req("R-TOOL-07")
def test_protected_name_is_one_in_every_directory(name):
    for path in (name, name.upper(), f"a/{name}", f"{name}/a/b", f"/home/me/{name}"):
        assert is_protected(path)
    assert not is_protected(f"a/{name}x")
    assert not is_protected(f"a/x{name}")


@pytest.mark.parametrize("pair", PAIRS.split())
@pytest.mark.req("R-TOOL-07")
def test_protected_name_of_a_directory_is_one_only_there(pair):
    folder, name = pair.split("/")
    for path in (pair, pair.upper(), f"a/{pair}/b", f"./{folder}//{name}"):
        assert is_protected(path)
    for path in (folder, f"a/{name}", f"{folder}/a/{name}", f"{name}/{folder}"):
        assert not is_protected(path)


@pytest.mark.parametrize(
    "char",
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180f\ufe00\ufe0f\U000e0000\U000e0fff\u200b",
)
@pytest.mark.req("R-TOOL-07")
def test_character_that_nobody_sees_hides_no_protected_name(char):
    for path in (f".g{char}it/a", f"{char}.git", f".git{char}"):
        assert is_protected(path)


@pytest.mark.parametrize("char", "\u180a\u1810\ufdff\ufe10\U000dffff\U000e1000x")
def test_visible_character_makes_another_name(char):
    assert not is_protected(f".g{char}it/a")


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-commit", ".git/config", ".git/info/attributes", ".git/modules/x/config",
        ".git/HEAD", ".git", "vendor/lib/.git/config", ".gitmodules", "sub/.gitattributes",
        ".yourtool/config.toml", ".yourtool/skills/x/SKILL.md", ".mcp.json", ".vscode/tasks.json",
        ".idea/workspace.xml", ".github/workflows/ci.yml", ".gitlab-ci.yml", ".husky/pre-commit",
        ".pre-commit-config.yaml", ".envrc", ".npmrc", ".bashrc", "home/.zshrc", ".profile",
        ".config/fish/config.fish", ".ssh/authorized_keys", "AGENTS.md", "sub/CLAUDE.md",
        ".claude/settings.json", ".devcontainer/devcontainer.json", "/home/me/.bashrc",
        "Jenkinsfile", ".git/info", ".git/info/attributes", ".git/info/exclude/x",
        ".vscode/.git/index.lock", ".git/hooks/index.lock", ".git/x/../info/exclude",
    ],
)  # fmt: skip
@pytest.mark.req("R-TOOL-07")
def test_control_file_is_protected(path):
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/config", ".gIt/HOOKS/x", ".g\u200bit/config", ".gi\u00adt/config", ".git\ufe0f/x",
        "\uff0egit/config", "\u2024git/config", ".git./config", ".git /config",
        ".git::$INDEX_ALLOCATION/config", "GIT~1/config", ".VSCode/launch.json",
        ".\uff47\uff49\uff54/x",
        "./.git//config", "a/./.git/x",
        # short names, HFS's ignorable characters and separators of Windows: git's own checks
        "git~2/config", "GITMOD~1", "gi7eba~1", "gitatt~4", "GI7D29~2", "git~1 . ./x",
        ".g\u200cit/config", ".gi\u200dt", ".git\ufeff/x", ".gi\u206at", ".git . /x", "a\\.git\\x",
        ".ENVRC", ".\u202egit\u202c/config", ".git\U000e0001/x",
    ],
)  # fmt: skip
@pytest.mark.req("R-TOOL-07")
def test_disguised_control_file_is_protected(path):
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/main.py", "README.md", "git/config", ".gitignore", ".github/ISSUE_TEMPLATE/bug.md",
        "src/config", "src/hooks/useThing.ts", "hooks/useThing.ts", "docs/HEAD", "gitmodules",
        "hooks/post-commit", "config", "config/routes.rb", "HEAD", "packed-refs", "refs/x.py",
        ".env.example", "config/settings.toml", "profile", ".", "git~", "gi~x", "digit~1.txt",
        ".git/index.lock", ".git/config.lock", "vendor/lib/.git/HEAD.lock", ".git/info/exclude",
    ],
)  # fmt: skip
def test_ordinary_file_is_not_protected(path):
    assert not is_protected(path)
