"""Real repositories, and what is in them."""

import stat
import subprocess

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
PLACES = {
    "AGENTS.md": "rules\n",
    ".vscode/tasks.json": '{"tasks": []}\n',
    ".github/workflows/ci.yml": "on: push\n",
    ".husky/pre-commit": "npm test\n",
}


def git(directory, *arguments):
    """Run git as a command of the model does."""
    done = subprocess.run(
        ("git", *IDENTITY, *arguments), cwd=directory, check=True, capture_output=True
    )
    return done.stdout.decode()


def shell(directory, line):
    """Run a line as a command of the model does."""
    settings = " ".join(IDENTITY)
    line = line.replace("git ", f"git {settings} ")
    subprocess.run(("sh", "-ec", line), cwd=directory, check=True, capture_output=True)


def write(root, path, text, mode=0o644):
    """Write a file with its directories."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    (root / path).chmod(mode)


def build(root):
    """Return a repository with protected places."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for path, text in PLACES.items():
        write(root, path, text, 0o755 if path.startswith(".husky") else 0o644)
    write(root, "src/a.py", "a = 1\n")
    commit(root, "start")
    return root


def commit(root, subject):
    """Commit all files."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", subject)


def look(root):
    """Return kind, mode and content of everything in a directory except the work of git."""
    found = {}
    for path in root.rglob("*"):
        relative = str(path.relative_to(root))
        inner = relative.partition(".git/")[2]
        if inner and not inner.startswith(("config", "hooks", "info", "commondir")):
            continue
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[relative] = "link", path.readlink()
        elif stat.S_ISREG(status.st_mode):
            found[relative] = stat.S_IMODE(status.st_mode), path.read_bytes()
        else:
            found[relative] = stat.S_IFMT(status.st_mode)
    return found
