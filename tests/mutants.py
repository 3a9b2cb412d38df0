"""Small changes of Python code, such as `<` to `<=`, that a test should notice."""

import ast
from collections.abc import Iterator
from copy import deepcopy

from msgspec import Struct

SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(Struct, frozen=True):
    """A change of a module: one of those of a node of its syntax tree."""

    node: int
    """The number of the node, as `ast.walk` counts."""
    change: int

    def build(self, tree: ast.Module) -> ast.Module:
        """Return the changed tree."""
        changed = deepcopy(tree)
        node = list(ast.walk(changed))[self.node]
        new = list(iter_changes(node))[self.change]
        node.__class__, node.__dict__ = new.__class__, {**node.__dict__, **new.__dict__}
        return ast.fix_missing_locations(changed)


def iter_changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what can stand in the place of a node."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                swapped = [*node.ops[:at], SWAPPED[type(operator)](), *node.ops[at + 1 :]]
                yield ast.Compare(node.left, swapped, node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        case ast.BinOp() if type(node.op) in SWAPPED:
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Constant(value=str()) if node.value and " " not in node.value:  # no message
            yield ast.Constant(f"X{node.value}")
        case ast.Return(value=ast.expr()) if not is_empty(node.value):
            yield ast.Return(ast.Constant(None))
        case ast.If():
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.comprehension(ifs=[condition, *others]):
            negated = ast.UnaryOp(ast.Not(), condition)
            yield ast.comprehension(node.target, node.iter, [negated, *others], node.is_async)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case _:
            return


def is_empty(node: ast.AST | None) -> bool:
    """Whether a value is like None for most callers."""
    match node:
        case ast.Constant() | ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case _:
            return False


def find_mutants(tree: ast.Module) -> list[Mutant]:
    """Return all changes of a module, without those of its annotations and docstrings."""
    skipped = {id(part) for node in find_types_and_docs(tree) for part in ast.walk(node)}
    return [
        Mutant(at, change)
        for at, node in enumerate(ast.walk(tree))
        if id(node) not in skipped
        for change, _ in enumerate(iter_changes(node))
    ]


def find_types_and_docs(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                yield node
            case ast.JoinedStr():
                yield from (each for each in node.values if isinstance(each, ast.Constant))
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.FunctionDef(returns=ast.expr() as returns):
                yield returns
            case ast.AsyncFunctionDef(returns=ast.expr() as returns):
                yield returns
            case ast.ClassDef(keywords=keywords):
                yield from keywords  # such as `frozen=True`
            case ast.Call(func=ast.Name(id="TypeVar" | "Literal" | "cast")):
                yield node
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield node
            case _:
                pass
