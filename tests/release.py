"""Wheel and sdist of a version, built twice and tried in an empty environment.

`make release` runs `python -m tests.release DIRECTORY` and needs a clone in which everything is
committed. Only the trial uses a network: pip installs the dependencies from the index that its
settings name.
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from yourtool import __version__

ROOT = Path(__file__).parents[1]
CACHES = (
    "__pycache__",
    ".pyc",
    ".venv/",
    ".hypothesis/",
    ".pytest_cache/",
    ".ruff_cache/",
    "dist/",
)


class ReleaseError(Exception):
    """A reason for which the files cannot be released."""


def build(source: Path, directory: Path, epoch: str) -> list[Path]:
    """Write the wheel and the sdist of `source`; the same commit gives the same bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", directory],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        capture_output=True,
    )
    names = (f"yourtool-{__version__}-py3-none-any.whl", f"yourtool-{__version__}.tar.gz")
    return [directory / name for name in names]


def list_files(archive: Path) -> set[str]:
    """Return the paths in a wheel, or in an sdist without its first directory."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return set(wheel.namelist())
    with tarfile.open(archive) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def find_caches(files: set[str]) -> list[str]:
    """Return the files that a build or a test made."""
    return sorted(name for name in files if any(cache in name for cache in CACHES))


def check_files(wheel: Path, sdist: Path) -> None:
    """Compare the sdist with the commit, which has all that the tests need."""
    committed = _run("git", "ls-files", cwd=ROOT).splitlines()
    difference = set(committed) ^ (list_files(sdist) - {"PKG-INFO"})
    if wrong := find_caches(list_files(wheel)) or sorted(difference):
        raise ReleaseError(f"these files are not those of the commit: {', '.join(wrong)}")


def build_twice(directory: Path) -> list[Path]:
    """Build from this directory and from a new clone of its commit; compare the bytes."""
    epoch = _run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    built = build(ROOT, directory, epoch)
    with TemporaryDirectory() as temporary:
        clone = Path(temporary, "clone")
        _run("git", "clone", "--quiet", str(ROOT), str(clone), cwd=ROOT)
        again = build(clone, Path(temporary, "dist"), epoch)
        for first, second in zip(built, again, strict=True):
            if first.read_bytes() != second.read_bytes():
                raise ReleaseError(f"{first.name} differs from that of a new clone; commit first")
    return built


def try_wheel(wheel: Path) -> None:
    """Install the wheel into an empty environment, take one turn, and remove it again."""
    with TemporaryDirectory() as temporary:
        environment = Path(temporary, "environment")
        _run(sys.executable, "-m", "venv", str(environment), cwd=Path(temporary))
        programs = environment / "bin"
        home = {"HOME": temporary, "YOURTOOL_HOME": str(Path(temporary, "home"))}

        def run(program: str, *arguments: str) -> str:
            command = str(programs / program)
            return _run(command, *arguments, cwd=Path(temporary), variables=home)

        run("pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel))
        if run("yourtool", "--version") != f"yourtool {__version__}\n":
            raise ReleaseError("`yourtool --version` prints another version")
        if not run("yourtool", "--help").startswith("usage: yourtool"):
            raise ReleaseError("`yourtool --help` prints no usage")
        if not run("yourtool", "-m", "demo:tour", "-p", "hello").strip():
            raise ReleaseError("`yourtool -p` prints no answer")
        run("pip", "uninstall", "--quiet", "--yes", "yourtool")
        if left := sorted(map(str, environment.rglob("*yourtool*"))):
            raise ReleaseError(f"these files stay after the removal: {', '.join(left)}")


def _run(*command: str, cwd: Path, variables: dict[str, str] | None = None) -> str:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**environ, **(variables or {})},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise ReleaseError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(directory: str) -> None:
    wheel, sdist = build_twice(Path(directory).absolute())
    check_files(wheel, sdist)
    try_wheel(wheel)
    sys.stdout.write(
        f"{wheel.name} and {sdist.name} are in {directory}, and were tried\n"
        f"now: git tag -s v{__version__} -m 'yourtool {__version__}'\n"
    )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ReleaseError as error:
        sys.exit(f"release: {error}")
