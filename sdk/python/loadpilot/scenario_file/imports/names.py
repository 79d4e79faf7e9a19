"""Names in the written scenario: classes, methods, variables, parameters and routes."""

from __future__ import annotations

import builtins
import keyword
import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from ...dsl import VUser

if TYPE_CHECKING:
    from .imported_scenario import Text

LETTERS_MAX = 60
"""Maximum length of a name."""
NAMES_OF_REPORTS_MAX = 100
"""Maximum length of a name in reports, in bytes."""
IDS = (
    ("id", re.compile(r"\d+")),
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("hash", re.compile(r"(?=.*\d)[0-9a-fA-F]{16,}")),
    ("token", re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*")),
)
"""Kinds of ids in segments of a path, with their patterns."""
LOCAL = frozenset({"client", "response", "responses", "row", "self"})
"""Names that the written code uses itself."""
MODULE = frozenset(
    {"LoadClient", "VUser", "env", "feed", "file", "metrics", "now", "rand", "scenario", "task"}
)
"""Names that the written code imports."""
TAKEN = frozenset({*dir(VUser), *LOCAL, *MODULE, *dir(builtins)})
"""Names with another meaning in the written code."""


class Names:
    """Names of one scope, each used once."""

    def __init__(self, taken: frozenset[str] = TAKEN) -> None:
        """Take the names that must not be used."""
        self._taken = set(taken)

    def give(self, wanted: str) -> str:
        """Return the name, with a number if it is taken."""
        name, number = wanted, 1
        while name in self._taken or keyword.iskeyword(name) or keyword.issoftkeyword(name):
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def snake(text: str, other: str) -> str:
    """Make a name of lower-case words; ``other`` where the text has none."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text)
    words = re.sub(r"[^0-9A-Za-z]+", "_", parted).strip("_").lower()
    words = words[:LETTERS_MAX].rstrip("_")
    if not words:
        return other
    return f"{other}_{words}" if words[0].isdigit() else words


def method_name(text: str) -> str:
    """Make the name of a task, which is neither that of a check nor taken."""
    name = snake(text, "task")
    return f"task_{name}" if name.startswith("check_") or name in TAKEN else name


def constant(text: str, other: str) -> str:
    """Make the name of a parameter."""
    return snake(text, other).upper()


def class_name(text: str, other: str) -> str:
    """Make the name of a scenario."""
    words = snake(text, "").split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words)
    if not name:
        return other
    return f"{other}{name}" if name[0].isdigit() else name


def class_of_file(file: str, other: str) -> str:
    """Make the name of a scenario from that of a file."""
    return class_name(PurePath(file).name.partition(".")[0], other)


def id_of(segment: str) -> str | None:
    """Return the kind of id that a segment is; None for a plain text."""
    return next((name for name, form in IDS if form.fullmatch(segment)), None)


def route(path: Text) -> str:
    """Return a path with its ids and variables in braces."""
    pieces = [
        piece if isinstance(piece, str) else f"{{{piece.name.removeprefix('secret ')}}}"
        for piece in path
    ]
    segments = "".join(pieces).split("/")
    return "/".join(f"{{{kind}}}" if (kind := id_of(one)) else one for one in segments)


def words_of_route(method: str, path: Text) -> str:
    """Name a request by method and route, in the words of a method name."""
    words = re.sub(r"[{}]", "", route(path))
    name = snake(f"{method} {words}", "request")
    return f"{name}_root" if name == method.lower() else name


def report_name(text: str) -> str:
    """Shorten a name for reports; it has no control characters."""
    clean = "".join(c if c.isprintable() else " " for c in text).strip()
    return clean.encode()[:NAMES_OF_REPORTS_MAX].decode(errors="ignore")


def singular(segment: str) -> str:
    """Return the singular of a segment of a path."""
    name = snake(segment, "item")
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
