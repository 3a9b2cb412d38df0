"""Starts read the code of modules from one archive, which never changes what is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from yourtool.code_archive import FILE, MISSING

MODULES = [f"m{number}" for number in range(MISSING)]
START = """
import json, sys
from pathlib import Path
from yourtool.code_archive import CodeArchive
sys.path.insert(0, sys.argv[2])
archive = CodeArchive(Path(sys.argv[1]))
sys.meta_path.insert(0, archive)
modules = [__import__(f"packed.{name}", fromlist=["NAME"]) for name in sys.argv[3:]]
archive.update()
print(json.dumps([
    [each.NAME, type(each.__loader__).__name__, each.__file__, each.__cached__]
    for each in modules
]))
"""


class Starts:
    """Starts of a program that imports as many modules as an archive is written for."""

    def __init__(self, root: Path) -> None:
        self.archive = root / "archive.pyc"
        self.package = root / "site" / "packed"
        self.write_package(self.package)

    def write_package(self, folder: Path) -> None:
        """Write the modules, older than any file that is compiled from them."""
        folder.mkdir(parents=True)
        for name in ("__init__", *MODULES):
            (folder / f"{name}.py").write_text(f"NAME = '{name} of {folder.parent.name}'\n")
            os.utime(folder / f"{name}.py", (1_000_000_000, 1_000_000_000))

    def run(self, *names: str, site: Path | None = None, options: tuple[str, ...] = ()):
        """Start it, and return the name of each module and how it was loaded."""
        command = [sys.executable, *options, "-c", START, self.archive, site or self.package.parent]
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="")
        done = subprocess.run(
            [*command, *(names or MODULES)], env=environment, capture_output=True, check=True
        )
        return json.loads(done.stdout)

    def loaders(self, *names: str, site: Path | None = None) -> set[str]:
        """Return the classes of the loaders."""
        return {loader for _, loader, *_ in self.run(*names, site=site)}

    def source(self, name: str) -> Path:
        return self.package / f"{name}.py"


@pytest.fixture
def starts(tmp_path):
    return Starts(tmp_path)


def test_the_second_start_imports_from_the_archive_what_the_first_one_compiled(starts):
    first = starts.run()
    for compiled in (starts.package / "__pycache__").iterdir():
        compiled.write_bytes(b"")
    second = starts.run()
    assert {loader for _, loader, *_ in first} == {"SourceFileLoader"}
    assert {loader for _, loader, *_ in second} == {"_Loader"}
    assert [(name, *files) for name, _, *files in second] == [
        (name, *files) for name, _, *files in first
    ]


def test_a_module_whose_source_changed_is_compiled_again(starts):
    starts.run()
    starts.source("m1").write_text("NAME = 'changed'\n")
    assert starts.run("m1")[0][:2] == ["changed", "SourceFileLoader"]
    assert starts.loaders("m2") == {"_Loader"}


def test_a_module_whose_source_is_gone_is_not_imported(starts):
    starts.run()
    starts.source("m1").unlink()
    with pytest.raises(subprocess.CalledProcessError) as raised:
        starts.run("m1")
    assert b"No module named 'packed.m1'" in raised.value.stderr


def test_the_archive_does_not_decide_which_package_is_imported(starts, tmp_path):
    starts.run()
    starts.write_package(tmp_path / "other" / "packed")
    module = starts.run("m1", site=tmp_path / "other")[0]
    assert module[:2] == ["m1 of other", "SourceFileLoader"]


def test_the_archive_of_another_interpreter_is_not_read(starts):
    starts.run()
    assert starts.run("m1", options=("-O",))[0][1] == "SourceFileLoader"


@pytest.mark.parametrize(
    "damage", ["empty", "index", "byte", "code", "other", "cut", "pipe", "directory", "loop"]
)
def test_a_damaged_archive_is_as_good_as_none(starts, damage):
    starts.run()
    content = starts.archive.read_bytes()
    starts.archive.unlink()
    size = int.from_bytes(content[:8], "little")
    damaged = {
        "empty": b"",
        "index": content[:8] + bytes(len(content) - 8),
        "byte": content[:40] + bytes([content[40] ^ 1]) + content[41:],
        "code": content[: 12 + size] + b"?" * (len(content) - size - 12),
        "other": content[: 12 + size] + b"N" * (len(content) - size - 12),
        "cut": content[: 12 + size],
    }
    if damage in damaged:
        starts.archive.write_bytes(damaged[damage])
    elif damage == "directory":
        starts.archive.mkdir()
    elif damage == "pipe":
        os.mkfifo(starts.archive)
    else:
        starts.archive.symlink_to(starts.archive)
    assert [name for name, *_ in starts.run()] == [f"{name} of site" for name in MODULES]


def test_an_archive_is_not_written_again_for_a_few_modules(starts):
    starts.run()
    written = starts.archive.stat()
    starts.source("m1").write_text("NAME = 'changed'\n")
    starts.run()
    assert starts.archive.stat().st_ino == written.st_ino


def test_an_archive_keeps_the_modules_of_earlier_starts(starts, tmp_path):
    starts.run()
    for name in MODULES[:-1]:
        starts.source(name).write_text("NAME = 'changed'\n")
    (starts.package / "more.py").write_text("NAME = 'more'\n")
    starts.run(*MODULES[:-1], "more")
    assert starts.loaders(*MODULES, "more") == {"_Loader"}


def test_an_unfinished_archive_is_left_to_its_process_for_a_minute(starts):
    part = starts.archive.with_suffix(".pyo")
    part.write_bytes(b"unfinished")
    starts.run()
    assert part.read_bytes() == b"unfinished"
    os.utime(part, (0, 0))
    starts.run()  # removes it
    starts.run()
    assert starts.loaders() == {"_Loader"}
    assert not part.exists()


def test_no_archive_is_written_where_compiled_files_are_not(starts):
    starts.run(options=("-B",))
    assert not starts.archive.exists()


def test_installers_remove_the_archive_with_the_program():
    """They remove the compiled file next to each module of a program."""
    assert FILE.name == "code_archive.pyc"
    assert FILE.with_suffix(".py").is_file()
