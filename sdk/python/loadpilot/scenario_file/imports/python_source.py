"""An imported scenario as Python, as a person would have written it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .imported_scenario import Column, Drawn, Extracted, Parameter, variables_of
from .layout import INDENT, call, laid_out, literal, quoted
from .names import MODULE, TAKEN, Names, class_name, method_name, snake
from .request_source import TaskWriter
from .secrets import is_secret_field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .imported_scenario import Imported, UserType, Variable

DEFAULT_SETTINGS = {"rps": 1, "duration": "1m"}
"""Load of a scenario whose source has none."""


@dataclass(slots=True)
class Scope:
    """How variables are written."""

    imported: Imported
    parameters: dict[str, str]
    """Name of each parameter, by its variable."""
    used: dict[str, Parameter] = field(default_factory=dict)
    """Parameters that the code uses, by their names."""
    imports: set[str] = field(default_factory=lambda: {"LoadClient", "VUser", "scenario", "task"})
    module: Names = field(default_factory=lambda: Names(MODULE))

    @property
    def has_secrets(self) -> bool:
        """Whether a parameter is a secret: only constant requests are compiled with one."""
        meanings = self.imported.variables.values()
        return any(isinstance(one, Parameter) and one.is_secret for one in meanings)

    def parameter(self, variable: Variable) -> str | None:
        """Return the name of a parameter; None for another kind of variable.

        A value that no response has brought before is one.
        """
        meaning = self.imported.variables.get(variable.name)
        if isinstance(meaning, Extracted):
            meaning = Parameter(None, is_secret=is_secret_field(variable.name))
        if not isinstance(meaning, Parameter):
            return None
        name = self.parameters[variable.name]
        self.used[name] = meaning
        self.imports.add("env")
        return name

    def column(self, variable: Variable) -> Column | None:
        """Return the column of a feed that a variable is."""
        meaning = self.imported.variables.get(variable.name)
        return meaning if isinstance(meaning, Column) else None

    def drawn(self, variable: Variable) -> str | None:
        """Return the code that draws a variable."""
        meaning = self.imported.variables.get(variable.name)
        if not isinstance(meaning, Drawn):
            return None
        self.imports.add(meaning.module)
        return meaning.code


def python_source(imported: Imported, parameters: dict[str, str]) -> str:
    """Write the scenario; ``parameters`` are the names of variables that are parameters."""
    scope = Scope(imported, parameters)
    classes = [line for users in imported.types for line in _user_type(users, scope)]
    lines = [f"# Written from {quoted(imported.origin)} by `loadpilot {imported.command}`."]
    if imported.target is not None:
        lines.append(f"# Its requests go to {quoted(imported.target)}: name the target of a run")
        lines.append("# with --target.")
    ordered = sorted(scope.imports, key=lambda name: (name[0].islower(), name))
    lines += ["", f"from loadpilot import {', '.join(ordered)}", ""]
    for name, parameter in scope.used.items():
        items = [("", literal(name))]
        if parameter.is_secret:
            items.append(("secret=", literal(True)))  # noqa: FBT003
        elif parameter.default is not None:
            items.append(("", literal(parameter.default)))
        lines += laid_out(call("env", *items), 0, f"{name} = ")
    return "\n".join([*lines, *([""] if scope.used else []), *classes]).rstrip() + "\n"


def _user_type(users: UserType, scope: Scope) -> Iterator[str]:
    settings = users.settings or DEFAULT_SETTINGS
    items = [(f"{name}=", literal(value)) for name, value in settings.items()]
    name = scope.module.give(class_name(users.name, "Imported"))
    yield ""
    yield from laid_out(call("scenario", *items), 0, "@")
    yield f"class {name}(VUser):"
    members = Names(TAKEN)
    methods = [members.give(method_name(task.name)) for task in users.tasks]
    feeds = _feeds(users, scope, members)
    for file, feed in feeds.items():
        yield f"{INDENT}{feed} = feed({quoted(file)})"
    for index, (method, task) in enumerate(zip(methods, users.tasks, strict=True)):
        if index or feeds:
            yield ""
        yield f"{INDENT}@task" if task.weight == 1 else f"{INDENT}@task(weight={task.weight})"
        yield f"{INDENT}def {method}(self, client: LoadClient) -> None:"
        yield from TaskWriter(scope, feeds).body(task)
    yield ""


def _feeds(users: UserType, scope: Scope, members: Names) -> dict[str, str]:
    """Name the feeds that the tasks use, by their files."""
    feeds: dict[str, str] = {}
    for task in users.tasks:
        for variable in variables_of(task):
            column = scope.column(variable)
            if column is not None and column.file not in feeds:
                scope.imports.add("feed")
                stem = column.file.rpartition("/")[2].partition(".")[0]
                feeds[column.file] = members.give(snake(stem, "rows"))
    return feeds
