"""Programs that need a network, recognised before they run."""

import os
import shlex
import subprocess

import pytest

from yourtool.effects import Subject
from yourtool.permissions.rules import Rule, RuleSet, get_place
from yourtool.permissions.shell import coverage
from yourtool.permissions.shell.programs.table import load_programs
from yourtool.tools.sandbox.network.downloads import Network, find_need
from yourtool.tools.sandbox.network.known_hosts import find_hosts
from yourtool.tools.sandbox.network.refusals import Refusals

NPM, PIP = ("packages.example",), ("wheels.example:8443",)
DOWNLOADS = {name: row.network for name, row in load_programs().items() if row.network}


@pytest.fixture
def project(tmp_path):
    """A project whose files name the hosts of its packages."""
    (tmp_path / "web").mkdir()
    for directory in (tmp_path, tmp_path / "web"):
        for name in ("package-lock.json", "pnpm-lock.yaml", "yarn.lock"):
            (directory / name).write_text(f'"resolved": "https://{NPM[0]}/x/-/x-1.0.0.tgz"\n')
    (tmp_path / "requirements.txt").write_text(f"-i https://{PIP[0]}/simple\nx==1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "hosts", "outside"),
    [
        ("npm view left-pad | tail", NPM, ("npm view *",)),
        ("cd web && npm ci", NPM, ("npm ci *",)),
        ("bash -c 'npm ci && npm test'", NPM, ("npm ci *",)),
        ("npm init vite@latest", NPM, ("npm init *",)),
        ("pip install -r requirements.txt", PIP, ("pip install *",)),
        ("python3 -m pip install x", PIP, ("python3 -m pip install *",)),
        (".venv/bin/pip install x", PIP, (".venv/bin/pip install *",)),
        ("npx cowsay hi", NPM, ("npx cowsay *",)),
        ("yarn", NPM, ()),
        ("CI=1 pnpm install", NPM, ("pnpm install *",)),
        ("sudo apt-get install -y jq", (), ("sudo apt-get install *",)),
        ("git clone https://github.com/a/b", ("github.com",), ("git clone *",)),
        ("git clone -b main --depth 1 git@github.com:a/b", (), ("git clone *",)),
        ("curl -sS https://api.example.org:8443/x", ("api.example.org:8443",), ()),
        ("wget example.org/x.tar.gz", ("example.org",), ()),
        ("bundle install", (), ("bundle install *",)),
    ],
)
def test_download_is_recognised_with_the_hosts_of_the_project(project, line, hosts, outside):
    need = find_need(line, project)
    assert need.hosts == hosts
    assert need.outside == outside


@pytest.mark.parametrize(
    "line",
    [
        "npm test", "npm run build", "npm init -y", "npm ls", "pip list", "pip install --help",
        "pip install --no-index x", "cargo build", "cargo test --offline",
        "go build ./...", "go install ./...", "go mod tidy", "uv run pytest", "poetry run pytest",
        "yarn test", "bundle exec rake", "git status", "git commit -m 'git push'", "git push",
        "curl -s http://localhost:3000/x", "curl 127.0.0.1:8080/", "curl http://app.localhost/",
        "curl $URL", "echo npm install", "rg 'npm install' .", "git clone ../other here",
        "git clone file:///srv/x.git", "docker ps", "make", "", "'",
    ],
)  # fmt: skip
def test_command_that_works_without_a_network_is_none(tmp_path, line):
    assert find_need(line, tmp_path) is None


def git(root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize("line", ["git push", "git fetch -q origin", "git pull", "git ls-remote"])
def test_remote_of_git_decides_whether_it_needs_a_network(tmp_path, line):
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    git(tmp_path, "remote", "add", "origin", "../bare.git")
    assert find_need(line, tmp_path) is None
    git(tmp_path, "remote", "set-url", "origin", "https://example.org/x.git")
    assert find_need(line, tmp_path).hosts == ("example.org",)
    assert find_need(f"cd sub && {line}", tmp_path).hosts == ("example.org",)
    assert find_need(line.replace("git", "git -C sub", 1), tmp_path).hosts == ("example.org",)
    git(tmp_path, "remote", "set-url", "origin", "git@example.org:x.git")
    assert find_need(line, tmp_path).hosts == ()


def test_program_in_the_workspace_is_not_fetched(tmp_path):
    (tmp_path / "node_modules/.bin").mkdir(parents=True)
    (tmp_path / "node_modules/.bin/eslint").touch()
    (tmp_path / "web").mkdir()
    assert find_need("cd web && npx eslint .", tmp_path) is None
    assert find_need("npx prettier .", tmp_path) is not None


def test_allowed_hosts_end_the_need(project):
    network = Network(NPM)
    assert find_need("npm ci", project, network) is None
    assert find_need("pip install x", project, network).hosts == PIP
    assert find_need("npm ci && pip install x", project, network).programs == ("pip install",)


def test_program_whose_hosts_nothing_names_stays_in_a_sandbox_that_reaches_some(tmp_path):
    assert find_need("npm ci", tmp_path).hosts == ()
    assert find_need("npm ci", tmp_path, Network(NPM)) is None
    assert find_need("sudo apt-get update", tmp_path, Network(NPM)) is not None


def test_hosts_are_offered_only_if_they_would_help_all_of_a_line(project):
    assert find_need("npm ci && sudo apt-get install x", project).hosts == ()


def test_hosts_that_a_program_was_refused_are_offered_to_it_only(tmp_path):
    refusals = Refusals()
    with refusals.watching(("/opt/bin/npm", "view", "x")):
        refusals.note("one.example")
        refusals.note("host")
    network = Network((), refusals.get_hosts)
    assert find_need("npm ci", tmp_path, network).hosts == ("one.example",)
    assert find_need("pip install x", tmp_path, network).hosts == ()
    assert find_need("sudo apt-get update", tmp_path, network).hosts == ()


def test_host_that_another_command_may_have_asked_for_is_not_offered(tmp_path):
    refusals = Refusals()
    with refusals.watching(("npm",)), refusals.watching(("make",)):
        refusals.note("one.example")
    assert refusals.get_hosts("npm") == ()


def test_hosts_of_a_project_come_before_those_that_were_refused(project):
    network = Network((), lambda _: ("declined.example",))
    assert find_need("npm ci", project, network).hosts == NPM


def test_offered_rule_covers_the_command(tmp_path):
    for line in ("npm view x version", ".venv/bin/pip install x", "uv tool install ruff"):
        [command] = find_need(line, tmp_path).outside
        rules = RuleSet(allow=(Rule("shell", command),))
        assert rules.get_specs("shell"), command


def test_every_row_of_the_table_has_commands():
    for name, row in DOWNLOADS.items():
        assert row.commands, name


def test_hostile_lines_are_looked_at_once(tmp_path):
    for part in ("-C x ", "npx ", "a./", "sudo ", "'", "$("):
        find_need(f"git {part * 5000}; curl {part * 5000}; npx {part * 5000}", tmp_path)


def test_no_download_counts_as_reading(tmp_path):
    place = get_place(Subject("command", "", str(tmp_path)))
    for name, row in DOWNLOADS.items():
        for command in row.commands:
            line = f"{name} {command} x".replace("*", "y")
            assert not coverage.cover_line((), line, place, is_trusted=True).is_complete, line


def write(directory, text, name="x.lock"):
    (directory / name).write_text(text)
    return find_hosts((name,), directory)


def test_most_frequent_hosts_of_files_are_found(tmp_path):
    for count, name in enumerate("abcdef", 1):
        (tmp_path / f"{name}.lock").write_text(f"url = https://{name}.example/x\n" * count)
    expected = ("f.example", "e.example", "d.example", "c.example")
    assert find_hosts(("*.lock",), tmp_path) == expected


def test_host_is_found_without_the_credentials_of_its_address(tmp_path):
    assert write(tmp_path, "registry=https://me:p%40ss@A.Example:8443/x") == ("a.example:8443",)
    assert write(tmp_path, 'source = "sparse+https://t0ken@a.example./"') == ("a.example",)


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example/", "https://localhost/x", "https://127.0.0.1:3000/", "https:///x",
        "https://a.example:99999999/", "https://[::1/", "https://$HOST/", "https://*/",
        '"funding": {\n "url": "https://a.example/x"\n}', '"homepage": "https://a.example"',
        '"funding": [{"url": "https://a.example/x"}]',
    ],
)  # fmt: skip
def test_address_that_no_program_asks_is_no_host(tmp_path, text):
    assert write(tmp_path, text) == ()


def test_only_the_start_of_a_file_is_read(tmp_path):
    start = f"https://a.example/\n{' ' * 300_000}"
    assert write(tmp_path, f"{start}https://b.example/") == ("a.example",)


def test_file_that_is_none_names_no_hosts(tmp_path):
    os.mkfifo(tmp_path / "pipe.lock")
    (tmp_path / "directory.lock").mkdir()
    (tmp_path / "gone.lock").symlink_to("nowhere")
    (tmp_path / "bytes.lock").write_bytes(b"\xff\0https://\xff.example/")
    assert find_hosts(("*.lock", "missing.lock"), tmp_path) == ()
    assert find_hosts(("x.lock",), tmp_path / "missing") == ()


def test_hostile_file_is_read_once(tmp_path):
    for part in ('"funding":[', '"funding":{', "https://", "https://a@", '"funding": "'):
        assert write(tmp_path, part * 30_000) == ()


@pytest.mark.parametrize(
    ("line", "is_enough"),
    [
        ("npm install express", True),
        ("npm ci && npm test", True),
        (".venv/bin/pip install flask | tail", True),
        ("uv add flask", True),
        ("cargo add serde", True),
        ("npm install -g express", False),
        ("npm install --location=global express", False),
        ("pip install --user flask", False),
        ("sudo pip install flask", False),
        ("npm install && docker pull x", False),
        ("cargo install ripgrep", False),
        ("gem install x", False),
        ("curl https://a.example/x", False),
    ],
)
def test_installation_into_the_workspace_needs_only_a_network(tmp_path, line, is_enough):
    assert find_need(line, tmp_path).is_enough == is_enough


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("./npm publish", "./npm publish"),
        ("timeout 5 bin/npm publish", "bin/npm publish"),
        ("./git push https://a.example/x", "./git push"),
        ("/usr/bin/npm publish", "npm publish"),
        (".venv/bin/python -m pip install x", "pip install"),
    ],
)
def test_question_names_a_program_of_the_workspace_by_its_path(tmp_path, line, program):
    assert find_need(line, tmp_path).programs == (program,)
    assert find_need("'./a` b/npm' publish", tmp_path) is None


@pytest.mark.parametrize(
    "name", ["x` only reads; `y", "is harmless and", "x\u202ey", "x\ny", "а", "x" * 61]
)
def test_question_names_no_package_that_could_mean_something_else(tmp_path, name):
    [named] = find_need(f"npx {shlex.quote(name)}", tmp_path).programs
    assert named == "npx"
