"""``docs/reference/dsl.md``: what scenario files and programs import, from signatures and comments.

The modules are parsed, not imported: the text below a field that explains it is in the source of a
module only.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .markdown import code, escaped, fenced, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = Path(__file__).parents[2] / "sdk" / "python" / "loadpilot"
HEAD = """# Python

<!-- Written by `./dev gen` from the modules of the package: never edit it. -->

What `from loadpilot import …` offers to scenario files and to programs. Values and limits are
checked when a file is compiled, before anything starts.
"""
SECTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Scenarios": {
        "dsl.py": ("scenario", "task", "setup", "teardown", "VUser", "Connections", "TimeOuts"),
        "inputs/distribution.py": ("exponential", "lognormal"),
    },
    "Requests and responses": {
        "client.py": ("LoadClient", "Extras", "InBatch"),
        "_native.pyi": ("Response",),
        "infer.py": ("triton_binary",),
    },
    "Inputs": {
        "inputs/params.py": ("env",),
        "inputs/feeds.py": ("feed",),
        "inputs/files.py": ("file",),
        "inputs/random.py": ("now", "Rand"),
    },
    "Metrics of a scenario": {
        "metrics.py": ("counter", "rate", "trend", "Counter", "Rate", "Trend"),
    },
    "Programs": {
        "library/runner.py": ("run",),
        "library/result.py": ("RunResult",),
        "library/tables/run.py": ("open", "Run"),
    },
    "Errors": {
        "errors.py": (
            *("RequestError", "HTTPStatusError", "RedirectError"),
            *("GateFailed", "RunFailed", "RunInterrupted", "RunRefused"),
        ),
    },
}
"""Names on the page, by section and module."""
AS_INSTANCE = {"Rand": "rand"}
"""Classes whose only instance users import, with the name of that instance."""
WIDTH = 88
Function = ast.FunctionDef | ast.AsyncFunctionDef


def dsl_page() -> str:
    """Write the page."""
    parts = [HEAD]
    for title, modules in SECTIONS.items():
        parts.append(f"## {title}")
        for module, names in modules.items():
            for name in names:
                parts += _entry(module, name)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


@cache
def _module(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text(encoding="utf-8"))


def _entry(module: str, name: str) -> Iterator[str]:
    found = [
        node
        for node in ast.walk(_module(module))
        if isinstance(node, ast.ClassDef | Function) and node.name == name
    ]
    yield f"### {AS_INSTANCE.get(name, name)}"
    if isinstance(found[0], ast.ClassDef):
        yield from _class(found[0])
    else:
        functions = [node for node in found if isinstance(node, Function)]
        yield fenced(_signature(_declared(functions)), "python")
        yield _prose(_documentation(functions))


def _declared(functions: list[Function]) -> Function:
    """Return the overload that names the most parameters."""
    return max(functions, key=lambda node: len(node.args.args) + len(node.args.kwonlyargs))


def _documentation(functions: list[Function]) -> str:
    return next((text for node in functions if (text := ast.get_docstring(node))), "")


def _class(node: ast.ClassDef) -> Iterator[str]:
    documentation = ast.get_docstring(node)
    if documentation:
        yield _prose(documentation)
    fields = list(_fields(node))
    if fields:
        yield table(("field", "type", "meaning"), fields)
    methods: dict[str, list[Function]] = {}
    for member in node.body:
        if isinstance(member, Function) and not member.name.startswith("_"):
            methods.setdefault(member.name, []).append(member)
    for functions in methods.values():
        if not _is_property(functions[0]):
            yield fenced(_signature(_declared(functions)), "python")
            yield _prose(_documentation(functions))


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """List annotated fields with the text below each, and properties."""
    for member, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            text = ""
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                text = inspect.cleandoc(str(below.value.value))
            if not member.target.id.startswith("_"):
                yield code(member.target.id), code(ast.unparse(member.annotation)), _words(text)
        elif isinstance(member, Function) and _is_property(member) and member.returns:
            text = ast.get_docstring(member) or ""
            yield code(member.name), code(ast.unparse(member.returns)), _words(text)


def _is_property(node: Function) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in {"property", "cached_property"}
        for one in node.decorator_list
    )


def _signature(node: Function) -> str:
    """Write a signature, on one line if it fits."""
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    parameters = list(_parameters(node.args))
    line = f"{keyword} {node.name}({', '.join(parameters)}){returns}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {one},\n" for one in parameters)
    return f"{keyword} {node.name}(\n{inner}){returns}"


def _parameters(args: ast.arguments) -> Iterator[str]:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for number, (one, default) in enumerate(zip(positional, defaults, strict=True), 1):
        if one.arg not in {"self", "cls"}:
            yield _parameter(one, default)
        if number == len(args.posonlyargs) and one.arg != "self":
            yield "/"
    if args.vararg:
        yield f"*{_parameter(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    for one, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(one, default)
    if args.kwarg:
        yield f"**{_parameter(args.kwarg, None)}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    text = one.arg + (f": {ast.unparse(one.annotation)}" if one.annotation else "")
    if default is None:
        return text
    return text + (" = " if one.annotation else "=") + ast.unparse(default)


def _prose(text: str) -> str:
    """Write a comment: definitions (a line, and indented lines below it) become a list."""
    lines = []
    for line in _words(text).splitlines():
        if line.startswith("    "):
            lines.append(f"  {line.strip()}")
        elif line.startswith("`") and re.fullmatch(r"(`\w+`(, )?)+( \(.*\))?", line):
            lines.append(f"- {line}:")
        else:
            lines.append(line)
    return "\n".join(lines)


def _words(text: str) -> str:
    text = re.sub(r":\w+:`~?([\w.]+)`", r"`\1`", text.replace("``", "`"))
    return escaped(text)
