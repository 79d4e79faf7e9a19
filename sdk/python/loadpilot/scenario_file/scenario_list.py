"""The scenario files of a directory, and the facts about scenarios in their syntax trees.

A file is code with the rights of its user: here it is parsed. Must never import or execute one, or
leave the directory.
"""

from __future__ import annotations

import ast
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dsl import DEFAULTS
from .constants import Bindings
from .load import SCENARIO_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path("scenarios")
"""Folder of the scenario files, if there is one; else the directory itself."""
FILES_MAX = 200
"""Maximum number of files in the list."""
DECORATOR = "scenario"
"""Name of the decorator of a scenario."""
PACKAGE = "loadpilot"
SETTING_CHARS_MAX = 24
"""Maximum length of a setting that is shown as its expression."""


@dataclass(frozen=True, slots=True)
class ListedScenario:
    """A scenario as its decorator describes it."""

    name: str
    settings: dict[str, Any]
    """Literal settings, by name; of others the expression."""

    @property
    def load(self) -> str:
        """Describe its load: ``50 rps · 20s · ramp``, ``8 users · 1m · closed loop``."""
        for name in ("replay_curve", "replay_run"):
            if name in self.settings:
                scale = self.settings.get("scale", 1)
                return f"{self.settings[name]} · at {scale} times · replay"
        if "stages" in self.settings:
            return f"{_stages(self.settings['stages'], 'rps')} · stages"
        if "user_stages" in self.settings:
            return f"{_stages(self.settings['user_stages'], 'users')} · closed loop"
        settings = {**DEFAULTS, **self.settings}
        if "users" in settings and "rps" not in self.settings:
            return f"{settings['users']} users · {settings['duration']} · closed loop"
        return f"{settings['rps']} rps · {settings['duration']} · {settings['mode']}"


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A file that defines scenarios, or cannot be parsed."""

    file: str
    """Its path relative to the directory."""
    scenarios: list[ListedScenario]
    """Its scenarios; empty for a file that cannot be parsed."""

    @property
    def names(self) -> list[str]:
        """The names of its scenarios."""
        return [one.name for one in self.scenarios]

    @property
    def types(self) -> list[ListedScenario]:
        """The scenarios that run together when none is chosen; empty where one has to be.

        A share of 0 leaves a scenario out.
        """
        if len(self.scenarios) == 1 or not any("share" in one.settings for one in self.scenarios):
            return []
        return [one for one in self.scenarios if one.settings.get("share") != 0]

    @property
    def load(self) -> str:
        """Describe the load of the types: the settings that each makes apply to the whole run."""
        joined = {name: value for one in self.types for name, value in one.settings.items()}
        return ListedScenario("", joined).load


def scenario_files(directory: Path) -> list[ScenarioFile]:
    """List the files with scenarios, by name; files that begin with ``_`` are left out."""
    folder = directory / FOLDER
    folder = folder if folder.is_dir() and _is_inside(folder, directory) else directory
    paths = sorted(folder.glob("[!_]*.py"))[:FILES_MAX]
    found = (_read(path, directory) for path in paths)
    return [one for one in found if one is not None]


def _is_inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


def _read(path: Path, directory: Path) -> ScenarioFile | None:
    """Read one file; None unless it is a regular file in the directory with a scenario."""
    try:
        if not _is_inside(path, directory) or not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as opened:
            text = opened.read(SCENARIO_BYTES_MAX + 1)
    except OSError:
        return None
    name = str(path.relative_to(directory))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The command reports the place. A broken file without scenarios is not listed.
        return ScenarioFile(name, []) if b"@scenario" in text else None
    scenarios = list(_scenarios(tree))
    return ScenarioFile(name, scenarios) if scenarios else None


def _scenarios(tree: ast.Module) -> Iterator[ListedScenario]:
    """Find the classes of a module that are marked as scenarios, by any name of the decorator."""
    modules, markers = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names) if module == PACKAGE:
                markers |= {one.asname or one.name for one in names if one.name == DECORATOR}
            case ast.Import(names=names):
                modules |= {one.asname or one.name for one in names if one.name == PACKAGE}
    bindings = None
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                if _marks(decorator, modules, markers):
                    bindings = bindings or Bindings.of(tree)
                    yield ListedScenario(node.name, _settings(decorator, bindings))


def _marks(decorator: ast.expr, modules: set[str], markers: set[str]) -> bool:
    match decorator:
        case ast.Call(func=function):
            return _marks(function, modules, markers)
        case ast.Name(id=name):
            return name in markers
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return module in modules and name == DECORATOR
    return False


def _settings(decorator: ast.expr, bindings: Bindings) -> dict[str, Any]:
    """Read the arguments of a decorator; those that are None count as absent."""
    if not isinstance(decorator, ast.Call):
        return {}
    named = {one.arg: one.value for one in decorator.keywords if one.arg is not None}
    values = {name: _value(value, bindings) for name, value in named.items()}
    return {name: value for name, value in values.items() if value is not None}


def _value(node: ast.expr, bindings: Bindings) -> Any:
    """Return the value of a literal or of a constant; of anything else its expression."""
    if isinstance(node, ast.Name):
        node = bindings.value_of(node.id) or node
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        text = ast.unparse(node)
        return text if len(text) <= SETTING_CHARS_MAX else f"{text[: SETTING_CHARS_MAX - 1]}…"


def _stages(stages: Any, unit: str) -> str:
    """Describe the number of stages and their highest target, as far as the tree tells."""
    if not isinstance(stages, list | tuple):
        return str(stages)
    rates = [one[1] for one in stages if isinstance(one, list | tuple) and len(one) == 2]
    rates = [one for one in rates if isinstance(one, int | float)]
    peak = f"up to {max(rates):g} {unit}" if len(rates) == len(stages) and rates else ""
    count = f"{len(stages)} stage{'' if len(stages) == 1 else 's'}"
    return f"{peak} · {count}" if peak else count
