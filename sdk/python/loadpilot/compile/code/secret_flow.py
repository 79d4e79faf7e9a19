"""Whether code writes the value of a secret header out: the plan that holds it is kept and shown.

What stands in the header itself is looked at where it is compiled. This follows what variables are
given, those of functions that are called too, and what users keep on ``self``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...request.headers import is_secret_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMES = frozenset({"", "Bearer ", "Basic ", "Token "})
"""What may stand before a secret in a header: it is none itself."""
RETURNS_ANY_ARGUMENT = frozenset({"join", "rand_choice"})
"""Functions that return what they are given behind the first, too."""


Written = set[int | str]
"""What holds text that is written out: variables by their number, attributes by their name."""


def literal_attributes(routine: Any, attributes: Iterable[str]) -> frozenset[str]:
    """Name the attributes that hold text that is written out, those before and those kept here."""
    written = _written(routine, attributes)
    return frozenset(one for one in written if isinstance(one, str))


def exposed_header(routine: Any, secret: frozenset[str], attributes: Iterable[str]) -> str | None:
    """Name a secret header whose value is written out by way of a variable; None if there is none.

    ``secret`` are the names of further secret headers in lower case, ``attributes`` those that are
    known to hold text that is written out.
    """
    written = _written(routine, attributes)
    for piece in _nodes(routine):
        if {"key", "value"} == piece.keys() and isinstance(piece["key"], str):
            name = piece["key"]
            if is_secret_entry(name, secret) and _writes(piece["value"], written):
                return name
    return None


def _written(routine: Any, attributes: Iterable[str]) -> Written:
    written: Written = set(attributes)
    while True:
        found = {place for place, value in _given(routine) if _writes(value, written)}
        if found <= written:
            return written
        written |= found


def _given(routine: Any) -> Iterator[tuple[int | str, Any]]:
    """List what variables and attributes are given."""
    for piece in _nodes(routine):
        if piece.keys() == {"local", "to"}:
            yield piece["local"], piece["to"]
        elif {"local", "over"} <= piece.keys():
            yield piece["local"], piece["over"]
        elif piece.keys() == {"name", "value"}:
            yield piece["name"], piece["value"]


def _nodes(made: Any) -> Iterator[dict[str, Any]]:
    if isinstance(made, dict):
        yield made
        for part in made.values():
            yield from _nodes(part)
    elif isinstance(made, list):
        for part in made:
            yield from _nodes(part)


def _writes(made: Any, written: Written) -> bool:  # noqa: PLR0911  (a table of code)
    """Whether the value of an expression holds text that is written out."""
    match made:
        case {"literal": value}:
            return holds_literal_text(value)
        case {"local": {"local": slot}}:
            return slot in written
        case {"own": {"name": name}}:
            return name in written
        case {"item": {"of": of}} | {"slice": {"of": of}}:
            return _writes(of, written)
        case {"call": {"function": function, "to": to}} if function not in RETURNS_ANY_ARGUMENT:
            return bool(to) and _writes(to[0], written)
        case {"compare": _} | {"not": _} | {"is_instance": _} | {"answer": _} | {"header": _}:
            return False
        case dict():
            return any(_writes(part, written) for part in made.values())
        case list():
            return any(_writes(part, written) for part in made)
        case _:
            return False


def holds_literal_text(value: Any) -> bool:
    """Whether a literal of the code holds text that may be a secret."""
    match value:
        case {"text": text}:
            return text not in SCHEMES
        case dict():
            return any(map(holds_literal_text, value.values()))
        case list():
            return any(map(holds_literal_text, value))
        case _:
            return False
