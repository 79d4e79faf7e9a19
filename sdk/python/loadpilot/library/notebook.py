"""A scenario of a notebook or an interactive session, as a file of its own.

The class may use what other cells import and define. Its file has these statements and no others,
so that loading it runs no cell again. Nothing is executed here.
"""

from __future__ import annotations

import ast
import linecache
import re
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from symtable import symtable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
HEX = re.compile(r"[0-9a-f]+")


def source_of(scenario: type, cell: str | None) -> str | None:
    """Gather the statements that a class needs; None when its cell has no source.

    ``cell`` is the file name in the code of the class. The other cells are the sources that Python
    keeps under names of the same form.
    """
    if cell is None or not linecache.getlines(cell):
        return None
    form = HEX.sub("", cell)
    cells = [name for name in linecache.cache if HEX.sub("", name) == form]
    return gathered(scenario.__name__, ["".join(linecache.getlines(name)) for name in cells])


def gathered(name: str, cells: list[str]) -> str:
    """Pick the statements that bind ``name`` and what they use in turn, in the cells' order."""
    statements: list[tuple[ast.stmt, str]] = []
    names: list[tuple[set[str], set[str]]] = []
    for cell in cells:
        with suppress(SyntaxError):  # a cell of magic commands
            body = ast.parse(cell).body
            names += [_names(one) for one in body]
            statements += [(one, cell) for one in body]
    needed, taken = {name}, set[int]()
    is_complete = False
    while not is_complete:
        is_complete = True
        for place, (bound, used) in enumerate(names):
            if place not in taken and bound & needed:
                taken.add(place)
                needed |= used
                is_complete = False
    picked = [statements[place] for place in sorted(taken)]
    future = [_text(one, cell) for one, cell in statements if _is_future(one)]
    return "\n".join([*dict.fromkeys(future), *(_text(one, cell) for one, cell in picked), ""])


@contextmanager
def written(text: str) -> Iterator[str]:
    """Write a scenario beside the files that it names: into the working directory, for a run."""
    digest = sha256(text.encode()).hexdigest()
    file = Path(f"cell_{digest[:12]}.py")
    file.write_text(text, encoding="utf-8")
    try:
        yield str(file)
    finally:
        file.unlink(missing_ok=True)


def explained(message: str, file: str, text: str) -> str:
    """Replace file and line in a message by the text of the line."""
    lines = text.splitlines()

    def line(place: re.Match[str]) -> str:
        number = int(place[1])
        return f"notebook, line `{lines[number - 1].strip()}`" if 0 < number <= len(lines) else file

    return re.sub(rf"\S*{re.escape(file)}:(\d+)", line, message)


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement binds in its module, and those that it may read there.

    An import of all names binds ``*``, which every statement may read. Raises SyntaxError.
    """
    module = symtable(ast.unparse(statement), "cell", "exec")
    bound = {one.get_name() for one in module.get_symbols() if one.is_local()}
    if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
        bound.add("*")
    used, scopes = {"*"}, [module]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        # A class reads a name of its own from the module until it has bound it.
        is_read_outside = scope.get_type() in {"module", "class"}
        used |= {
            one.get_name()
            for one in scope.get_symbols()
            if (one.is_referenced() if is_read_outside else one.is_global())
        }
    return bound, used


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _text(statement: ast.stmt, cell: str) -> str:
    """The lines of a statement, decorators included."""
    decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return "\n".join(cell.splitlines()[first - 1 : statement.end_lineno])
