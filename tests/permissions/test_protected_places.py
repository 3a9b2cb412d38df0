import pytest

from yourtool.permissions.protected_places import is_protected


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
        "HEAD", "config", "hooks/post-commit", "Jenkinsfile",
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
        ".env.example", "config/settings.toml", "profile", ".", "git~", "gi~x", "digit~1.txt",
    ],
)  # fmt: skip
def test_ordinary_file_is_not_protected(path):
    assert not is_protected(path)
