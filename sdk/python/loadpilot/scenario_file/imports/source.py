"""A file of another tool as bounded text, its mistakes, and its parts that are not carried over."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ...problem import Problem, Refused, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_BYTES_MAX = 64 << 20
"""Maximum size of a file, in bytes."""
DEPTH_MAX = 100
"""Maximum depth of nested values."""
REQUESTS_MAX = 10_000
"""Maximum number of requests of a scenario."""
PROBLEMS_MAX = 20
"""Maximum number of mistakes that are listed; the first ones help."""


@dataclass
class Source:
    """The content of a file."""

    name: str
    """Its name in messages."""
    content: bytes
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Notes on parts that are not carried over, each with its places."""

    def note(self, place: str, what: str) -> None:
        """Note a part that is not carried over, or a task for the author of the scenario."""
        self.notes.setdefault(what, []).append(place)

    def lines(self) -> Iterator[str]:
        """List the notes, each with its first place and the number of the others."""
        for what, places in self.notes.items():
            more = f" (and {len(places) - 1:,} more)" if len(places) > 1 else ""
            yield f"{self.at(places[0])}{more}: {what}"

    def at(self, place: str) -> str:
        """Name a place in the file."""
        return f"{self.name}, {place}" if place else self.name

    def wrong(self, place: str, must: str, value: Any) -> None:
        """Add a mistake; raises :class:`Refused` when there are too many."""
        self.problems.append(rule(self.at(place), must, value))
        if len(self.problems) >= PROBLEMS_MAX:
            self.check()

    def refuse(self, place: str, what: str) -> Refused:
        """Make the error that ends the reading."""
        return Refused([*self.problems, Problem(self.at(place), what)])

    def check(self) -> None:
        """Raise :class:`Refused` if there are mistakes."""
        if self.problems:
            raise Refused(self.problems)

    def check_size(self) -> None:
        """Raise :class:`Refused` where the content is too large."""
        if len(self.content) > FILE_BYTES_MAX:
            raise self.refuse("", f"is larger than {FILE_BYTES_MAX >> 20} MiB")

    def text(self) -> str:
        """Decode the content; raises :class:`Refused` where it is too large or no UTF-8."""
        self.check_size()
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            column = error.start - self.content.rfind(b"\n", 0, error.start)
            raise self.refuse(f"line {line}, column {column}", "is not UTF-8") from None

    def json(self) -> Node:
        """Read the content as JSON."""
        try:
            value = json.loads(self.text())
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise self.refuse(place, f"is not JSON: {error.msg}") from None
        except RecursionError:
            raise self.refuse("", "is not JSON that can be read: it is nested too deep") from None
        except ValueError as error:  # a number of too many digits
            raise self.refuse("", f"is not JSON that can be read: {error}") from None
        return Node(self, value, "")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document, with its place."""

    source: Source
    value: Any
    path: str
    """Its place, such as ``log.entries[3].request``."""

    def __getitem__(self, key: str | int) -> Node:
        """Return a member; its value is None if there is none."""
        if isinstance(key, int):
            is_there = isinstance(self.value, list) and key < len(self.value)
            return Node(self.source, self.value[key] if is_there else None, f"{self.path}[{key}]")
        found = self.value.get(key) if isinstance(self.value, dict) else None
        dotted = key if key.isidentifier() or key.startswith("x-") else json.dumps(key)
        return Node(self.source, found, f"{self.path}.{dotted}" if self.path else dotted)

    def __bool__(self) -> bool:
        """Whether it is there."""
        return self.value is not None

    def wrong(self, must: str) -> None:
        """Add the mistake of this value."""
        self.source.wrong(self.path, must, self.value)

    def note(self, what: str) -> None:
        """Note a part that is not carried over."""
        self.source.note(self.path, what)

    def text(self, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str):
            self.wrong("must be a text")
            return default or ""
        return utf8(self.value)

    def scalar(self) -> str | None:
        """Return a text, a number or a boolean as text; None for anything else."""
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        return utf8(str(self.value)) if isinstance(self.value, str | int | float) else None

    def number(self, default: float) -> float:
        """Return a finite number."""
        if self.value is None:
            return default
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or not abs(self.value) < 1e15:
            self.wrong("must be a number")
            return default
        return float(self.value)

    def list(self, *, required: bool = False) -> list[Node]:
        """Return the elements of a list; none if it is absent."""
        if not isinstance(self.value, list):
            if self.value is not None or required:
                self.wrong("must be a list")
            return []
        return [self[index] for index in range(len(self.value))]

    def members(self, *, required: bool = False) -> Members:
        """Return the members of an object; none if it is absent."""
        if not isinstance(self.value, dict):
            if self.value is not None or required:
                self.wrong("must be an object")
            return []
        return [(utf8(str(key)), self[key]) for key in self.value if isinstance(key, str)]


Members: TypeAlias = list[tuple[str, Node]]
"""Members of an object, by their names."""


def utf8(text: str) -> str:
    """Replace surrogates, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
