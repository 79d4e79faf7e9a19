"""Options in TOML files: ``--config FILE``, ``loadpilot.toml``, ``[tool.loadpilot]``; profiles.

A key that is no option, or a value of another type, is an error: nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...problem import Problem, nearest, rule
from .option import SECRET, SELECTING, Kind, Setting

if TYPE_CHECKING:
    from pathlib import Path

    from .option import Option

PROJECT_FILE = "loadpilot.toml"
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "loadpilot")
"""Table of the configuration in a pyproject.toml."""
PROFILES = "profiles"
PROFILE_RULE = "must be a table of options such as [profiles.high]"
FILE_BYTES_MAX = 1 << 20
"""Maximum size of a configuration file, in bytes."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The settings in a configuration file."""

    name: str
    settings: dict[str, Setting] = field(default_factory=dict)
    profiles: dict[str, dict[str, Setting]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads configuration files of a directory; collects the problems."""

    folder: Path
    known: Mapping[str, Option]
    """All options by key."""
    problems: list[Problem]

    def named(self, text: str) -> ConfigFile | None:
        """Read the file of ``--config``."""
        path = self.folder / text
        content = self._content(path, text)
        if content is None:
            self.problems.append(rule("--config", "must be a TOML file that can be read", text))
            return None
        root = self._parsed(text, content)
        if path.name == PYPROJECT and root is not None:
            return self._tool(text, root)
        return self._read(text, "", root)

    def project(self) -> ConfigFile | None:
        """Read ``loadpilot.toml``, else ``[tool.loadpilot]``; None without either."""
        content = self._content(self.folder / PROJECT_FILE, PROJECT_FILE)
        own = None
        if content is not None:
            own = self._read(PROJECT_FILE, "", self._parsed(PROJECT_FILE, content))
        content = self._content(self.folder / PYPROJECT, PYPROJECT)
        # Most projects have a pyproject.toml without the table: no parser is loaded for them.
        if content is None or not all(word.encode() in content for word in TABLE):
            return own
        root = self._parsed(PYPROJECT, content)
        if root is None or not isinstance(root.get(TABLE[0]), Mapping):
            return own
        if own is not None and TABLE[1] in root[TABLE[0]]:
            what = f"is not used beside {PROJECT_FILE}; keep one of them"
            self.problems.append(Problem(f"{PYPROJECT}: [{'.'.join(TABLE)}]", what))
            return own
        return own or self._tool(PYPROJECT, root)

    def _tool(self, name: str, root: Mapping[str, Any]) -> ConfigFile | None:
        table = root.get(TABLE[0], {}).get(TABLE[1])
        return None if table is None else self._read(name, f"{'.'.join(TABLE)}.", table)

    def _content(self, path: Path, name: str) -> bytes | None:
        """Read a file; None when it is absent."""
        try:
            with path.open("rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            self.problems.append(Problem(name, f"cannot be read: {error.strerror}"))
            return None
        if len(content) > FILE_BYTES_MAX:
            self.problems.append(Problem(name, "must be a TOML file of at most 1 MiB"))
            return b""
        return content

    def _parsed(self, name: str, content: bytes) -> Mapping[str, Any] | None:
        import tomllib  # noqa: PLC0415  (start-up is a promise)

        try:
            return tomllib.loads(content.decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self.problems.append(Problem(name, f"must be TOML: {error}"))
            return None

    def _read(self, name: str, table: str, root: object) -> ConfigFile | None:
        """Read the options and profiles in a table."""
        if root is None:
            return None
        if not isinstance(root, Mapping):
            place = f"{name}: {table.rstrip('.')}"
            self.problems.append(rule(place, "must be a table of options", root))
            return None
        top = {key: value for key, value in root.items() if key != PROFILES}
        file = ConfigFile(name, self._settings(name, table, top))
        profiles = root.get(PROFILES, {})
        if not isinstance(profiles, Mapping):
            self.problems.append(rule(f"{name}: {table}{PROFILES}", PROFILE_RULE, profiles))
            return file
        for profile, options in profiles.items():
            place = f"{table}{PROFILES}.{profile}"
            if isinstance(options, Mapping):
                file.profiles[profile] = self._settings(name, f"{place}.", options)
            else:
                self.problems.append(rule(f"{name}: {place}", PROFILE_RULE, options))
        return file

    def _settings(self, name: str, table: str, root: Mapping[str, Any]) -> dict[str, Setting]:
        """Read the options of a table; ``warm-up`` is ``warm_up``."""
        settings: dict[str, Setting] = {}
        for written, value in root.items():
            place = f"{name}: {table}{written}"
            key = written.replace("-", "_")
            wrong = self._misplaced(key)
            if key in settings:
                wrong = f"stands there twice; drop {key} or {key.replace('_', '-')}"
            if wrong is not None:
                self.problems.append(Problem(place, wrong))
                continue
            option = self.known[key]
            texts = texts_of(option.kind, value)
            if texts is None:
                self.problems.append(rule(place, f"must be {option.kind.value}", value))
            else:
                settings[key] = Setting(texts, place)
        return settings

    def _misplaced(self, key: str) -> str | None:
        """Return why a key cannot be in a file; None when it can."""
        if key in SELECTING:
            return f"selects a configuration, so that none can set it; use --{key}"
        if key in SECRET:
            return "is a secret, and files with settings are shared; set NATS_TOKEN instead"
        if key in self.known:
            return None
        settable = [one for one in self.known if one not in SECRET | SELECTING]
        near = nearest(key, [*settable, PROFILES])
        hint = f"did you mean {near}?" if near else f"options are {', '.join(sorted(settable))}"
        return f"is not an option; {hint}"


def texts_of(kind: Kind, value: object) -> tuple[str, ...] | None:
    """Write a value of TOML as it is typed on the command line; None for another type."""
    if kind is Kind.SWITCH:
        return (str(value).lower(),) if isinstance(value, bool) else None
    if kind is Kind.PAIRS and isinstance(value, Mapping):
        return _pairs(value)
    if kind is Kind.TEXT or isinstance(value, str):
        return (str(value),) if _is_scalar(value) else None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)


def _pairs(table: Mapping[str, object], prefix: str = "") -> tuple[str, ...] | None:
    """Write ``{p99_ms = 500}`` as ``p99_ms=500``; a list is several values of one name.

    A table in the table is a name with a dot that was not quoted: ``orders.count = ">= 100"``.
    """
    pairs: list[str] = []
    for name, value in table.items():
        if isinstance(value, Mapping):
            inner = _pairs(value, f"{prefix}{name}.")
            if inner is None:
                return None
            pairs += inner
            continue
        values = value if isinstance(value, list) else [value]
        if not all(map(_is_scalar, values)):
            return None
        pairs += [f"{prefix}{name}={one}" for one in values]
    return tuple(pairs)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def profile_of(files: list[ConfigFile], name: str, place: str) -> Problem | None:
    """Return the problem of a profile that no file has."""
    names = sorted({profile for file in files for profile in file.profiles})
    if name in names:
        return None
    if not names:
        hint = f"no configuration file has profiles; add [profiles.{name}] to {PROJECT_FILE}"
    else:
        near = nearest(name, names)
        hint = f"did you mean {near}?" if near else f"profiles are {', '.join(names)}"
    return Problem(place, f"there is no profile {name!r}; {hint}")
