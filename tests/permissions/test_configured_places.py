import json
import os
import shutil

import pytest

from tests.permissions.projects import commit_all, run_git, write
from yourtool.permissions.configured_places import Protection, changes_hooks
from yourtool.permissions.shell.writes import find_protected_write


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return (tmp_path / "work").resolve()


def find(root, path):
    return Protection(root).find(path)


@pytest.mark.parametrize(
    "value", ["scripts/git-hooks", "./scripts/../scripts/git-hooks/", '"scripts/git-hooks" ; ours']
)
@pytest.mark.req("R-TOOL-07")
def test_hooks_are_protected_where_the_repository_has_them(root, value):
    run_git(root, "init", "-q")
    assert find(root, "scripts/git-hooks/pre-commit") is None
    with (root / ".git/config").open("a") as file:
        file.write(f"[core]\n\thooksPath = {value}\n")
    for path in ("scripts/git-hooks", "scripts/git-hooks/pre-commit", "scripts/git-hooks/lib/a.sh"):
        assert find(root, path) == (
            "protected place (git uses it because of `core.hookspath` in `.git/config`)"
        )
    assert find(root, str(root / "scripts/git-hooks/x")) is not None
    assert find(root, "scripts/build.sh") is None
    assert find_protected_write("cp a scripts/git-hooks/pre-commit", root) is not None
    assert find_protected_write("cd scripts && touch git-hooks/a", root) is not None
    for line in ("cp a scripts/git*/pre-commit", "touch s*/git-hooks/a", "rm scripts/git-hooks/*"):
        write(root, "scripts/git-hooks/pre-commit")
        assert find_protected_write(line, root) is not None, line
    assert find_protected_write("touch scripts/*.sh s*/build/a", root) is None
    assert find_protected_write("cp a scripts/build.sh", root) is None


def test_hook_is_protected_where_its_link_leads(root):
    run_git(root, "init", "-q")
    write(root, **{"scripts/check.sh": "x\n"})
    assert find(root, "scripts/check.sh") is None
    (root / ".git/hooks").mkdir(exist_ok=True)
    for name, target in {"pre-commit": "scripts/check.sh", "pre-push": "missing.sh"}.items():
        (root / ".git/hooks" / name).symlink_to(f"../../{target}")
        assert find(root, target) == ("protected place (git runs it through a link in its `hooks`)")
    assert find_protected_write("echo x >> scripts/check.sh", root) is not None
    assert find(root, "scripts/build.sh") is None


def test_hooks_are_protected_where_the_link_of_their_directory_leads(root):
    run_git(root, "init", "-q")
    shutil.rmtree(root / ".git/hooks")
    (root / ".git/hooks").symlink_to("../scripts/hooks")
    assert find(root, "scripts/hooks/pre-commit") is not None
    assert find(root, "scripts/build.sh") is None


def test_changed_configuration_counts_at_once(root):
    run_git(root, "init", "-q")
    for name in ("one", "two"):
        run_git(root, "config", "core.hooksPath", name)
        assert find(root, f"{name}/pre-push") is not None
    assert find(root, "one/pre-push") is None


def test_hooks_directly_in_the_project_are_protected_by_their_names(root):
    run_git(root, "init", "-q")
    run_git(root, "config", "core.hooksPath", ".")
    assert find(root, "pre-commit") is not None
    assert find(root, "src/pre-commit") is None
    assert find(root, "README.md") is None


@pytest.mark.parametrize("key", ["include.path", "includeIf.gitdir:/elsewhere/.path"])
def test_included_configuration_is_protected_and_followed(root, key):
    run_git(root, "init", "-q")
    run_git(root, "config", key, "../settings/git.ini")
    assert find(root, "settings/git.ini") is not None
    write(root, **{"settings/git.ini": "[core]\n\thooksPath = tools\\\n/hooks\n"})
    assert "settings/git.ini" in find(root, "tools/hooks/pre-commit")
    write(root, **{"settings/git.ini": "[include]\n\tpath = git.ini\n"})
    assert find(root, "tools/hooks/pre-commit") is None


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config"])
def test_configuration_of_the_user_protects_places_in_the_workspace(root, name):
    run_git(root, "init", "-q")
    write(root.parent / "home", **{name: "[core]\n\thooksPath = hooks\n"})
    assert find(root, "hooks/pre-commit") is not None
    assert find(root, "lib/hooks/useThing.ts") is None


@pytest.mark.parametrize(
    "setting",
    ["filter.a.clean", "alias.x", "core.fsmonitor", "core.sshCommand", "diff.a.textconv"],
)
def test_program_that_a_setting_of_git_names_is_protected(root, setting):
    run_git(root, "init", "-q")
    value = "!python3 -u tools/run.py %f" if setting.startswith("alias") else "python tools/run.py"
    run_git(root, "config", setting, value)
    assert find(root, "tools/run.py") is not None
    assert find(root, "tools/other.py") is None


def test_hooks_of_inner_and_outer_repositories_are_protected(root):
    run_git(root, "init", "-q")
    run_git(root, "config", "core.hooksPath", "work/checks")
    write(root, "inner/a.py", "work/checks/pre-commit")
    commit_all(root / "inner")
    run_git(root / "inner", "config", "core.hooksPath", "hooks")
    assert find(root, "inner/hooks/pre-commit") is not None
    assert find(root, "hooks/useThing.ts") is None
    inside = (root / "work").resolve()
    assert find(inside, "checks/pre-commit") is not None
    assert find(inside, "a.py") is None


def test_linked_worktree_and_separate_git_directory_are_followed(root):
    write(root, "a.py")
    commit_all(root)
    run_git(root, "config", "core.hooksPath", "checks")
    run_git(root, "worktree", "add", "-q", "../tree")
    assert find(root.parent / "tree", "checks/pre-commit") is not None
    (root / "new").mkdir()
    run_git(root / "new", "init", "-q", "--separate-git-dir", "../data")
    assert find(root / "new", "data/hooks/pre-commit") is None
    run_git(root / "new", "init", "-q", "--separate-git-dir", "data")
    assert find(root / "new", "data/hooks/pre-commit") is not None


def test_scripts_of_hook_managers_are_protected(root):
    hooks = """
repos:
  - repo: https://example.org/x
    hooks: [{id: a}]
  - repo: local
    hooks:
      - id: check
        entry: python3 -u scripts/check.py --fix
      - id: lint
        entry: "./scripts/lint.sh"
      - id: types
        entry: mypy
"""
    write(root, **{".pre-commit-config.yaml": hooks})
    write(root, **{"lefthook.yml": "pre-commit:\n  jobs:\n    - run: sh tools/lint\n"})
    for path in ("scripts/check.py", "scripts/lint.sh", "tools/lint"):
        assert find(root, path) is not None, path
    for path in ("scripts/other.py", "mypy", "mypy/main.py", "check.py"):
        assert find(root, path) is None, path


@pytest.mark.req("R-TOOL-07")
def test_ordinary_project_has_no_places_of_a_bare_repository(root):
    names = "config config/routes.rb hooks/useThing HEAD packed-refs refs/a.py objects/a.py info/x"
    for path in names.split():
        assert find(root, path) is None
        assert find_protected_write(f"touch {path}", root) is None
    for name in ("refs", "objects"):
        (root / name).mkdir()
    assert find(root, "config/routes.rb") is None
    assert find(root, "refs/a.py") is None


@pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x"])
@pytest.mark.req("R-TOOL-07")
def test_file_that_completes_a_bare_repository_is_protected(root, last):
    parts = ("HEAD", "objects/x", "refs/x")
    write(root, *(each for each in parts if each != last))
    assert "bare repository" in find(root, last)
    assert find(root, "README.md") is None
    together = Protection(root)
    together.expect(last)
    assert together.find("config") is not None
    write(root, last)
    for path in ("config", "hooks/pre-commit", "config.worktree", "commondir", "packed-refs", last):
        assert find(root, path) is not None
        assert find_protected_write(f"touch {path}", root) is not None
    assert find(root, "src/config") is None


@pytest.mark.parametrize(
    "parts", [("sub/HEAD", "sub/objects/x", "sub/refs/x"), ("sub/HEAD", "sub/commondir")]
)
@pytest.mark.req("R-TOOL-07")
def test_files_of_a_directory_that_git_uses_as_a_repository_are_protected(root, parts):
    write(root, *parts[1:])
    assert find(root, "sub/config") is None
    assert "bare repository" in find(root, "sub/HEAD")
    write(root, parts[0])
    assert "bare repository" in find(root, "sub/config")
    assert find(root, "other/config") is None


def test_line_that_makes_a_bare_repository_writes_to_a_protected_place(root):
    assert find_protected_write("mkdir objects refs && echo x > HEAD", root) == "HEAD"
    assert find_protected_write("mkdir objects refs && echo x > a", root) is None


def test_repository_that_cannot_be_read_protects_what_its_name_does(root):
    (root / ".git").write_text("x")
    assert find(root, "a.py") is None
    (root / ".git").unlink()
    os.mkfifo(root / ".git")
    assert find(root, "a.py") is None
    (root / ".git").unlink()
    (root / ".git").mkdir()
    os.mkfifo(root / ".git/config")
    assert find(root, "a.py") is None
    assert find(root, ".git/config") is not None


def package(**keys):
    return json.dumps({"name": "a", "scripts": {"test": "x"}, **keys}).encode()


@pytest.mark.parametrize("key", ["simple-git-hooks", "husky", "gitHooks", "lint-staged"])
def test_commands_of_hook_managers_in_a_package_count_if_they_change(key):
    with_hooks = package(**{key: {"pre-commit": "npm test"}})
    assert changes_hooks("web/package.json", package(), with_hooks)
    assert changes_hooks("package.json", None, with_hooks)
    assert changes_hooks("package.json", with_hooks, package())
    assert changes_hooks("package.json", with_hooks, None)
    assert not changes_hooks("package.json", package(), package(version="2"))
    assert not changes_hooks("package.json", with_hooks, with_hooks.replace(b'"a"', b'"b"'))
    assert not changes_hooks("package.json", b"[", b"[" * 100_000)
    assert not changes_hooks("other.json", package(), with_hooks)
