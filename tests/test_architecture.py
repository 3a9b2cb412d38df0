"""The rules of the code base that can be tested."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.private_names import (
    find_foreign_attributes,
    find_inherited_names,
    find_private_imports,
    nodes,
    own_names,
    tree,
)
from tests.release import find_caches
from tests.removable import needs_all

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "yourtool").rglob("*.py"))
SCRIPTS = [
    *SOURCES,
    *sorted((ROOT / "docs").rglob("*.py")),
    *sorted(ROOT.glob("benchmarks/**/*.py")),
]

MODULE_LINES = 400
OVER: dict[str, int] = {
    "yourtool/tui/keys/keys.py": 600,
    "yourtool/tui/transcript/transcript.py": 580,
}
"""Modules that may be longer, with their limit: closed vocabularies, ideas without a seam."""
LEAST_LINES = 40
SHORT = {
    "yourtool/__init__.py": "the version",
    "yourtool/providers/transports/proxies.py": "the names of proxies in messages",
    "yourtool/agent/turn/calls/call_order.py": "which calls wait for others",
    "yourtool/cli/command_rows.py": "the commands of extensions among those of the core",
    "yourtool/events/hooks.py": "the only fact about hooks",
    "yourtool/foundation/json_sizes.py": "the size that messages of other programs may have",
    "yourtool/foundation/late_modules.py": "how some modules are imported",
    "yourtool/process/prctl.py": "calls of the kernel",
    "yourtool/providers/transports/certificates.py": "the certificates that are trusted",
    "yourtool/foundation/suggestions.py": "the comparison of names",
    "yourtool/tools/builtin.py": "the list of the tools",
    "yourtool/tools/workspace/file_reads.py": "the digests of the files that the model has read",
    "yourtool/tui/keys/key_bindings.py": "the vocabulary of the table of keys",
    "yourtool/tui/lines/slices.py": "the time that long work may take",
    "yourtool/extensions/vim/state.py": "what Vim stores between keys",
    "yourtool/foundation/threads.py": "an executor for the event loop",
    "yourtool/tui/screens/early_actions.py": "actions of the chat screen",
    "yourtool/tui/widgets/key_mode.py": "what an extension replaces",
    "yourtool/tui/widgets/wrapped_widget.py": "a base of widgets",
}
"""Modules that may be shorter, with the reason; the others join their neighbour."""
FUNCTION_LINES = 60
PARAMETERS = 6
BANNED_NAMES = {"utils", "helpers", "common", "manager", "types"}
LATE_IMPORTERS = {
    "yourtool/__main__.py",  # after the fork
    "yourtool/foundation/line_diff.py",  # the comparison of texts
    "yourtool/foundation/suggestions.py",  # the comparison of names
    "yourtool/cli/__init__.py",  # the chosen front end or command
    "yourtool/extensions/__init__.py",  # what an extension offers
    "yourtool/providers/registry.py",  # the requested adapter
    "yourtool/permissions/shell/lines/syntax.py",  # the parser of commands
    "yourtool/foundation/patterns.py",  # the patterns of rules and hooks
    "yourtool/tools/workspace/encoding.py",  # the detector of encodings
    "yourtool/store/markdown_texts.py",  # the parser of Markdown
    "yourtool/store/scrubbing.py",  # the patterns of secrets
    "yourtool/foundation/late_modules.py",  # the modules that packages name
    "yourtool/tools/servers/client.py",  # the client of MCP servers, which can be removed
}
SDKS = {"anthropic", "openai"}
ASKS_PATHS = {"exists", "is_dir", "is_file", "is_symlink", "resolve"}
"""Methods of `Path` that raise where the functions of `files` have an answer."""
MAY_ASK_PATHS = ("yourtool/foundation/extras.py", "yourtool/tools/sandbox/")
"""The installation of this program, and places that are verified from inside."""
READS_MARKUP = {"Static", "Label", "OptionList", "notify"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""


def faults_in(paths: list[Path], find: Callable[[Path], Iterator[str]]) -> list[str]:
    return [f"{name(path)}: {fault}" for path in paths for fault in find(path)]


def test_modules_and_functions_stay_small():
    assert all(limit <= 600 for limit in OVER.values())
    assert not faults_in(SCRIPTS, find_large_parts)


def find_large_parts(path: Path) -> Iterator[str]:
    lines = len(path.read_text("utf-8").splitlines())
    if lines > OVER.get(name(path), MODULE_LINES):
        yield f"{lines} lines"
    for function in functions(path):
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{function.name} has {lines} lines"
        arguments = function.args
        count = len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])
        own = bool(arguments.args) and arguments.args[0].arg in ("self", "cls")
        if count - own > PARAMETERS:
            yield f"{function.name} has {count - own} parameters"


def is_short(path: Path) -> bool:
    """Return whether it has few lines, and is no package, no port, and no row of a table."""
    text = path.read_text("utf-8")
    lines = len(text.splitlines())
    is_package = path.name == "__init__.py"
    marks_package = is_package and (len(tree(path).body) == 1 or "late_modules(" in text)
    implements_port = path.match("dialects/*/*.py") and path.stem in ("spec", "dialect")
    is_row = re.search(r"^(COMMANDS = |@tool\()", text, re.MULTILINE) is not None
    return lines < LEAST_LINES and not (marks_package or implements_port or is_row)


@needs_all
def test_no_module_is_a_fragment():
    assert {name(path) for path in SOURCES if is_short(path)} <= SHORT.keys()
    assert all((ROOT / each).is_file() for each in SHORT)


def test_kind_of_a_foreign_file_is_asked_of_one_module():
    asking = [path for path in SOURCES if not name(path).startswith(MAY_ASK_PATHS)]
    assert not faults_in(asking, find_asked_paths)


def find_asked_paths(path: Path) -> Iterator[str]:
    """Yield the uses of methods without arguments, which those of other classes have."""
    called = dict[int, ast.Call]()
    for node in nodes(path):
        match node:
            case ast.Call(func=ast.Attribute() as method):
                called[id(method)] = node
            case ast.Attribute(attr=attribute) if attribute in ASKS_PATHS:
                call = called.get(id(node))
                is_other = call is not None and (call.args or call.keywords)
                if not is_other and ast.unparse(node.value) not in ("entry", "self._failure"):
                    yield f"line {node.lineno}: use a function of `files` for `{attribute}`"


def test_no_module_has_a_meaningless_name():
    assert not faults_in(
        SOURCES, lambda path: (part for part in path.with_suffix("").parts if part in BANNED_NAMES)
    )


def test_nothing_is_imported_inside_a_function():
    assert not faults_in(SOURCES, find_late_imports)


def find_late_imports(path: Path) -> Iterator[str]:
    for function in functions(path):
        for late in (each for node in ast.walk(function) for each in imported(node)):
            yield f"{function.name} imports {late}"
    if name(path) not in LATE_IMPORTERS:
        for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2] in ("import_module", "__import__"):
                yield f"line {call.lineno}: a module is imported by its name"


def test_only_the_registry_imports_vendors_libraries():
    assert not faults_in(SOURCES, find_foreign_imports)


def find_foreign_imports(path: Path) -> Iterator[str]:
    banned = SDKS if "tui" in path.parts else {*SDKS, "textual", "rich"}
    for each in (each for node in nodes(path) for each in imported(node)):
        if each.partition(".")[0] in banned:
            yield f"imports {each}"


ROOM = "yourtool/tui/textual_internals/"


def test_only_one_package_uses_private_names_of_libraries():
    outside = [path for path in SOURCES if not name(path).startswith(ROOM)]
    assert not faults_in(outside, find_private_imports)
    assert not faults_in(outside, partial(find_foreign_attributes, own=own_names(SOURCES)))
    inherited = find_inherited_names("yourtool.tui")
    assert [each for each in inherited if not each.startswith(ROOM)] == []


def test_each_private_name_has_a_test_that_names_the_loss_without_it():
    room = [path for path in SOURCES if name(path).startswith(ROOM)]
    used = {each for path in room for each in find_private_imports(path)}
    for path in room:
        used.update(find_foreign_attributes(path, own=own_names([path])))
    used.update(each.partition(": ")[2] for each in find_inherited_names("yourtool.tui"))
    words = {part for each in used for part in each.split(".") if part.startswith("_")}
    tests = sorted((ROOT / "tests/tui/textual_internals").glob("test_*.py"))
    contracts = {
        word
        for path in tests
        for function in functions(path)
        for word in re.findall(r"`(_\w+)`", (ast.get_docstring(function) or "").partition(":")[0])
    }
    assert len(words) > 8
    assert words == contracts


def test_no_external_text_is_parsed_as_markup():
    assert not faults_in([path for path in SOURCES if "tui" in path.parts], find_markup)


def find_markup(path: Path) -> Iterator[str]:
    for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
        called = ast.unparse(call.func).rpartition(".")[2]
        if called not in READS_MARKUP or (call.args and _is_harmless(call.args[0])):
            continue
        if {each.arg: ast.unparse(each.value) for each in call.keywords}.get("markup") != "False":
            yield f"line {call.lineno}: {called} without `markup=False`"


def _is_harmless(shown: ast.expr) -> bool:
    """Return whether it is a literal, or styled text, which is never markup."""
    return isinstance(shown, ast.Constant) or bool(
        re.search(r"Content|Text\(|\bcontent\b", ast.unparse(shown))
    )


def loaded_by(modules: str) -> set[str]:
    # Where `click` is installed, which it is only for development, httpx2 imports rich for
    # its command line.
    code = f"import sys; sys.modules['click'] = None; import {modules}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {module.partition(".")[0] for module in done.stdout.split()} | set(done.stdout.split())


def test_a_headless_start_loads_no_screen_and_no_sdk():
    assert not {"textual", "rich", *SDKS} & loaded_by("yourtool.cli, yourtool.headless")


def test_the_interface_paints_before_it_loads_what_a_turn_needs():
    late = {"httpx2", "sqlite3", "yourtool.agent.runtime", "yourtool.store.sqlite.database", *SDKS}
    assert not late & loaded_by("yourtool.cli, yourtool.tui.app")


@pytest.mark.parametrize(
    "start", ["yourtool.cli, yourtool.tui.app, yourtool.agent.runtime", "yourtool.headless"]
)
def test_no_start_imports_a_late_module_or_what_only_late_modules_use(start):
    late = {each for path in SOURCES if path.name == "__init__.py" for each in late_names(path)}
    assert len(late) > 20
    assert not {*late, "argparse", "httpx2", "html_to_markdown", "pygments"} & loaded_by(start)


def late_names(path: Path) -> Iterator[str]:
    """Yield the late modules of a package."""
    package = ".".join(path.parent.relative_to(ROOT).parts)
    for call in (node for node in nodes(path) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) == "late_modules":
            yield from (f"{package}.{ast.literal_eval(each)}" for each in call.args[1:])


def test_the_supervisor_imports_only_small_modules():
    slow = {"asyncio", "dataclasses", "inspect", "json", "pathlib", "re", "threading", "typing"}
    assert not slow & loaded_by("yourtool.__main__")


def test_the_command_line_loads_no_event_loop():
    assert not {"asyncio", "ssl", "socket"} & loaded_by("yourtool.cli")


def tracked() -> list[Path]:
    """Return the files of the repository, or those of an sdist, which has no repository."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        names = {each for each in listed.stdout.split("\0") if each}
    else:
        names = {str(each.relative_to(ROOT)) for each in ROOT.rglob("*")}
    files = [ROOT / each for each in sorted(names.difference(find_caches(names)))]
    return [path for path in files if path.is_file() and path.name != "test_architecture.py"]


FORBIDDEN = {
    "a package registry": r"pypi\.org|pythonhosted|registry\.npmjs|--index-url|--find-links",
    "a directory of one machine": r"/work/(main|shared)|/root/\.",
    "how it was made": r"[Cc]o-authored-by|/work/\.library",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what):
    pattern = re.compile(FORBIDDEN[what].encode())
    found = [
        f"{name(path)}: {match[0].decode()}"
        for path in tracked()
        if (match := pattern.search(path.read_bytes()))
    ]
    assert not found


def test_only_two_modules_read_the_recorded_set():
    """So that every other test runs in a clone without further files."""
    readers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if "tests.shared import" in path.read_text() and path != Path(__file__)
    }
    assert readers == {"tests/providers/recorded_exchanges.py", "tests/security/corpora.py"}
