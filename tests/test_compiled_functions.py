"""Methods that dataclasses and named tuples generate are compiled once for many starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CLASSES = """
import dataclasses
from collections import namedtuple
from typing import NamedTuple

Pair = namedtuple("Pair", ["left", "right"], defaults=[0])

class Row(NamedTuple):
    name: str
    size: int = 3

@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int
    y: float = 0.5
    tags: list = dataclasses.field(default_factory=list)
"""
START = """
import builtins, json, sys
from pathlib import Path
from yourtool import compiled_functions
from yourtool.code_archive import CodeArchive
sys.path.insert(0, sys.argv[2])
archive = CodeArchive(Path(sys.argv[1]))
sys.meta_path.insert(0, archive)
compiled_functions.use(archive.functions)
compiled_functions.use_in_dataclasses()
compiled = []
builtins.compile = lambda source, *rest, compile=compile, **options: (
    compiled.append(source), compile(source, *rest, **options))[1]
from packed import classes, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15
archive.update()
Point, Pair, Row = classes.Point, classes.Pair, classes.Row
try:
    Point(1).x = 2
except AttributeError as error:
    refused = type(error).__name__
print(json.dumps([len(compiled), [
    repr(Point(1)), Point(1) == Point(1), Point(1) < Point(2), hash(Pair(1)) == hash((1, 0)),
    Point(1).tags is not Point(1).tags, refused, repr(Pair(1)), repr(Row("a")), Row("b", size=4)[1],
    Point.__init__.__qualname__, Point.__init__.__annotations__["y"] is float,
]]))
"""
MODULES = [f"m{number}" for number in range(16)]


class Starts:
    """Starts of a program that defines some classes."""

    def __init__(self, root: Path) -> None:
        self.archive = root / "archive.pyc"
        self.site = root / "site"
        package = self.site / "packed"
        package.mkdir(parents=True)
        for name in ("__init__", *MODULES):
            (package / f"{name}.py").write_text("")
        self.write(CLASSES)

    def write(self, classes: str) -> None:
        (self.site / "packed" / "classes.py").write_text(classes)

    def run(self) -> tuple[int, list]:
        """Return how many sources were compiled, and what the classes do."""
        done = subprocess.run(
            [sys.executable, "-c", START, self.archive, self.site],
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE=""),
            capture_output=True,
            check=True,
        )
        count, results = json.loads(done.stdout)
        return count, results


@pytest.fixture
def starts(tmp_path):
    return Starts(tmp_path)


def test_the_second_start_compiles_no_generated_method_and_its_classes_are_the_same(starts):
    first, second = starts.run(), starts.run()
    assert first[0] > 5
    assert second == (0, first[1])
    assert first[1][0] == "Point(x=1, y=0.5, tags=[])"


def test_a_changed_class_gets_its_own_methods(starts):
    starts.run()
    starts.write(CLASSES.replace("y: float = 0.5", "z: int = 7\n    y: float = 0.5"))
    count, results = starts.run()
    assert count > 0 and results[0] == "Point(x=1, z=7, y=0.5, tags=[])"


@pytest.mark.parametrize("code", [b"", b"N", b"\xe3", b"i\x01\x00\x00\x00", b"z\x01"])
def test_a_damaged_method_is_compiled_from_its_source(code):
    script = (
        "import sys\nfrom yourtool import compiled_functions\n"
        "class Anything(dict):\n    def __getitem__(self, _): return bytes.fromhex(sys.argv[1])\n"
        "compiled_functions.use({})\ncompiled_functions._stored = Anything()\n"
        "compiled_functions.use_in_dataclasses()\n"
        "import dataclasses, collections\n"
        "Point = dataclasses.make_dataclass('Point', ['x'])\n"
        "Pair = collections.namedtuple('Pair', 'a b')\n"
        "print(Point(3), Pair(1, 2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, code.hex()], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Point(x=3) Pair(a=1, b=2)\n"


def test_the_number_of_stored_methods_is_limited(monkeypatch):
    script = (
        "from yourtool import compiled_functions as c\nimport collections\n"
        "c._MOST = 3\nc.use({})\n"
        "for number in range(9): collections.namedtuple('P', [f'f{number}'])\n"
        "print(len(c.collect({'known': b''})))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"4\n"
