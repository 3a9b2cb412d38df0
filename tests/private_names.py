"""Finds private names of libraries in our sources."""

import ast
import inspect
import pkgutil
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

PUBLIC = {"_exit", "_replace", "_asdict"}
"""Documented names of the standard library."""
KNOWN = {"_transport": "tools/processes/peer_process.py"}
"""Pipes of a process, which asyncio closes in no public way, and the module that closes them."""
_LIBRARIES = ("textual", "rich")
_ROOT = Path(__file__).parents[1]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[Any, ...]:
    """Return every node of a module: most rules look at all of them."""
    return tuple(ast.walk(tree(path)))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def find_private_imports(path: Path) -> Iterator[str]:
    """Yield imported modules and names of libraries that are private."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for each in found:
            first, *rest = each.split(".")
            if first not in ("yourtool", "_thread") and any(map(is_private, (first, *rest))):
                yield each


def find_foreign_attributes(path: Path, own: set[str]) -> Iterator[str]:
    """Yield private attributes of other objects that no class of ours defines."""
    if "reportPrivate" in path.read_text("utf-8"):
        yield "a suppression"
    for node in nodes(path):
        match node:
            case ast.Attribute(value=owner, attr=name) if not _is_self(owner):
                pass
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(), *_]):
                name = str(node.args[1].value)
            case _:
                continue
        is_known = name in PUBLIC or path.match(KNOWN.get(name, "nowhere"))
        if is_private(name) and len(name) > 1 and name not in own and not is_known:
            yield name


def own_names(paths: Iterable[Path]) -> set[str]:
    """Return the private names that our classes define."""
    found = set[str]()
    for path in paths:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found |= set(_names_in_body(node)) | set(_attributes_of_self(node, ast.Store))
    return found


def find_inherited_names(package: str) -> list[str]:
    """Return the private names of base classes of libraries that classes of a package use."""
    found = set[str]()
    for info in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        module = import_module(info.name)
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == info.name:
                bases = [base for base in cls.__mro__ if base.__module__.startswith(_LIBRARIES)]
                inherited = {name for base in bases for name in _defined_by(base)}
                body = _parse(cls)
                used = {*_names_in_body(body), *_attributes_of_self(body, ast.expr_context)}
                path = Path(inspect.getsourcefile(cls) or "").relative_to(_ROOT)
                found |= {f"{path.as_posix()}: {name}" for name in used & inherited}
    return sorted(found)


@cache
def _defined_by(cls: type) -> frozenset[str]:
    """Return the private names of a class and of the instances that it creates."""
    try:
        body = _parse(cls)
    except (OSError, TypeError):  # a class that is made at run time
        return frozenset(filter(is_private, vars(cls)))
    return frozenset([*_names_in_body(body), *_attributes_of_self(body, ast.Store)])


def _parse(cls: type) -> ast.ClassDef:
    [body] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)
    return body


def _names_in_body(body: ast.ClassDef) -> Iterator[str]:
    for node in body.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names = [name]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.Assign(targets=targets):
                names = [each.id for each in targets if isinstance(each, ast.Name)]
            case _:
                names = []
        yield from filter(is_private, names)


def _attributes_of_self(body: ast.ClassDef, context: type[ast.expr_context]) -> Iterator[str]:
    for node in ast.walk(body):
        match node:
            case ast.Attribute(value=owner, attr=name, ctx=ctx) if _is_self(owner):
                if is_private(name) and isinstance(ctx, context):
                    yield name


def _is_self(owner: ast.expr) -> bool:
    called = owner.func if isinstance(owner, ast.Call) else owner
    if not isinstance(called, ast.Name) or called.id not in ("self", "cls", "super"):
        return False
    return ast.unparse(owner) in ("self", "cls", "super()", "super(TextArea, self)")
