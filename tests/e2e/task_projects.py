"""Five small projects in five languages, in which models have tasks.

Each one has two faults that its test finds, a long list of changes, a folder of notes, and a server
with a program that asks it. `python3`, `bash` and `awk` run everything.
"""

import os
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

CODENAME, CODENAME_LINE, CHANGE_LINES = "Heron", 431, 600
OWNER, NOTE = "Ines Ahlgren", "notes/09.md"


class Fault(Struct, frozen=True):
    """A fault of a project, as the edit that repairs it."""

    path: str
    old: str
    new: str


class Project(Struct, frozen=True):
    """A project with its faults in it."""

    language: str
    files: dict[str, str]
    test: str
    """The command that fails until both faults are repaired."""
    faults: tuple[Fault, Fault]

    @property
    def repaired(self) -> dict[str, str]:
        """The files without the faults."""
        files = dict(self.files)
        for fault in self.faults:
            assert files[fault.path].count(fault.old) == 1
            files[fault.path] = files[fault.path].replace(fault.old, fault.new)
        return files


def build_repository(project: Project, path: Path) -> None:
    """Write a project into a new git repository."""
    files = {**project.files, **_SERVER, "CHANGES.txt": _changes(), **_notes()}
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, "utf-8")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    day = "2026-01-01T00:00:00Z"
    dates = {**os.environ, "GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *command], cwd=path, env=dates, check=True)


def python_path() -> str:
    """Return a `PATH` on which `python3` is the interpreter of the tests."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def _changes() -> str:
    lines = [f"{n:03} release {n // 60}.{n % 60}: repairs {n % 7} faults" for n in range(1, 601)]
    lines[CODENAME_LINE - 1] = f"431 release 7.11, codename {CODENAME}: a new report"
    return "\n".join(lines) + "\n"


def _notes() -> dict[str, str]:
    notes = {f"notes/{n:02}.md": f"# Note {n}\n\nThe part {n} is finished.\n" for n in range(1, 13)}
    notes[NOTE] += f"\nIts owner is {OWNER}.\n"
    return notes


_SERVER = {
    ".gitignore": "__pycache__/\n*.log\nport\n",
    "serve.py": '''\
"""Answer each request with a text that no other start of this server answers."""

import os
import secrets
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

ANSWER = secrets.token_hex(8)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with open("asked.log", "a") as log:
            print(ANSWER, file=log)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ANSWER.encode())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
with open("started.log", "a") as log:
    print(os.getpid(), file=log)
Path("port").write_text(str(server.server_port))
print("The server is ready.", flush=True)
server.serve_forever()
''',
    "ask.py": '''\
"""Print the answer of the server, which gets two seconds to start."""

import sys
import time
import urllib.request
from pathlib import Path

for _ in range(40):
    try:
        port = Path("port").read_text()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}") as answer:
            print(answer.read().decode())
        break
    except OSError as error:
        problem = error
        time.sleep(0.05)
else:
    sys.exit(f"The server does not answer: {type(problem).__name__}")
''',
}

PYTHON = Project(
    "Python",
    {
        "ledger/__init__.py": "",
        "ledger/account.py": '''\
class Account:
    """Money of one owner, in cents."""

    def __init__(self, owner):
        self.owner = owner
        self.balance = 0
        self.entries = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("a deposit is positive")
        self.balance += amount
        self.entries.append(amount)

    def withdraw(self, amount):
        if amount <= 0:
            raise ValueError("a withdrawal is positive")
        if amount < self.balance:
            self.balance -= amount
            self.entries.append(-amount)
        else:
            raise ValueError("the account is empty")
''',
        "ledger/report.py": """\
def format_report(account):
    lines = []
    for number, entry in enumerate(account.entries):
        sign = "-" if entry < 0 else "+"
        lines.append(f"{number}: {sign}{abs(entry)}")
    return "\\n".join([*lines, f"total: {account.balance}"])
""",
        "check.py": """\
from ledger.account import Account
from ledger.report import format_report

account = Account("Mara")
account.deposit(500)
account.withdraw(500)
assert account.balance == 0
assert format_report(account) == "1: +500\\n2: -500\\ntotal: 0", "entries count from 1"
print("all checks pass")
""",
    },
    "python3 check.py",
    (
        Fault(
            "ledger/account.py",
            "        if amount < self.balance:\n            self.balance -= amount\n",
            "        if amount <= self.balance:\n            self.balance -= amount\n",
        ),
        Fault(
            "ledger/report.py",
            "    for number, entry in enumerate(account.entries):\n"
            '        sign = "-" if entry < 0 else "+"\n',
            "    for number, entry in enumerate(account.entries, 1):\n"
            '        sign = "-" if entry < 0 else "+"\n',
        ),
    ),
)
SHELL = Project(
    "shell",
    {
        "lib/names.sh": """\
# Prints the name of a copy of the file $1 with the number $2.
copy_name() {
	local base=${1##*/}
	if [[ $base == *.* ]]; then
		printf '%s-%s.%s' "${base%.*}" "$2" "${base#*.}"
	else
		printf '%s-%s' "$base" "$2"
	fi
}
""",
        "lib/numbers.sh": """\
# Prints the largest of its arguments.
largest() {
	local most=$1 each
	for each in "$@"; do
		if [[ $each > $most ]]; then
			most=$each
		fi
	done
	printf '%s' "$most"
}
""",
        "check.sh": """\
. lib/names.sh
. lib/numbers.sh
expect() {
	if [[ $1 != "$2" ]]; then
		echo "expected $2, got $1"
		exit 1
	fi
}
expect "$(copy_name a/plan.tar.gz 2)" plan.tar-2.gz
expect "$(copy_name a/plan 2)" plan-2
expect "$(largest 9 10 8)" 10
echo "all checks pass"
""",
    },
    "bash check.sh",
    (
        Fault(
            "lib/names.sh",
            "\tif [[ $base == *.* ]]; then\n"
            '\t\tprintf \'%s-%s.%s\' "${base%.*}" "$2" "${base#*.}"\n',
            "\tif [[ $base == *.* ]]; then\n"
            '\t\tprintf \'%s-%s.%s\' "${base%.*}" "$2" "${base##*.}"\n',
        ),
        Fault(
            "lib/numbers.sh",
            '\tfor each in "$@"; do\n\t\tif [[ $each > $most ]]; then\n',
            '\tfor each in "$@"; do\n\t\tif ((each > most)); then\n',
        ),
    ),
)
_CHECK_SQL = """\
import sqlite3
from pathlib import Path

database = sqlite3.connect(":memory:")
database.executescript(Path("schema.sql").read_text())
loans = [
    ("Mara", "2026-01-01", "2026-01-09"),
    ("Mara", "2026-01-02", None),
    ("Olaf", "2026-01-03", None),
]
database.executemany("INSERT INTO loans VALUES (?, ?, ?)", loans)
open_loans = database.execute(Path("open.sql").read_text()).fetchall()
assert open_loans == [("Olaf", "2026-01-03"), ("Mara", "2026-01-02")], open_loans
counts = database.execute(Path("counts.sql").read_text()).fetchall()
assert counts == [("Mara", 2), ("Olaf", 1)], counts
print("all checks pass")
"""
SQL = Project(
    "SQL",
    {
        "schema.sql": "CREATE TABLE loans (reader TEXT, lent TEXT, returned TEXT);\n",
        "open.sql": """\
-- The loans that are open, the latest first.
SELECT reader, lent
  FROM loans
 WHERE returned IS NOT NULL
 ORDER BY lent DESC;
""",
        "counts.sql": """\
-- How many books each reader has lent.
SELECT reader, count(returned)
  FROM loans
 GROUP BY reader
 ORDER BY reader;
""",
        "check.py": _CHECK_SQL,
    },
    "python3 check.py",
    (
        Fault(
            "open.sql",
            "  FROM loans\n WHERE returned IS NOT NULL\n",
            "  FROM loans\n WHERE returned IS NULL\n",
        ),
        Fault(
            "counts.sql",
            "SELECT reader, count(returned)\n  FROM loans\n",
            "SELECT reader, count(*)\n  FROM loans\n",
        ),
    ),
)
AWK = Project(
    "AWK",
    {
        "slow.awk": """\
# Prints the paths of the requests that took more than `most` milliseconds.
BEGIN { FS = "\\t" }
{
    path = $2
    milliseconds = $3
    if (milliseconds > most)
        print milliseconds
}
""",
        "hosts.awk": """\
# Prints how many requests each host has made.
BEGIN { FS = "\\t" }
{
    count[$2]++
    total++
}
END {
    for (host in count)
        print host, count[host]
    print "all", total
}
""",
        "requests.tsv": "alpha\t/plan\t20\nbeta\t/report\t700\nalpha\t/report\t800\n",
        "check.sh": """\
slow=$(awk -v most=750 -f slow.awk requests.tsv)
hosts=$(awk -f hosts.awk requests.tsv | sort | tr '\\n' ' ')
[ "$slow" = /report ] || { echo "slow requests: $slow"; exit 1; }
[ "$hosts" = "all 3 alpha 2 beta 1 " ] || { echo "hosts: $hosts"; exit 1; }
echo "all checks pass"
""",
    },
    "bash check.sh",
    (
        Fault(
            "slow.awk",
            "    if (milliseconds > most)\n        print milliseconds\n",
            "    if (milliseconds > most)\n        print path\n",
        ),
        Fault("hosts.awk", "{\n    count[$2]++\n", "{\n    count[$1]++\n"),
    ),
)
HTML = Project(
    "HTML",
    {
        "index.html": """\
<!doctype html>
<title>The “Kestrel” library</title>
<ul>
  <li><a href="open.html">Who’s got which book – today</a></li>
  <li><a href="house.html">The “house rules”</a>
</ul>
""",
        "open.html": """\
<!doctype html>
<title>Who’s got which book</title>
<table>
  <tr><th>reader</th><th>the book’s title</th></tr>
  <tr><td>Mara</td><td>“Plain Words” – second edition</th></tr>
</table>
""",
        "check.py": """\
import sys
from html.parser import HTMLParser
from pathlib import Path


class Checker(HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag not in ("title",):
            open_tags.append(tag)

    def handle_endtag(self, tag):
        if tag != "title" and open_tags.pop() != tag:
            sys.exit(f"{page}: line {self.getpos()[0]} closes {tag}, which is not open")


for page in ("index.html", "open.html"):
    open_tags = []
    Checker().feed(Path(page).read_text("utf-8"))
print("all checks pass")
""",
    },
    "python3 check.py",
    (
        Fault(
            "index.html",
            '  <li><a href="house.html">The “house rules”</a>\n',
            '  <li><a href="house.html">The “house rules”</a></li>\n',
        ),
        Fault(
            "open.html",
            "  <tr><td>Mara</td><td>“Plain Words” – second edition</th></tr>\n",
            "  <tr><td>Mara</td><td>“Plain Words” – second edition</td></tr>\n",
        ),
    ),
)
PROJECTS = (PYTHON, SHELL, SQL, AWK, HTML)
