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
    for cell in cells:
        with suppress(SyntaxError):  # a cell of magic commands
            statements += [(one, cell) for one in ast.parse(cell).body]
    needed, taken = {name}, set[int]()
    is_complete = False
    while not is_complete:
        is_complete = True
        for place, (statement, _) in enumerate(statements):
            if place not in taken and _bound(statement) & needed:
                taken.add(place)
                needed |= _used(statement)
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


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds in its module; an import of all names counts as ``*``."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _used(statement: ast.stmt) -> set[str]:
    """The names that a statement may read, and those that come by imports of all names."""
    names = (one.id for one in ast.walk(statement) if isinstance(one, ast.Name))
    return {*names, "*"}


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _text(statement: ast.stmt, cell: str) -> str:
    """The lines of a statement, decorators included."""
    decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return "\n".join(cell.splitlines()[first - 1 : statement.end_lineno])
