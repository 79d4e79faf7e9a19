"""A scenario of a notebook or an interactive session, as a file of its own.

The class may use what other cells import and define. Its file has these statements and no others,
so that loading it runs no cell again. Nothing is executed here.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from symtable import symtable
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
HEX = re.compile(r"[0-9a-f]+")

_users: Counter[Path] = Counter()
"""Number of runs that use each file now."""
_counts_users = threading.Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement of a cell."""

    tree: ast.stmt
    text: str
    """Its lines, with its decorators."""
    file: str
    """File name of its cell."""
    bound: set[str]
    """The names that it binds in its module."""
    used: set[str]
    """The names that it may read there."""


def source_of(scenario: type) -> str | None:
    """Gather the statements that a class needs; None when its cell has no source.

    The other cells are the sources that Python keeps under names of the same form.
    """
    cell = _defining_file(scenario)
    if cell is None or not linecache.getlines(cell):
        return None
    form = HEX.sub("", cell)
    names = [name for name in list(linecache.cache) if HEX.sub("", name) == form]
    cells = {name: "".join(linecache.getlines(name)) for name in names}
    session = sys.modules.get(scenario.__module__)
    values = {} if session is None else vars(session)
    return gathered(scenario.__name__, cells, {**values, scenario.__name__: scenario})


def gathered(name: str, cells: Mapping[str, str], values: Mapping[str, object]) -> str:
    """Pick the statements that bind ``name`` and what they use in turn, in the cells' order.

    ``cells`` are texts by file name, ``values`` what each name has now.
    """
    statements = [one for file, text in cells.items() for one in _statements(file, text)]
    needed, taken = {name}, set[int]()
    is_complete = False
    while not is_complete:
        is_complete = True
        for place, one in enumerate(statements):
            if place not in taken and one.bound & needed:
                taken.add(place)
                needed |= one.used
                is_complete = False
    picked = [statements[place] for place in sorted(taken)]
    for needed_name in sorted(needed & values.keys()):
        _restore(needed_name, values[needed_name], picked)
    future = [one.text for one in statements if _is_future(one.tree)]
    return "\n".join([*dict.fromkeys(future), *(one.text for one in picked), ""])


@contextmanager
def written(text: str) -> Iterator[str]:
    """Write a scenario beside the files that it names: into the working directory, for a run.

    Runs of one text at the same time share a file, since its name is part of the plan.
    """
    digest = sha256(text.encode()).hexdigest()
    file = Path(f"cell_{digest[:12]}.py")
    path = file.absolute()
    with _counts_users:
        if not _users[path]:
            path.write_text(text, encoding="utf-8")
        _users[path] += 1
    try:
        yield str(file)
    finally:
        with _counts_users:
            _users[path] -= 1
            if not _users[path]:
                del _users[path]
                path.unlink(missing_ok=True)


def explained(message: str, file: str, text: str) -> str:
    """Replace file and line in a message by the text of the line."""
    lines = text.splitlines()

    def line(place: re.Match[str]) -> str:
        number = int(place[1])
        return f"notebook, line `{lines[number - 1].strip()}`" if 0 < number <= len(lines) else file

    return re.sub(rf"\S*{re.escape(file)}:(\d+)", line, message)


def _statements(file: str, cell: str) -> list[Statement]:
    """Read the statements of a cell; empty for one that Python cannot read."""
    try:
        return [
            Statement(tree, _text(tree, cell), file, *_names(tree)) for tree in ast.parse(cell).body
        ]
    except SyntaxError:  # a cell of magic commands
        return []


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


def _restore(name: str, value: object, picked: list[Statement]) -> None:
    """Repeat the statement that made the value of a name, if a later one would replace it.

    A kernel names a cell by its text. A cell that is edited back to an earlier text therefore has
    the position of that earlier text, before the cells that it has replaced.
    """
    binding = [one for one in picked if name in one.bound]
    if binding and _is_source_of(binding[-1], value) is False:
        source = next((one for one in reversed(binding) if _is_source_of(one, value)), None)
        if source is not None:
            picked.insert(picked.index(binding[-1]) + 1, source)


def _is_source_of(statement: Statement, value: object) -> bool | None:
    """Whether a value comes from this statement; None where that cannot be determined."""
    if isinstance(statement.tree, DEFINITIONS):
        file = _defining_file(value)
        return None if file is None else file == statement.file
    if isinstance(statement.tree, ast.Assign | ast.AnnAssign) and statement.tree.value is not None:
        with suppress(ValueError):
            # Not compared: objects in a list may have an equality of their own.
            return repr(ast.literal_eval(statement.tree.value)) == repr(value)
    return None


def _defining_file(value: object) -> str | None:
    """The file name in the code of a function, or of the own functions of a class."""
    if isinstance(value, type):
        functions = (one for one in vars(value).values() if isinstance(one, FunctionType))
        own = (one for one in functions if one.__module__ == value.__module__)
        return next((one.__code__.co_filename for one in own), None)
    return value.__code__.co_filename if isinstance(value, FunctionType) else None


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _text(statement: ast.stmt, cell: str) -> str:
    """The lines of a statement, decorators included."""
    decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return "\n".join(cell.splitlines()[first - 1 : statement.end_lineno])
