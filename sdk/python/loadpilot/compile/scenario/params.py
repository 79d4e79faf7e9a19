"""Finds the parameters that functions request with ``env(…)``, in the source, before the run.

Calls at the top level have been executed on import. Those in tasks run on agents, where the
submitter's environment is out of reach, so their names are read from the syntax tree. No code of
the user is executed.
"""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any, TypeAlias

from ...inputs.params import ParameterError
from ...problem import Problem, nearest
from ...scenario_file.bundle import imported_beside
from ...scenario_file.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...inputs.params import ParameterSource
    from ...request.headers import Secrets
    from ...scenario_file.load import Loaded

LITERALS = (
    "in a function the arguments of env() must be literals, since they are read before the run"
)
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def read_parameters(loaded: Loaded, cls: type) -> list[Problem]:
    """Read the parameters in the functions of a scenario's files; returns the problems."""
    bases = {base.__name__ for base in cls.__mro__}
    others = frozenset(loaded.scenarios) - bases
    problems = _read_in_file(loaded.file, others, loaded)
    for path in imported_beside(loaded):
        text = path.read_bytes()
        if b"env" not in text:
            continue
        with contextlib.suppress(SyntaxError):  # reported where the module is imported
            file = SourceFile(str(path), ast.parse(text, str(path)))
            problems += _read_in_file(file, frozenset(), loaded)
    return problems


def parameters(
    source: ParameterSource, flags: Mapping[str, str], secrets: Secrets, problems: list[Problem]
) -> dict[str, Any]:
    """Build the plan's ``parameters`` from those requested.

    Adds a problem for each flag whose parameter the scenario does not request.
    """
    for name in flags:
        if name not in source.requested:
            near = nearest(name, source.requested)
            known = f"did you mean {near}?" if near else f"it asks for {_listed(source)}"
            what = f"the scenario never asks for {name!r} with env(); {known}"
            problems.append(Problem("--env", what))
    written: dict[str, str | dict[str, str]] = {}
    for name, one in sorted(source.requested.items()):
        secret = {"secret": secrets.handle(f"env-{name}", one.value)} if one.is_secret else None
        written[name] = secret or one.value
    return {"parameters": written} if written else {}


def _listed(source: ParameterSource) -> str:
    return ", ".join(sorted(source.requested)) or "nothing"


def _read_in_file(file: SourceFile, others: frozenset[str], loaded: Loaded) -> list[Problem]:
    """Read the parameters in the functions of one file, without the classes ``others``."""
    names, modules = _imported(file.tree)
    if not names and not modules:
        return []
    problems = []
    for call in _calls(file.tree, others):
        match call.func:
            case ast.Name(id=name) if name in names:
                pass
            case ast.Attribute(value=ast.Name(id=module), attr="env") if module in modules:
                pass
            case _:
                continue
        read = _arguments(call)
        if read is None:
            problems.append(Problem(file.at(call), LITERALS))
            continue
        parameter, default, secret = read
        try:
            loaded.parameters.read(parameter, default, secret=secret, place=file.at(call))
        except ParameterError as error:
            problems.append(Problem(file.at(call), str(error)))
    return problems


def _imported(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names under which a file imports ``env``, and those of its module."""
    names, modules = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="loadpilot", names=aliases, level=0):
                names |= {one.asname or one.name for one in aliases if one.name == "env"}
            case ast.Import(names=aliases):
                modules |= {one.asname or one.name for one in aliases if one.name == "loadpilot"}
            case _:
                pass
    return names, modules


def _calls(tree: ast.Module, others: frozenset[str]) -> Iterator[ast.Call]:
    """Yield every call inside of a function, in the order of the file."""
    open_nodes: list[tuple[ast.AST, frozenset[str] | None]] = [(tree, None)]
    while open_nodes:
        node, hidden = open_nodes.pop()
        if isinstance(node, ast.ClassDef) and node.name in others:
            continue
        if isinstance(node, ast.Call) and hidden is not None:
            root = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if not (isinstance(root, ast.Name) and root.id in hidden):
                yield node
        inside = hidden
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = (hidden or frozenset()) | _own(node)
        parts = [(child, inside) for child in ast.iter_child_nodes(node)]
        open_nodes += reversed(parts)


def _own(function: Function) -> frozenset[str]:
    """Return the parameters and variables of a function, which hide names of the module."""
    walked = list(ast.walk(function))
    arguments = {node.arg for node in walked if isinstance(node, ast.arg)}
    stored = {n.id for n in walked if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return frozenset(arguments | stored)


def _arguments(call: ast.Call) -> tuple[object, object, bool] | None:
    """Read the arguments of a call of ``env``; None unless they are valid literals."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    given = dict(zip(("name", "default"), call.args, strict=False)) | keywords
    literal = {name: one.value for name, one in given.items() if isinstance(one, ast.Constant)}
    sound = len(literal) == len(call.args) + len(call.keywords) and "name" in literal
    if not sound or not literal.keys() <= {"name", "default", "secret"}:
        return None
    return literal["name"], literal.get("default"), bool(literal.get("secret", False))
