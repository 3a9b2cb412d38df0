"""Paths in the arguments of any program, which `*` of a rule covers only in the workspace."""

import subprocess

import pytest

from yourtool.permissions.shell.coverage import covers_line
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.specs import parse_spec


@pytest.fixture
def place(tmp_path):
    root = (tmp_path / "work").resolve()
    for name in ("src/lib", "build/tmp", "hooks"):
        (root / name).mkdir(parents=True)
    (root / "src/app.py").write_text("x\n")
    (root / "server.key").write_text("x\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "config", "core.hooksPath", "hooks"], check=True)
    (root / "out").symlink_to("..")
    (root / "linked").symlink_to(".git")
    return Place(root, root)


def covers(place, line):
    """Return True if a rule for the program with any arguments covers a line."""
    return covers_line([parse_spec(f"{line.split()[0]} *")], line, place)


@pytest.mark.parametrize(
    "line",
    [
        "unknown @x", "unknown -q @x", "unknown --data @x", "unknown --data=@x", "unknown -sSd@x",
        "unknown -F a=@x", "pytest @x", "mypy @x", "tsc @x", "ruff check @x", "javac @x", "gcc @x",
        "gcc -Wl,@x a.c", "rustc @x", "7z a b.7z @x", "npx tsc @x", "yarn tsc @x",
        "npm test -- @x",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_star_covers_no_file_of_further_arguments(place, line):
    spec = (
        " ".join(line.split()[:2]) if line.split()[0] in ("npx", "ruff", "npm") else line.split()[0]
    )
    assert not covers_line([parse_spec(f"{spec} *")], line, place)


@pytest.mark.parametrize(
    "line",
    [
        "unknown file:///etc/passwd", "unknown FILE:/etc/passwd", "unknown --from=file:../x",
        "unknown jar:file:/etc/x", "pnpm add x@file:../y",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_star_covers_no_address_of_a_file(place, line):
    assert not covers(place, line)


@pytest.mark.parametrize(
    "line",
    [
        "unknown ../x", "unknown --out ../x", "unknown --out=/etc/x", "unknown '~/.ssh/x'",
        "unknown --in=@/etc/passwd", "unknown --in '@~/x'", "unknown a=b=/etc/x", "unknown out",
        "unknown --report=xml:/etc/x", "unknown type=local,dest=/etc", "unknown -xo/etc/x",
        "unknown -o../x", "unknown -xo../x", "unknown -xo~/x", "unknown 'merge /etc/passwd'",
        "unknown server.key", "unknown --key=server.key", "unknown *.key", "unknown .env",
        "sudo make PREFIX=/etc",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_star_covers_no_path_out_of_the_workspace_or_to_credentials(place, line):
    assert not covers(place, line)


@pytest.mark.parametrize(
    "line",
    [
        "pytest --junitxml=.git/config", "pytest --log-file .git/hooks/x",
        "pytest --debug=AGENTS.md",
        "pytest --cov-report=xml:.git/config", "pytest --junitxml=linked/config",
        "pytest --junitxml=hooks/pre-commit", "tsc --outDir .git/hooks", "tsc -outDir .git/hooks",
        "cargo build --artifact-dir .git/hooks", "cargo build --out-dir=.git/hooks",
        "ruff check -o.git/config", "ruff check -qoAGENTS.md", "eslint --cache-location .git/x",
        "prettier --write AGENTS.md", "go test -coverprofile=AGENTS.md", "gcc -o.git/hooks/x a.c",
        "rsync --log-file=AGENTS.md a b", "rsync a .git/hooks", "make OUT=.git/hooks",
        "docker save -o AGENTS.md x", "docker build --iidfile .git/x .", "7z x a.7z -o.git/hooks",
        "unzip a.zip -d .git/hooks", "unknown --anything .vscode/tasks.json",
        "unknown --exclude src .git/config", "unknown --ignore=x .git/config",
        "pip list --log AGENTS.md", "mypy --junit-xml AGENTS.md", "gh pr list > .git/config",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_star_covers_no_argument_that_is_a_protected_place(place, line):
    assert not covers(place, line)


@pytest.mark.parametrize(
    "line",
    [
        "unknown src/app.py", "unknown --out src/new", "unknown --out=build", "unknown -Isrc/lib",
        "unknown -Lbuild/tmp", "unknown -j4", "unknown https://example.org/x", "unknown /dev/null",
        "unknown --url=https://example.org/etc", "unknown 'a, b: c'", "unknown credentials",
        "unknown --exclude .git", "unknown --exclude=.git", "unknown --ignore .git src",
        "pytest -k 'a/b and not c' --ignore=.git", "docker build -t a:b .",
        "docker ps --format '{{.ID}}: {{.Names}}'",
        "pnpm --filter @scope/x build", "playwright test --grep @smoke",
        "yarn workspace @scope/x test", "turbo run test --filter=@scope/x",
        "kubectl get pods -nkube-system", "rsync -av --exclude .git src/ build/",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_star_covers_ordinary_values_and_paths(place, line):
    assert covers(place, line)


def test_command_on_another_machine_has_paths_of_that_machine(place):
    spec = parse_spec("ssh example.org ls *")
    assert covers_line([spec], "ssh example.org ls /var/log", place)
