"""Checks that the import of a scenario file only defines things.

Then each name has the same value at any time and on every agent: nothing has patched a builtin,
rebound a class attribute or started a thread. The bodies of functions do not matter, as long as the
import does not call them. Anything not known to be safe is a reason to run in Python.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from ...problem import Reason
from ...scenario_file.constants import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scenario_file.source import SourceFile

HARMLESS = frozenset({"loadpilot", *sys.stdlib_module_names})
"""Packages whose import has no effect on a scenario."""
PURE_BUILTINS = frozenset({"int", "float", "str", "bool", "len", "dict", "list", "tuple", "range"})
"""Builtins that may be called during the import."""
PURE = frozenset(
    {
        "os.environ.get",
        "os.getenv",
        "typing.TypeVar",
        "pathlib.Path",
        "loadpilot.exponential",
        "loadpilot.feed",
        "loadpilot.lognormal",
        "loadpilot.metrics.counter",
        "loadpilot.metrics.trend",
        "loadpilot.metrics.rate",
    }
)
"""Other functions that may be called during the import."""
CLASS_DECORATORS = frozenset({"loadpilot.scenario", "loadpilot.dsl.scenario"})
METHOD_DECORATORS = frozenset(
    {"loadpilot.task", "loadpilot.dsl.task", "loadpilot.teardown", "loadpilot.dsl.teardown"}
)
KNOWN_DUNDERS = frozenset({"__all__", "__version__", "__author__"})
"""Double-underscore names of a module without a meaning at run time."""
BUILTIN_DECORATORS = frozenset({"staticmethod", "classmethod", "property"})


def import_effects(file: SourceFile) -> list[Reason]:
    """List everything that the import of a file may do beside defining things."""
    check = _ImportCheck(file)
    return [Reason(file.at(node), f"the file {what}") for node, what in check.module()]


class _ImportCheck:
    def __init__(self, file: SourceFile) -> None:
        self.file = file

    def module(self) -> Iterator[tuple[ast.AST, str]]:
        for statement in self.file.tree.body:
            yield from self.statement(statement)

    def statement(self, statement: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
        match statement:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield from self.imported(statement, alias.name)
            case ast.ImportFrom(module=module, level=level, names=aliases):
                yield from self.imported(statement, "." if level or module is None else module)
                if any(alias.name == "*" for alias in aliases):
                    yield statement, f"imports everything of {module}, which may hide anything"
            case ast.If(test=test, orelse=[]) if self.never_runs(test):
                pass
            case ast.ClassDef():
                yield from self.class_(statement)
            case _:
                yield from self.definition(statement, frozenset())

    def definition(
        self, statement: ast.stmt, decorators: frozenset[str]
    ) -> Iterator[tuple[ast.AST, str]]:
        """Check a statement of a module or a class."""
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name))
            ) if name.startswith("__") and name not in KNOWN_DUNDERS:
                yield statement, f"defines {name}"
            case ast.Assign(targets=[ast.Name()], value=value):
                yield from self.value(value)
            case ast.AnnAssign(target=ast.Name(), value=value, annotation=annotation):
                yield from self.value(annotation)
                if value is not None:
                    yield from self.value(value)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self.function(statement, decorators)
            case _:
                yield statement, f"contains {describe(statement)} outside of its functions"

    def class_(self, node: ast.ClassDef) -> Iterator[tuple[ast.AST, str]]:
        if node.keywords:
            yield node, f"gives class {node.name} a metaclass or arguments"
        for base in node.bases:
            yield from self.value(base)
        for decorator in node.decorator_list:
            yield from self.decorator(decorator, CLASS_DECORATORS)
        for statement in node.body:
            for name in _defined(statement):
                if name.startswith("__"):
                    yield statement, f"defines {name} in class {node.name}"
            yield from self.definition(statement, METHOD_DECORATORS)

    def function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: frozenset[str]
    ) -> Iterator[tuple[ast.AST, str]]:
        for decorator in node.decorator_list:
            match decorator:
                case ast.Name(id=name) if (
                    decorators and name in BUILTIN_DECORATORS and self.is_free(name)
                ):
                    pass
                case _:
                    yield from self.decorator(decorator, decorators)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        values: list[ast.expr | None] = [*arguments.defaults, *arguments.kw_defaults, node.returns]
        for value in [*values, *(one.annotation for one in every)]:
            if value is not None:
                yield from self.value(value)

    def decorator(self, node: ast.expr, known: frozenset[str]) -> Iterator[tuple[ast.AST, str]]:
        callee = node.func if isinstance(node, ast.Call) else node
        if self.file.bindings.origin_of(callee) not in known:
            yield node, f"decorates with @{ast.unparse(callee)}, which may do anything"
        if isinstance(node, ast.Call):
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from self.value(value)

    def value(self, node: ast.expr) -> Iterator[tuple[ast.AST, str]]:
        for part in ast.walk(node):
            match part:
                case ast.Call():
                    if not self.is_pure(part):
                        yield part, f"calls `{ast.unparse(part.func)}()` while it is imported"
                case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                    yield part, f"contains {describe(part)} outside of its functions"
                case _:
                    pass

    def is_pure(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Name(id=name) if name in PURE_BUILTINS and self.is_free(name):
                return True
            case _:
                is_constant = self.file.bindings.is_constant_call(call)
                return is_constant or self.file.bindings.origin_of(call.func) in PURE

    def is_free(self, name: str) -> bool:
        return not self.file.bindings.binds(name)

    def imported(self, node: ast.stmt, module: str) -> Iterator[tuple[ast.AST, str]]:
        root = module.partition(".")[0]
        found = sys.modules.get(root)
        own = getattr(found, "__file__", None) or ""
        beside = self.file.folder
        if root not in HARMLESS or own.startswith(f"{beside}/"):
            yield node, f"imports {module}, which may do anything while it is imported"

    def never_runs(self, test: ast.expr) -> bool:
        match test:
            case ast.Name(id="TYPE_CHECKING"):
                return self.file.bindings.origin_of(test) == "typing.TYPE_CHECKING"
            case ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ):
                return self.is_free("__name__")
            case _:
                return False


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []
