"""Load models: the users of a target, their requests with frequencies, and their think times.

A model is a TOML file. Reading it finds all mistakes; each names its place in the file.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ...inputs.distribution import FLAG_EXAMPLES, of_flag
from ...inputs.units import Wrong, duration_us
from ...problem import Problem, Refused, nearest, rule
from ...request.encoding import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

VERSION = 1
"""Version of the form of the file."""
FILE_BYTES_MAX = 4 << 20
"""Maximum size of a model, in bytes."""
USERS_MAX = 2**32 - 1
SHARE_MAX = 2**32 - 1
SCALE_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Action:
    """A kind of request that users of a type send."""

    name: str
    """Name of the call in reports."""
    share: int
    """How often it is chosen, relative to the other actions of its type."""
    method: str
    paths: tuple[str, ...]
    """Paths with their queries; each request takes the next one of a shuffled order."""
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    """Body; None for none."""


@dataclass(frozen=True, slots=True)
class UserType:
    """Users of one kind."""

    name: str
    """Name of the scenario, a Python name."""
    share: int
    """Number of its users, relative to the other types."""
    wait: str | None
    """Think time, as of `--wait`; None for none."""
    session: str | None
    """Length of sessions, as of `--session`; None if users stay for the whole run."""
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class LoadModel:
    """A load model."""

    users: int
    duration: str
    scale: float
    types: tuple[UserType, ...]

    @property
    def scaled_users(self) -> int:
        """Number of users times the scale, at least one for each type."""
        return max(len(self.types), round(self.users * self.scale))


def read(path: Path) -> LoadModel:
    """Read a model; raises :class:`Refused` with all problems."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise Refused([Problem(str(path), str(error.strerror or error))]) from None
    if len(content) > FILE_BYTES_MAX:
        raise Refused([Problem(str(path), f"is larger than {FILE_BYTES_MAX >> 20} MiB")])
    try:
        table = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused([Problem(str(path), f"is not TOML: {error}")]) from None
    if "model" not in table:
        what = f"is no load model: it has no line `model = {VERSION}`"
        raise Refused([Problem(str(path), what)])
    reader = _Reader([])
    model = reader.model(_Table(reader, table, str(path), ""))
    if reader.problems:
        raise Refused(reader.problems)
    return model


@dataclass(slots=True)
class _Reader:
    problems: list[Problem]

    def model(self, table: _Table) -> LoadModel:
        table.take("model", VERSION, f"must be {VERSION}, the version of the form", _is_version)
        users = table.whole("users", None, USERS_MAX)
        duration = table.text("duration", "1m")
        table.check_duration("duration", duration)
        is_scale = _number_up_to(SCALE_MAX)
        scale = table.take("scale", 1, f"must be a number above 0, {SCALE_MAX:,} at most", is_scale)
        types = tuple(self.user_type(one) for one in table.tables("type"))
        table.end()
        table.unique("type", [one.name for one in types])
        return LoadModel(users, duration, float(scale), types)

    def user_type(self, table: _Table) -> UserType:
        name = table.text("name", None)
        if name and not is_python_name(name):
            self.problems.append(rule(table.at("name"), "must be a Python name", name))
        share = table.whole("share", 1, SHARE_MAX)
        wait, session = (table.time(key) for key in ("wait", "session"))
        actions = tuple(self.action(one) for one in table.tables("action"))
        table.end()
        table.unique("action", [one.name for one in actions])
        return UserType(name, share, wait, session, actions)

    def action(self, table: _Table) -> Action:
        method = table.text("method", "GET").upper()
        if method not in METHODS:
            must = f"must be one of {', '.join(METHODS)}"
            self.problems.append(rule(table.at("method"), must, method))
        paths = table.paths()
        default = f"{method} {paths[0].partition('?')[0]}" if len(paths) == 1 else None
        name = table.text("name", default)
        share = table.whole("share", 1, SHARE_MAX)
        is_text = lambda value: isinstance(value, dict) and _are_texts(value.values())  # noqa: E731
        headers = table.take("headers", {}, 'must be texts by name, { Accept = "*/*" }', is_text)
        body = table.take("json", None, "must be a value of JSON", _is_json)
        table.end()
        return Action(name, share, method, paths, headers, body)


@dataclass(slots=True)
class _Table:
    """A table of the file, whose keys are taken one by one."""

    reader: _Reader
    left: dict[str, Any]
    file: str
    path: str
    """Its place in the file, such as ``type[0].action[2]``."""
    known: list[str] = field(default_factory=list)

    def at(self, key: str) -> str:
        """Return the place of a key."""
        return f"{self.file}: {self.path}{'.' if self.path else ''}{key}"

    def take(self, key: str, default: Any, must: str, is_valid: Callable[[Any], bool]) -> Any:
        """Take the value of a key; an absent one has the default."""
        self.known.append(key)
        if key not in self.left:
            return default
        value = self.left.pop(key)
        if not is_valid(value):
            self.reader.problems.append(rule(self.at(key), must, value))
            return default
        return value

    def whole(self, key: str, default: int | None, most: int) -> int:
        """Take a whole number from 1 on; without a default it must be there."""
        self.require(key, default)
        must = f"must be a whole number from 1 to {most:,}"
        return int(self.take(key, default or 1, must, _whole_up_to(most)))

    def text(self, key: str, default: str | None) -> str:
        """Take a text; without a default it must be there."""
        self.require(key, default)
        is_text = lambda value: isinstance(value, str) and value != ""  # noqa: E731
        return str(self.take(key, default or "", "must be a text", is_text))

    def require(self, key: str, default: object) -> None:
        """Note a problem if a key without a default is absent."""
        if default is None and key not in self.left:
            self.reader.problems.append(Problem(self.at(key), "must be there"))

    def paths(self) -> tuple[str, ...]:
        """Take ``path`` or ``paths``."""
        must = "must be a path from / on"
        path = self.take("path", None, must, _is_path)
        paths = self.take("paths", None, f"each {must}, one at least", _are_paths)
        if (path is None) == (paths is None) and not self.reader.problems:
            problem = Problem(self.at("path"), "must be there, or paths, and not both")
            self.reader.problems.append(problem)
        return tuple(paths or [path or "/"])

    def tables(self, key: str) -> list[_Table]:
        """Take a list of tables, one at least."""
        must = f"must be tables, [[{key}]] or [[type.{key}]]"
        are_tables = lambda value: isinstance(value, list) and _are(value, dict)  # noqa: E731
        found = self.take(key, [], must, are_tables)
        if not found:
            self.reader.problems.append(Problem(self.at(key), f"{must}, one at least"))
        prefix = f"{self.path}{'.' if self.path else ''}{key}"
        return [
            _Table(self.reader, dict(one), self.file, f"{prefix}[{place}]")
            for place, one in enumerate(found)
        ]

    def check_duration(self, key: str, value: str) -> None:
        """Check a duration."""
        try:
            duration_us(self.at(key), value)
        except Wrong as wrong:
            self.reader.problems.append(wrong.problem)

    def time(self, key: str) -> str | None:
        """Take a time of users: a duration, or a distribution; None if it is absent."""
        value = self.text(key, "")
        try:
            if ":" in value:
                of_flag(self.at(key), value).in_plan(self.at(key), FLAG_EXAMPLES)
            elif value:
                duration_us(self.at(key), value)
        except Wrong as wrong:
            self.reader.problems.append(wrong.problem)
        return value or None

    def unique(self, key: str, names: list[str]) -> None:
        """Check that names differ."""
        for name in sorted({name for name in names if name and names.count(name) > 1}):
            problem = Problem(self.at(key), f"two have the name {name!r}")
            self.reader.problems.append(problem)

    def end(self) -> None:
        """Refuse the keys that nothing took."""
        for key in self.left:
            near = nearest(key, self.known)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(self.known)}"
            self.reader.problems.append(Problem(self.at(key), f"is no key here; {hint}"))


def is_python_name(name: str) -> bool:
    """Whether a class or a method may have the name."""
    return name.isidentifier() and name.isascii() and not iskeyword(name)


def _is_version(value: object) -> bool:
    return type(value) is int and value == VERSION


def _whole_up_to(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 1 <= value <= most


def _number_up_to(most: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in {int, float} and 0 < value <= most


def _are(values: Any, kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def _are_texts(values: Any) -> bool:
    return _are(values, str)


def _is_path(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/")


def _are_paths(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(map(_is_path, value))


def _is_json(value: object) -> bool:
    """Whether a value of TOML is one of JSON: dates are not, and no infinite number."""
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return value - value == 0
    return isinstance(value, str | int)
