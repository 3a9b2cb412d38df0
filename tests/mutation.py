"""Mutation testing of the code that protects the user.

`make mutation N=20` changes this code in up to 20 places per module, one at a time, and runs the
tests that use the changed function. A mutant that no test notices survives and is printed as a
diff. `ONLY=permissions/shell` selects modules. The same N chooses the same places each time. Do not
edit the tests during a run.

Each mutant is tested in a fork of a process that has collected the tests. Of the libraries, mutmut
tests all mutants and no sample, and cosmic-ray starts Python once per mutant and edits the sources.
"""

import ast
import difflib
import importlib.util
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from msgspec import Struct

from tests.mutants import Mutant, find_mutants

ROOT = Path(__file__).parents[1]


class Part(Struct, frozen=True):
    """Modules that protect the user in one way, and their tests."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "gate": Part(
        ("permissions/**/*.py",),
        ("permissions", "tools/test_own_directories.py", "agent/test_credential_approval.py"),
    ),
    "admission": Part(
        ("agent/turn/calls/admission.py", "agent/turn/calls/judgements.py"),
        ("agent/turn", "agent/hooks/test_turns.py", "agent/history/test_stored_decisions.py"),
    ),
    "paths": Part(
        (
            "tools/workspace/directory_*.py",
            "tools/workspace/path_resolution.py",
            "tools/workspace/workspace.py",
        ),
        (
            "tools/workspace/test_directory_opening.py",
            "tools/workspace/test_directory_walk.py",
            "tools/workspace/test_path_resolution.py",
            "tools/files/test_files.py",
            "tools/workspace/test_workspace.py",
            "tools/test_own_directories.py",
            "tools/edits/test_edit.py",
            "tools/search/test_search.py",
            "security/test_paths.py",
        ),
    ),
    "sanitiser": Part(
        (
            "foundation/text.py",
            "tui/lines/ansi.py",
            "tui/theme/output_filter.py",
            "tui/lines/verbatim.py",
        ),
        (
            "foundation/test_text.py",
            "test_text_safety.py",
            "tui/lines/test_ansi.py",
            "tui/lines/test_verbatim.py",
            "tui/theme/test_output_filter.py",
        ),
    ),
    "journal": Part(
        (
            "store/journal.py",
            "agent/history/file_history.py",
            "agent/session/file_restoring.py",
            "agent/turn/calls/change_journal.py",
        ),
        (
            "store/test_journal.py",
            "agent/history",
            "agent/session/test_file_restoring.py",
            "agent/turn/calls/test_change_journal.py",
        ),
    ),
}
FORK = multiprocessing.get_context("fork")
OUTPUT = os.fdopen(os.dup(1), "w")
"""Standard output, also while pytest captures it."""


def find_functions(code: CodeType) -> dict[str, CodeType]:
    """Return the functions and methods of a module by their qualified name."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    found = {each.co_qualname: each for each in inner if "<" not in each.co_qualname}
    for each in inner:
        found |= find_functions(each)
    return found


def find_loaded(owner: ModuleType | type, path: str) -> Iterator[FunctionType]:
    """Yield the functions of a loaded module, also of its classes and behind decorators."""
    for value in list(vars(owner).values()):
        if isinstance(value, type) and value.__module__ == getattr(owner, "__name__", None):
            yield from find_loaded(value, path)
        function = getattr(value, "fget", getattr(value, "__func__", value))
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        if isinstance(function, FunctionType) and function.__code__.co_filename == path:
            yield function


class Module:
    """A module of the program, and a sample of at most `count` changes of it."""

    def __init__(self, path: Path, count: int) -> None:
        self.file = str(path)
        self.name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        self.tree = ast.parse(path.read_text())
        self.functions = find_functions(self.compile(self.tree))
        found = find_mutants(self.tree)
        self.mutants = random.Random(self.name).sample(found, min(count, len(found)))

    @property
    def own_tests(self) -> list[str]:
        """The file of its tests, if it has one."""
        path = Path(self.file)
        name = f"test_{path.name}"
        found = ROOT / "tests" / path.relative_to(ROOT / "yourtool").with_name(name)
        return [str(found)] if found.exists() else []

    def compile(self, tree: ast.Module) -> CodeType:
        return compile(tree, self.file, "exec")

    def find_change(self, mutant: Mutant) -> tuple[str, CodeType]:
        """Return the function that a mutant changes, or "" and the code of the module."""
        code = self.compile(mutant.build(self.tree))
        functions = find_functions(code)
        changed = (name for name, old in self.functions.items() if functions[name] != old)
        name = next(changed, "")
        return name, functions.get(name, code)

    def describe(self, mutant: Mutant) -> str:
        """Return the change as a diff, without comments."""
        lines = [ast.unparse(tree).splitlines() for tree in (self.tree, mutant.build(self.tree))]
        nodes = list(ast.walk(self.tree))
        line = getattr(nodes[mutant.node], "lineno", "?")
        diff = difflib.unified_diff(*lines, lineterm="", n=1)
        body = [each for each in diff if not each.startswith(("---", "+++", "@@"))]
        return "\n".join([f"{self.name}, line {line}:", *body])


class ChangedModule(MetaPathFinder, Loader):
    """Imports one module from changed code."""

    def __init__(self, name: str, file: str, code: CodeType) -> None:
        self._name, self._file, self._code = name, file, code

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, vars(module))


class MutantTests:
    """A pytest plugin that runs the collected tests for each mutant instead of once."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self.survivors: list[tuple[str, Mutant]] = []
        """With the names of their modules."""
        self.unimported: list[tuple[str, Mutant]] = []
        """Mutants of code that runs when its module is imported; not tested yet."""
        self.tests: dict[str, list[str]] = {}
        """The tests that use each module."""
        self.problem = ""
        self.limit = 0.0
        """How many seconds the tests of a mutant may take."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        start = time.monotonic()
        files = [each.file for each in self._modules]
        failure, numbers = compute(lambda: find_used(session.items, files))
        if failure:
            self.problem = f"`{failure}` fails without a change"
            return True
        self.limit = 3 * (time.monotonic() - start) + 20
        used = {name: [session.items[at] for at in found] for name, found in numbers.items()}
        for module in self._modules:
            using = (each for (file, _), each in used.items() if file == module.file)
            names = dict.fromkeys(item.nodeid for items in using for item in items)
            self.tests[module.name] = list(names)
            loaded = find_loaded(sys.modules[module.name], module.file)
            functions = {each.__code__.co_qualname: each for each in loaded}
            for mutant in module.mutants:
                name, code = module.find_change(mutant)
                function = functions.get(name)
                items = used.get((module.file, name))  # without tests, it may run in an import
                if not (function and items) or function.__code__.co_freevars != code.co_freevars:
                    self.unimported.append((module.name, mutant))
                    continue
                if passes(partial(run_changed, function, code, items), self.limit):
                    self.survivors.append((module.name, mutant))
                    write(module.describe(mutant))
        return True


def find_used(
    items: Sequence[pytest.Item], files: Sequence[str]
) -> tuple[str, dict[tuple[str, str], list[int]]]:
    """Return the numbers of the tests that call each function of the files, fast tests first.

    The first result is the name of a test that fails, or "".
    """
    used = defaultdict[tuple[str, str], set[int]](set)
    seconds = list[float]()
    for number, item in enumerate(items):

        def trace(frame: FrameType, event: str, _: object, number: int = number) -> None:
            code = frame.f_code
            if code.co_filename in files:
                used[code.co_filename, code.co_qualname.partition(".<")[0]].add(number)

        start = time.monotonic()
        threading.settrace(trace)
        sys.settrace(trace)
        failure = find_failure([item])
        sys.settrace(None)
        if failure:
            return failure, {}
        seconds.append(time.monotonic() - start)
    return "", {name: sorted(numbers, key=seconds.__getitem__) for name, numbers in used.items()}


def run_changed(function: FunctionType, code: CodeType, items: Sequence[pytest.Item]) -> int:
    function.__code__ = code
    return int(find_failure(items) != "")


def run_imported(module: Module, mutant: Mutant, tests: Sequence[str]) -> int:
    """Run the file of a module's tests, and then the tests that use it."""
    code = module.compile(mutant.build(module.tree))
    sys.meta_path.insert(0, ChangedModule(module.name, module.file, code))
    failed = any(each and run_pytest(each) for each in (module.own_tests, tests))
    return int(failed)


def find_failure(items: Sequence[pytest.Item]) -> str:
    """Run tests until one fails; return its name, or "" if none does."""
    for item, following in zip(items, [*items[1:], None], strict=False):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return item.nodeid
    return ""


def passes(run: Callable[[], int], seconds: float) -> bool:
    """Return whether `run` returns 0 in a fork in time; its processes end with it."""

    def work() -> None:
        os.setsid()
        os._exit(run())

    process = FORK.Process(target=work)
    process.start()
    process.join(seconds)
    in_time = not process.is_alive()
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    return in_time and process.exitcode == 0


def compute(run: Callable[[], Any]) -> Any:
    """Return the result of a function that runs in a fork."""
    with NamedTemporaryFile() as file:
        if not passes(lambda: not file.write(pickle.dumps(run())) or file.flush() or 0, 36_000):
            raise SystemExit("mutation: a test fails without a change")
        return pickle.loads(Path(file.name).read_bytes())


def run_pytest(tests: Sequence[str], plugins: Sequence[object] = ()) -> int:
    options = ["-x", "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, *tests], plugins=list(plugins)))


def find_survivors(modules: Sequence[Module], tests: Sequence[str]) -> list[tuple[str, Mutant]]:
    """Return the mutants that no test notices, with the names of their modules."""

    def run() -> Any:
        plugin = MutantTests(modules)
        code = run_pytest([f"tests/{each}" for each in tests], [plugin])
        return (
            plugin.problem or ("the tests cannot be collected" if code else ""),
            plugin.survivors,
            plugin.unimported,
            plugin.tests,
            plugin.limit,
        )

    problem, survivors, unimported, used, limit = compute(run)
    if problem:
        raise SystemExit(f"mutation: {problem}")
    named = {each.name: each for each in modules}
    for name, mutant in unimported:
        module = named[name]
        if passes(partial(run_imported, module, mutant, used[name]), limit):
            survivors.append((name, mutant))
            write(module.describe(mutant))
    return survivors


def write(line: str) -> None:
    OUTPUT.write(f"{line}\n")
    OUTPUT.flush()


def measure(part: Part, count: int, only: str) -> tuple[int, int]:
    """Test and print the mutants of a part; return how many were killed, of how many."""
    found = {path for each in part.modules for path in (ROOT / "yourtool").glob(each)}
    paths = sorted(path for path in found if path.name != "__init__.py")
    modules = [Module(path, count) for path in paths if only in str(path.relative_to(ROOT))]
    survivors = find_survivors(modules, part.tests) if modules else []
    for module in modules:
        alive = [name for name, _ in survivors if name == module.name]
        total = len(module.mutants)
        write(f"{module.name}: {total - len(alive)} of {total} killed")
    total = sum(len(module.mutants) for module in modules)
    return total - len(survivors), total


def main(count: int, only: str) -> int:
    """Print the figures; return 1 if less than 90 % of the mutants of a part are killed."""
    figures = {name: measure(part, count, only) for name, part in PARTS.items()}
    for name, (killed, total) in figures.items():
        if total:
            write(f"{name}: {killed} of {total} mutants killed, {killed / total:.1%}")
    return int(any(killed < 0.9 * total for killed, total in figures.values()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
