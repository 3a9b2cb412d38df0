"""Each row of the table: what it denies, covers and writes."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from yourtool.permissions.shell.coverage import covers_line
from yourtool.permissions.shell.denials import Denial, find_denial
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.programs import table
from yourtool.permissions.shell.specs import parse_spec
from yourtool.permissions.shell.writes import find_protected_write

ROWS = table.load_programs()
RUNNERS = sorted({name for name, row in ROWS.items() if row.runs_others} - {"function"})
LAUNCHERS = sorted(
    {name for name, row in ROWS.items() if {"command", "shell"} & {*row.runs}} - {"fd", "find"}
)
"""Those whose arguments are a command without an option for it."""
WRITERS = {
    "arguments": "a .envrc",
    "compressed": "-x .envrc",
    "copies": "a .envrc",
    "first": "a .envrc b",
    "in place": "-i x .envrc",
    "last": "a .envrc",
}
DENIED = parse_spec("rm *")


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve()
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".envrc").touch()
    return root


def test_no_program_has_two_rows():
    count = Counter[str]()
    for file in Path(table.__file__).parent.glob("*.toml"):
        for name, row in tomllib.loads(file.read_text("utf-8")).items():
            count.update((name, *row.get("also", ())))
    assert [name for name, rows in count.items() if rows > 1] == []


@pytest.mark.parametrize("name", RUNNERS)
@pytest.mark.req("R-CONF-04", "T5")
def test_deny_rule_holds_through_every_program_that_runs_others(name):
    for line in (f"{name} rm a", f"{name} -x y rm a", f"{name} 'rm a'", f"{name} -x 'cp a; rm b'"):
        assert find_denial([DENIED], line) is not Denial.NONE, line


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.req("R-CONF-04", "R-CONF-08")
def test_star_of_a_program_that_runs_others_covers_no_other_program(name, root):
    words = name.split()
    for size in range(1, len(words) + 1):
        spec = parse_spec(f"{' '.join(words[:size])} *")
        for line in (f"{name} rm a", f"{name} -- rm a", f"{name} -x rm a", f"{name} 'rm a'"):
            assert spec is None or not covers_line([spec], line, Place(root, root)), line


@pytest.mark.parametrize("name", sorted(name for name, row in ROWS.items() if row.writes))
@pytest.mark.req("R-TOOL-07")
def test_written_argument_of_every_program_is_found(name, root):
    line = f"{name} {WRITERS[ROWS[name].writes]}"
    assert find_protected_write(line, root) is not None, line
    assert find_protected_write(line.replace(".envrc", "other"), root) is None, line


@pytest.mark.parametrize("name", sorted(name for name, row in ROWS.items() if row.output))
@pytest.mark.req("R-TOOL-07")
def test_value_of_every_option_for_a_written_file_is_found(name, root):
    for option in ROWS[name].output:
        forms = ("-{} {}", "-q{} {}", "-{}{}") if len(option) == 1 else ("--{} {}", "--{}={}")
        for form in forms:
            line = f"{name} {form.format(option, '.envrc')} a"
            assert find_protected_write(line, root) is not None, line


@pytest.mark.parametrize("name", sorted(name for name, row in ROWS.items() if row.here))
@pytest.mark.req("R-TOOL-07")
def test_program_that_names_no_file_writes_where_it_runs(name, root):
    option = next(each for each in ROWS[name].here)
    given = "a" if option == "*" else f"-{option}" if len(option) == 1 else f"--{option}"
    line = f"cd .git/hooks && {name} {given} https://example.org/x"
    assert find_protected_write(line, root) is not None
    assert find_protected_write(line.replace("cd .git/hooks && ", ""), root) is None


@pytest.mark.parametrize(
    "line",
    [
        "bwrap --dev-bind / / rm x", "tmux new-session 'rm x'", "tmux send-keys 'rm x' Enter",
        "screen -dm rm x", "git bisect run rm x", "git -C a bisect run rm x", "npm exec -- rm x",
        "git submodule foreach 'rm x'", "git submodule --quiet foreach --recursive rm x",
        "npx rm x", "pnpm dlx rm x", "yarn dlx rm x", "bunx rm x", "uv run --with a rm x",
        "uv --quiet run rm x", "uv tool run rm", "uvx rm x", "pipx run rm x", "poetry run rm x",
        "pdm run rm x", "hatch run rm x", "rye run rm x", "conda run -n a rm x",
        "nix develop -c rm x", "nix-shell --run 'rm x'", "nix-shell -p a --run 'rm x'",
        "direnv exec . rm x", "mise exec node -- rm x", "mise x -- rm x", "asdf exec rm x",
        "bundle exec rm x", "dotenv -- rm x", "dotenv -f .env rm x", "op run -- rm x",
        "doppler run -- rm x", "chronic rm x", "ts rm x", "echo a | entr rm x", "entr -s 'rm x'",
        "watchexec -- rm x", "watchexec 'rm x'", "hyperfine 'rm x'", "parallel rm ::: x",
        "flock f rm x", "flock f -c 'rm x'", "unshare -r rm x", "nsenter -t 1 rm x",
        "setpriv --reuid 1 rm x", "firejail rm x", "proot -r / rm x", "strace -f rm x",
        "ltrace rm x", "gdb --args rm x", "valgrind rm x", "perf stat rm x", "rr record rm x",
        "script -c 'rm x' f", "ssh localhost rm x", "ssh localhost 'rm x'", "docker run a rm x",
        "docker exec a rm x", "podman exec a rm x", "docker compose exec a rm x",
        "docker-compose exec a rm x", "ip netns exec a rm x", "lxc exec a -- rm x",
        "systemd-run --user rm x", "fd -x rm", "aws-vault exec a -- rm x", "cargo watch -s 'rm x'",
        "at now <<< 'rm x'",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04", "T5")
def test_denied_command_behind_a_wrapper_is_denied(line):
    assert find_denial([DENIED], line) is Denial.DENIED


@pytest.mark.parametrize(
    "line",
    [
        "expect -c 'spawn rm x'", "make -f -", "cat f | python", "cat f | python3 -", "node -",
        "cat f | crontab -", "python /dev/stdin", "lldb -o 'platform shell rm x'",
        "git rebase --exec 'rm x' main", "rg --pre rm a", "sort --compress-program=rm a",
        "man -P rm ls", "nodemon --exec 'rm x'", "tar -I rm -cf a b", "unknown rm x",
        "unknown --run 'rm x'", "./wrap.sh /bin/rm x", "just --shell rm", "rsync -e 'rm x' a b",
        "go vet -vettool rm", "unknown 'a; rm x'", "npx r*", "timeout 5 /bin/?m x", "uv run [r]m x",
        "timeout 5 p?thon -c 'rm x'", "timeout 5 p*", "npx rm*", "fc -s rm",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04", "T5")
def test_denied_command_that_a_program_may_run_needs_an_approval(line):
    assert find_denial([DENIED], line) is not Denial.NONE


@pytest.mark.parametrize(
    "line",
    [
        "python a.py", "python -m pytest", "node --version", "make -j4", "crontab -l", "uv sync",
        "uv add remove", "docker ps", "npm install", "npm run rm", "git bisect start",
        "git submodule update", "nix build", "mise install node", "conda install a", "unknown x",
        "unknown 'a b'", "unknown --rm x", "which rm", "killall rm", "help rm", "man rm", "cat rm",
        "pip install rm",
        "go vet ./...", "perf list", "hatch build", "npx tsc src/*.ts", "uv run pytest tests/*.py",
        "timeout 5 pytest test_*.py", "ls | xargs wc -l src/*.c",
    ],
)  # fmt: skip
def test_ordinary_command_of_such_a_program_is_not_denied(line):
    assert find_denial([DENIED], line) is Denial.NONE


@pytest.mark.parametrize(
    "line",
    [
        "sed -n 'w .envrc' a", "sed -n '/x/w.envrc' a", "sed 's/a/b/gw .envrc' a",
        "awk '{print > \".envrc\"}' a", "gawk '{print | \"tee .envrc\"}' a", "zip -r .envrc a",
        "tar cf .envrc a", "tar -czf .envrc a", "tar --create --file=.envrc a", "7z a .envrc b",
        "sort -o .envrc a", "split a .envrc", "csplit -f .envrc a 1", "tee .envrc",
        "dd if=a of=.envrc", "truncate -s 0 .envrc", "install a .envrc", "rsync a .envrc",
        "patch -o .envrc a", "curl -o .envrc https://a.example", "curl -O https://a.example/.envrc",
        "curl -sSLO https://a.example/.envrc", "curl -D .envrc https://a.example",
        "curl --remote-name https://a.example/.envrc", "wget -O .envrc https://a.example",
        "wget https://a.example/.envrc", "ln -sf a .envrc", "unzip -d .git/hooks a",
        "openssl req -new -out .envrc", "gpg -o .envrc -d a", "gpg --output .envrc -d a",
        "ffmpeg -i a .envrc", "convert a .envrc", "magick a .envrc", "pandoc a -o .envrc",
        "git archive -o .envrc HEAD", "git format-patch -o .git/hooks HEAD~1",
        "git bundle create .envrc HEAD", "uniq a .envrc", "xxd -r a .envrc", "tcpdump -w .envrc",
        "nmap -oN .envrc a", "ssh-keygen -f .envrc", "docker cp a:/x .envrc", "yq -i .a .envrc",
        "uv run cp a .envrc", "git bisect run cp a .envrc", "tmux new 'cp a .envrc'",
        "watch 'echo > .envrc'", "hyperfine 'cp a .envrc'", "npm exec -- cp a .envrc",
        "sudo -D .git/hooks tar xf a", "strace -o .envrc ls", "script .envrc",
        "sed -f a.sed -i .envrc", "pg_dump --file .envrc a",
    ],
)  # fmt: skip
@pytest.mark.req("R-TOOL-07")
def test_write_of_a_program_to_a_protected_place_is_found(line, root):
    assert find_protected_write(line, root) is not None


@pytest.mark.parametrize(
    "line",
    [
        "zip a.zip b", "tar tf .envrc", "sed -n 's/a/b/p' .envrc", "awk '{print $1}' .envrc",
        "sort .envrc", "uniq -c", "curl https://a.example/x", "ffmpeg -i .envrc a.mp4",
        "convert .envrc b.png", "pandoc .envrc -o b", "go test -count=1 .envrc",
        "xxd .envrc a", "git log --oneline .envrc", "docker cp .envrc a:/x",
    ],
)  # fmt: skip
def test_reading_of_a_protected_place_is_no_write(line, root):
    assert find_protected_write(line, root) is None
