"""Which names of a module are constants: bound once, at the top level, to a literal.

The result of a function in :data:`CONSTANT_FUNCTIONS` counts as a literal. A request with constant
arguments depends on the scenario only, not on the time of its compilation, so that it may be
recorded. Nothing is evaluated here.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

CONSTANT_FUNCTIONS = frozenset({"loadpilot.env", "loadpilot.file", "loadpilot.infer.triton_binary"})
"""Functions whose calls count as literals: their result depends only on their arguments, on files
and on parameters, which do not change during a run. At the top level the arguments may be anything,
because the call is made once, on import."""

LITERALS = str, bytes, int, float, bool, type(None)
"""Types of literals in a request; complex numbers and ``...`` are not among them."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A statement that binds a name."""

    line: int
    how: str
    """Kind of binding for messages: "imported", "a function"."""
    value: ast.expr | None
    """The expression of a plain assignment at the top level; else None."""
    origin: str | None = None
    """The dotted path that an import bound, "loadpilot.file"; else None."""


class Bindings:
    """The names that one module binds."""

    def __init__(self, found: dict[str, list[Binding]]) -> None:
        """Take the bindings of each name."""
        self._found = found

    @classmethod
    def of(cls, tree: ast.Module) -> Bindings:
        """Collect every binding that can reach the module's scope."""
        found: dict[str, list[Binding]] = defaultdict(list)
        plain = {id(target): value for target, value in _plain_assignments(tree)}
        for name, node, how in _bindings(tree):
            value = plain.get(id(node))
            origin = _origin(node, name)
            found[name].append(Binding(getattr(node, "lineno", 0), how, value, origin))
        return cls(dict(found))

    def is_constant_call(self, call: ast.Call) -> bool:
        """Whether a call is of one of :data:`CONSTANT_FUNCTIONS`, under any imported name."""
        return self.origin_of(call.func) in CONSTANT_FUNCTIONS

    def binds(self, name: str) -> bool:
        """Whether the module binds a name."""
        return name in self._found

    def origin_of(self, node: ast.expr) -> str | None:
        """Return the dotted path of an imported name or its attribute, "time.sleep"; else None."""
        attributes = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        origins = {binding.origin for binding in self._found.get(node.id, [])}
        if len(origins) != 1 or None in origins:
            return None
        return ".".join([*map(str, origins), *reversed(attributes)])

    def is_function(self, name: str) -> bool:
        """Whether the only binding of a name is the definition of a function."""
        return [binding.how for binding in self._found.get(name, [])] == ["a function"]

    def value_of(self, name: str) -> ast.expr | None:
        """Return the expression of the only assignment of a name; None if it is no such name."""
        bindings = self._found.get(name, [])
        return bindings[0].value if len(bindings) == 1 else None

    def why_not_constant(  # noqa: PLR0911  (one line per reason)
        self, name: str, _open: frozenset[str] = frozenset()
    ) -> str | None:
        """Return the reason why ``name`` is not a constant; None for a constant."""
        bindings = self._found.get(name)
        if not bindings:
            return f"`{name}` is not a constant of this module"
        if len(bindings) > 1:
            lines = ", ".join(str(binding.line) for binding in bindings)
            return f"`{name}` is bound {len(bindings)} times (lines {lines}), so it may change"
        (binding,) = bindings
        if binding.value is None:
            return f"`{name}` is {binding.how} (line {binding.line}), not a literal"
        if name in _open:
            return f"`{name}` refers to itself (line {binding.line})"
        for part, problem in literal_parts(binding.value):
            if isinstance(part, ast.Call) and self.is_constant_call(part):
                continue
            if problem is not None:
                return f"`{name}` is not a literal: {problem} (line {part.lineno})"
            if isinstance(part, ast.Name):
                inner = self.why_not_constant(part.id, _open | {name})
                if inner is not None:
                    return f"`{name}` depends on another name (line {part.lineno}): {inner}"
        return None


def literal_parts(  # noqa: C901, PLR0912  (a table of syntax, read from top to bottom)
    node: ast.expr,
) -> Iterator[tuple[ast.expr, str | None]]:
    """Walk an expression down to its names and its parts that are not literal.

    Yields ``(name node, None)`` for each name, which the caller has to check, and ``(node,
    description)`` for each part that a literal cannot have.
    """
    match node:
        case ast.Constant(value=value) if isinstance(value, LITERALS):
            return
        case ast.Name():
            yield node, None
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            for element in elements:
                yield from literal_parts(element)
        case ast.Starred(value=value) | ast.FormattedValue(value=value, format_spec=None):
            yield from literal_parts(value)
        case ast.FormattedValue(value=value, format_spec=ast.expr() as spec):
            yield from literal_parts(value)
            yield from literal_parts(spec)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield from literal_parts(key)
                yield from literal_parts(value)
        case ast.JoinedStr(values=values):
            for value in values:
                yield from literal_parts(value)
        case ast.BinOp(op=ast.Add() | ast.Mult()):
            for operand in _operands(node):
                yield from literal_parts(operand)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
            return
        case _:
            yield node, describe(node)


def _operands(node: ast.expr) -> list[ast.expr]:
    """Return the operands of a sum or product in order; it may have too many for a recursion."""
    found = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def describe(node: ast.AST) -> str:
    """Describe a piece of syntax for messages, "a loop"."""
    match node:
        case ast.Call(func=function):
            return _describe_call(ast.unparse(function))
        case ast.Attribute():
            return f"the attribute `{ast.unparse(node)}`"
        case ast.Subscript():
            return "an element looked up with [ ]"
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare():
            return "a computation"
        case ast.Constant(value=value):
            return f"the value {value!r}"
        case _:
            return DESCRIPTIONS.get(type(node), f"{type(node).__name__} syntax")


DESCRIPTIONS: dict[type[ast.AST], str] = {
    ast.IfExp: "a branch",
    ast.If: "a branch",
    ast.Match: "a branch",
    ast.For: "a loop",
    ast.AsyncFor: "a loop",
    ast.While: "a loop",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Lambda: "a lambda",
    ast.Await: "an await",
    ast.Yield: "a yield",
    ast.YieldFrom: "a yield",
    ast.NamedExpr: "an assignment",
    ast.Assign: "an assignment",
    ast.AnnAssign: "an assignment",
    ast.AugAssign: "an assignment",
    ast.Set: "a set, which has no order",
    ast.Try: "a try block",
    ast.TryStar: "a try block",
    ast.With: "a with block",
    ast.AsyncWith: "a with block",
    ast.Return: "a return",
    ast.Raise: "a raise",
    ast.Assert: "an assertion",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement",
    ast.Delete: "a del statement",
    ast.Pass: "a pass",
    ast.FunctionDef: "a function definition",
    ast.AsyncFunctionDef: "a function definition",
    ast.ClassDef: "a class definition",
}
"""Descriptions of kinds of syntax."""


def _describe_call(callee: str) -> str:
    root = callee.split(".", maxsplit=1)[0]
    if root in {"random", "secrets", "uuid"} or callee.startswith("os.urandom"):
        return f"randomness, `{callee}()`"
    if root in {"time", "datetime"}:
        return f"the time, `{callee}()`"
    return f"a call of `{callee}()`"


def _plain_assignments(tree: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                yield from ((t, value) for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                yield target, value
            case _:
                pass


def _origin(node: ast.AST, name: str) -> str | None:
    """Return the dotted path that an import binds to a name; None for other statements."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if name == (alias.asname or alias.name.split(".")[0]):
                    return alias.name if alias.asname else name
        case ast.ImportFrom(module=str() as module, names=aliases, level=0):
            for alias in aliases:
                if name == (alias.asname or alias.name):
                    return f"{module}.{alias.name}"
        case _:
            pass
    return None


def _bindings(  # noqa: C901, PLR0912  (a table of syntax, read from top to bottom)
    tree: ast.Module,
) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield (name, node, kind) for every binding of a module-level name."""
    for node in _module_scope(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node, "not bound by a plain assignment at the top level"
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    yield (alias.asname or alias.name.split(".")[0]), node, "imported"
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node, "a function"
            case ast.ClassDef(name=name):
                yield name, node, "a class"
            case ast.ExceptHandler(name=str() as name):
                yield name, node, "a caught exception"
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                yield name, node, "bound by a match"
            case ast.MatchMapping(rest=str() as name):
                yield name, node, "bound by a match"
            case _:
                pass
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                yield name, node, "rebound through a global statement"


def _module_scope(tree: ast.Module) -> Iterator[ast.AST]:
    """Walk the nodes in the module's own scope, without the variables of comprehensions."""
    open_nodes: list[ast.AST] = list(tree.body)
    while open_nodes:
        node = open_nodes.pop(0)
        yield node
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            # Only := binds a name outside of its comprehension.
            inner = [n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
            open_nodes.extend(n.target for n in inner)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            open_nodes.extend(_outer_parts(node))
        else:
            open_nodes.extend(ast.iter_child_nodes(node))


def _outer_parts(node: Scope) -> list[ast.expr]:
    """Return the parts of a definition that run in the enclosing scope."""
    if isinstance(node, ast.Lambda):
        return [d for d in [*node.args.defaults, *node.args.kw_defaults] if d is not None]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    defaults = [d for d in [*node.args.defaults, *node.args.kw_defaults] if d is not None]
    return [*node.decorator_list, *defaults]
