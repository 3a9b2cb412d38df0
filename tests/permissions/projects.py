"""Real projects with dependencies, in which reading commands are judged."""

import os
import subprocess
import venv

CERTIFICATES = "# A bundle\n" + 2 * (
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
)
PRIVATE_KEY = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"


def write(root, *names, **contents):
    """Write files; those in `names` have one line."""
    for name, text in {**dict.fromkeys(names, "x\n"), **contents}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def run_git(root, *words):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *identity, *words], cwd=root, env=environment, check=True, capture_output=True
    )


def commit_all(root):
    """Make a repository of a directory, with one commit and a change after it."""
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "Start")
    (root / "README.md").write_text("changed\n")


def make_python_project(root):
    """With a virtual environment that nothing ignores, and a bundle of certificates."""
    write(root, "README.md", "src/app.py", "tests/test_app.py", "tests/data/ca.pem.txt")
    write(root, **{"src/certs/ca.pem": CERTIFICATES})
    commit_all(root)
    venv.create(root / ".venv", with_pip=False)
    packages = next((root / ".venv/lib").iterdir()) / "site-packages"
    write(
        packages,
        "botocore/credentials.json",
        "pip/_vendor/certifi/cacert.pem",
        "x/tests/server.key",
    )
    write(root / ".venv", "share/.env")


def make_node_project(root):
    """With a tree of packages that contain keys of their tests."""
    write(root, "README.md", "package.json", "src/app.py", "tests/test_app.py", ".env.example")
    write(root, **{".gitignore": "node_modules/\n.env\n", ".husky/pre-commit": "npm test\n"})
    commit_all(root)
    run_git(root, "config", "core.hooksPath", ".husky")
    for name in ("agent", "tls"):
        write(root / "node_modules" / name, "index.js", "test/keys/server.key", ".npmrc", ".env")


def make_rails_project(root):
    """With a directory `config`, and gems in the project."""
    write(root, "README.md", "Gemfile", "config/routes.rb", "config/database.yml", "src/app.py")
    write(root, "config/credentials.yml.enc", "tests/test_app.py")
    write(root, **{".gitignore": "/vendor/bundle\n/log/*\n"})
    commit_all(root)
    write(root, "vendor/bundle/ruby/3.2.0/gems/openssl/test/key.pem", "log/development.log")


def make_monorepo_package(root):
    """With packages that have their own environments and Go modules."""
    write(root, "README.md", "src/app.py", "tests/test_app.py")
    write(root, "packages/api/app.py", "packages/web/index.ts", "go/vendor/modules.txt")
    write(root, "go/vendor/example.org/tls/testdata/id_rsa", "php/vendor/autoload.php")
    write(root, "php/vendor/aws/credentials.json")
    commit_all(root)
    venv.create(root / "packages/api/env", with_pip=False)
    write(root, "packages/api/env/lib/cert.key", "packages/web/node_modules/a/.env")


PROJECTS = (make_python_project, make_node_project, make_rails_project, make_monorepo_package)
READING = r"""
grep -rn "def " src | head -20
grep -rn "def " .
grep -rn foo
grep -rn "def " --include=*.py .
grep -c x src/app.py tests/test_app.py
find . -name "*.py"
find . -name "*.py" | wc -l
find . -type f -not -path "./.venv/*" | sort | head
rg foo
rg -n "def " src
rg -l foo -g '*.py'
rg --files
rg --files | head
git grep foo
git grep -n "def " -- src
git grep -n x HEAD
ls
ls -la
ls -R src
tree -L 2
cat src/app.py
cat src/app.py | grep def | sort | uniq -c
head -50 src/app.py
tail -n 20 README.md
sed -n '1,20p' src/app.py
wc -l src/*.py
file src/app.py
stat README.md
du -sh src
diff src/app.py tests/test_app.py
diff -r src tests
git status
git diff
git diff HEAD --stat
git log --oneline -5
git log -p -1
git show HEAD
git blame src/app.py
git ls-files
git branch -a
""".strip().splitlines()
