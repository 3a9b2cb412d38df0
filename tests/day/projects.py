"""Thirty projects, as people have them on their disks.

Each function fills the empty folder `site.work` and returns the folder in which the program is
started, which is another one for a package, a submodule or a path through a link.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.day.sites import ORDINARY, Site, add_untracked, commit, make_repository, write


def empty_folder(site: Site) -> Path:
    return site.work


def plain_folder(site: Site) -> Path:
    write(site.work, {**ORDINARY, "build/out.txt": "built\n"})
    return site.work


def empty_repository(site: Site) -> Path:
    site.git(site.work, "init", "-q")
    return site.work


def small_repository(site: Site) -> Path:
    return make_repository(site, {}, {"README.md": "# A project\n\nIt has two pages.\n"})


def _leave_out(directory: str, names: list[str]) -> list[str]:
    """Return the files of an installed package that a run of pytest does not need."""
    used = ("__init__.py", "_mapping.py", "diff.py", "python.py")
    is_large = Path(directory).name == "lexers"
    return [each for each in names if each == "__pycache__" or (is_large and each not in used)]


def python_project(site: Site) -> Path:
    files = {
        "pyproject.toml": '[project]\nname = "sums"\nversion = "1"\n'
        '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
        "src/sums/__init__.py": "def add(a, b):\n    return a + b\n",
        "tests/test_sums.py": "from sums import add\n\ndef test():\n    assert add(1, 2) == 3\n",
    }
    make_repository(site, files, {"src/sums/more.py": "def double(a):\n    return 2 * a\n"})
    venv = site.work / ".venv"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", venv), check=True)
    [packages] = venv.glob("lib/python*/site-packages")
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, packages / name, ignore=_leave_out)
    shutil.copy2(Path(pytest.__file__).parents[1] / "py.py", packages)
    return site.work


def node_project(site: Site) -> Path:
    lint = '#!/usr/bin/env node\nrequire("fs").writeFileSync("lint.txt", "clean\\n")\n'
    files = {
        "package.json": '{"name": "pages", "scripts": {"lint": "lint"}}\n',
        ".npmrc": "save-exact=true\n",
        "src/index.js": "module.exports = 1\n",
    }
    make_repository(site, files, {"src/index.js": "module.exports = 2\n", ".npmrc": "fund=true\n"})
    modules = site.work / "node_modules"
    write(modules, {"lint/package.json": '{"name": "lint"}\n', "lint/cli.js": lint})
    (modules / "lint/cli.js").chmod(0o755)
    (modules / ".bin").mkdir()
    (modules / ".bin/lint").symlink_to("../lint/cli.js")
    return site.work


def rails_project(site: Site) -> Path:
    files = {
        "Gemfile": 'source "https://packages.example"\n',
        "config/routes.rb": "Rails.application.routes.draw {}\n",
        "config/database.yml": "test:\n  adapter: sqlite3\n",
        "db/migrate/1_create_pages.rb": "class CreatePages; end\n",
        "bin/rails": "#!/bin/sh\nexec true\n",
    }
    make_repository(site, files, {"config/routes.rb": "# none\n", "config/new.rb": "# new\n"})
    (site.work / "bin/rails").chmod(0o755)
    commit(site, site.work, "Make it executable", {})
    return site.work


def laravel_project(site: Site) -> Path:
    files = {
        "artisan": "#!/usr/bin/env php\n",
        "config/app.php": "<?php return [];\n",
        "hooks/deploy.sh": "echo deploy\n",
        "storage/logs/.gitignore": "*\n!.gitignore\n",
        ".env.example": "APP_KEY=\n",
    }
    make_repository(site, files, {"config/app.php": "<?php return [1];\n"})
    write(site.work, {".env": "APP_KEY=base64:none\n", "storage/logs/today.log": "hello\n"})
    return site.work


def phoenix_project(site: Site) -> Path:
    files = {
        "mix.exs": "defmodule Pages.MixProject do\nend\n",
        "config/config.exs": "import Config\n",
        "config/runtime.exs": "import Config\n",
        "lib/pages.ex": "defmodule Pages do\nend\n",
        "priv/repo/seeds.exs": "# none\n",
    }
    return make_repository(site, files, {"config/runtime.exs": "import Config\n# more\n"})


def package_of_a_monorepo(site: Site) -> Path:
    inner = {f"packages/app/{name}": text for name, text in ORDINARY.items()}
    files = {**inner, "packages/app/package.json": "{}\n", "packages/core/core.txt": "core\n"}
    changed = {"packages/app/README.md": "# The app\n", "packages/core/core.txt": "other\n"}
    make_repository(site, files, changed)
    write(site.work / "packages/app", {"build/out.txt": "built\n"})
    return site.work / "packages/app"


def linked_worktree(site: Site) -> Path:
    main = site.root / "main-tree"
    make_repository(site, {}, {"README.md": "# Other\n"}, main)
    site.work.rmdir()
    site.git(main, "worktree", "add", "-q", "-b", "work", str(site.work))
    return add_untracked(site.work)


def submodule(site: Site) -> Path:
    """The workspace is the checkout of a submodule."""
    repository_with_submodule(site)
    inner = site.work / "vendor/lib"
    site.git(inner, "checkout", "-q", "-B", "main", "origin/main")
    site.git(inner, "branch", "-q", "feature", "origin/feature")
    return add_untracked(inner)


def repository_with_submodule(site: Site) -> Path:
    library = site.root / "library"
    make_repository(site, {}, {"README.md": "# Other\n"}, library)
    shutil.move(site.root / "remote.git", site.root / "library.git")
    shutil.rmtree(library)
    make_repository(site, {}, {"README.md": "# Other\n"})
    site.git(site.work, "submodule", "--quiet", "add", str(site.root / "library.git"), "vendor/lib")
    commit(site, site.work, "Add a library", {})
    return site.work


PROTECTED = (
    ".vscode/settings.json",
    ".github/workflows/ci.yml",
    ".husky/pre-commit",
    ".npmrc",
    "AGENTS.md",
    ".gitattributes",
    ".pre-commit-config.yaml",
    ".claude/settings.json",
)


def tracked_protected_places(site: Site) -> Path:
    first, second = dict.fromkeys(PROTECTED, "# 1\n"), dict.fromkeys(PROTECTED, "# 2\n")
    return make_repository(site, first, {**second, ".idea/new.xml": "<a/>\n"})


def hook_manager(site: Site) -> Path:
    hook = "#!/bin/sh\necho checked >> build/checks.txt\n"
    files = {".husky/pre-commit": hook, ".husky/_/.gitignore": "*\n", "package.json": "{}\n"}
    make_repository(site, files, {".husky/pre-commit": f"{hook}echo twice\n"})
    for branch in ("feature", "main"):
        site.git(site.work, "checkout", "-q", branch)
        (site.work / ".husky/pre-commit").chmod(0o755)
        commit(site, site.work, "Make the hook executable", {})
    site.git(site.work, "config", "core.hooksPath", ".husky")
    return site.work


def installed_hook(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    hook = site.work / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ngrep -rq FIXME src && exit 1\nexit 0\n")
    hook.chmod(0o755)
    return site.work


def clone_of_a_local_remote(site: Site) -> Path:
    source = make_repository(site, {}, {"README.md": "# Other\n"}, site.root / "source")
    shutil.rmtree(source)
    site.git(site.root, "clone", "-q", str(site.root / "remote.git"), str(site.work))
    site.git(site.work, "branch", "-q", "feature", "origin/feature")
    commit(site, site.work, "Add something", {"own.txt": "own\n"})
    return add_untracked(site.work)


def path_through_a_link(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    link = site.root / "link"
    link.symlink_to("work")
    return link


def path_with_spaces(site: Site) -> Path:
    place = site.work / "Møre og Romsdal — 2026"
    return make_repository(site, {"src/æ ø.txt": "å\n"}, {"src/æ ø.txt": "other\n"}, place)


def c_project(site: Site) -> Path:
    files = {
        "Makefile": "hello: src/hello.c\n\t$(CC) -o $@ $<\n\ncheck: hello\n\t./hello\n",
        "src/hello.c": '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n',
    }
    return make_repository(site, files, {"Makefile": "hello:\n\ttouch hello\n"})


def go_project(site: Site) -> Path:
    files = {
        "go.mod": "module example.invalid/hello\n\ngo 1.22\n",
        "cmd/hello/main.go": "package main\n\nfunc main() {}\n",
        "vendor/modules.txt": "# none\n",
    }
    return make_repository(site, files, {"cmd/hello/main.go": "package main\n"})


def rust_project(site: Site) -> Path:
    files = {
        "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
        ".cargo/config.toml": "[build]\njobs = 1\n",
        "src/main.rs": "fn main() {}\n",
    }
    return make_repository(site, files, {".cargo/config.toml": "[build]\njobs = 2\n"})


def packed_references(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    site.git(site.work, "tag", "v0.9")
    site.git(site.work, "pack-refs", "--all")
    site.git(site.work, "gc", "-q")
    return site.work


def shallow_clone(site: Site) -> Path:
    source = make_repository(site, {}, {"README.md": "# Other\n"}, site.root / "source")
    shutil.rmtree(source)
    url = f"file://{site.root}/remote.git"
    site.git(site.root, "clone", "-q", "--depth=1", "--no-single-branch", url, str(site.work))
    site.git(site.work, "branch", "-q", "feature", "origin/feature")
    return add_untracked(site.work)


def stash_entries(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    for text in ("one\n", "two\n"):
        write(site.work, {"src/main.txt": text, "new.txt": text})
        site.git(site.work, "stash", "push", "-q", "-u", "-m", text.strip())
    return add_untracked(site.work)


def changed_files(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    write(site.work, {"src/main.txt": "changed\n", "src/staged.txt": "staged\n", "a.log": "log\n"})
    site.git(site.work, "add", "src/staged.txt")
    (site.work / "CHANGES.md").unlink()
    return site.work


def modes_and_links(site: Site) -> Path:
    make_repository(site, {"run.sh": "#!/bin/sh\n", "data/fixed.txt": "fixed\n"}, {"run.sh": "#\n"})
    (site.work / "run.sh").chmod(0o755)
    for name, target in {"latest": "data", "page": "README.md", "gone": "missing"}.items():
        (site.work / name).symlink_to(target)
    commit(site, site.work, "Add links", {})
    (site.work / "data/fixed.txt").chmod(0o444)
    (site.work / "away").symlink_to(site.home / ".profile")
    return site.work


def large_file(site: Site) -> Path:
    make_repository(site, {}, {"README.md": "# Other\n"})
    (site.work / "model.bin").write_bytes(bytes(range(256)) * (20 * 4096))
    return site.work


def windows_lines(site: Site) -> Path:
    files = {"README.md": "# A project\r\n\r\nIt has a page.\r\n", ".gitattributes": "*.md -text\n"}
    return make_repository(site, files, {"README.md": "# Other\r\n", ".gitattributes": "* text\n"})


def project_below_home(site: Site) -> Path:
    place = site.home / "code/pages"
    return make_repository(site, {}, {"README.md": "# Other\n"}, place)


PROJECTS: dict[str, Callable[[Site], Path]] = {
    each.__name__.replace("_", " "): each
    for each in (
        empty_folder,
        plain_folder,
        empty_repository,
        small_repository,
        python_project,
        node_project,
        rails_project,
        laravel_project,
        phoenix_project,
        package_of_a_monorepo,
        linked_worktree,
        submodule,
        repository_with_submodule,
        tracked_protected_places,
        hook_manager,
        installed_hook,
        clone_of_a_local_remote,
        path_through_a_link,
        path_with_spaces,
        c_project,
        go_project,
        rust_project,
        packed_references,
        shallow_clone,
        stash_entries,
        changed_files,
        modes_and_links,
        large_file,
        windows_lines,
        project_below_home,
    )
}
"""Thirty of them, by name."""
