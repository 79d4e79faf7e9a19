"""Whether code writes the value of a secret header out: the plan that holds it is kept and shown.

What stands in the header itself is looked at where it is compiled. This follows what variables are
given, those of functions that are called too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES = frozenset({"", "Bearer ", "Basic ", "Token "})
"""What may stand before a secret in a header: it is none itself."""
ALL_GIVEN = frozenset({"join", "rand_choice"})
"""Functions that return what they are given behind the first, too."""


def written_out(routine: Any, secret: frozenset[str]) -> str | None:
    """Name a secret header whose value is written out by way of a variable; None if there is none.

    ``secret`` are the names of secret headers in lower case.
    """
    written: set[int] = set()
    while True:
        found = {slot for slot, value in _given(routine) if _writes(value, written)}
        if found <= written:
            break
        written |= found
    for piece in _pieces(routine):
        if {"key", "value"} == piece.keys() and isinstance(piece["key"], str):
            name = piece["key"]
            if name.lower() in secret and _writes(piece["value"], written):
                return name
    return None


def _given(routine: Any) -> Iterator[tuple[int, Any]]:
    """List what variables are given."""
    for piece in _pieces(routine):
        if piece.keys() == {"local", "to"}:
            yield piece["local"], piece["to"]
        elif {"local", "over"} <= piece.keys():
            yield piece["local"], piece["over"]


def _pieces(made: Any) -> Iterator[dict[str, Any]]:
    if isinstance(made, dict):
        yield made
        for part in made.values():
            yield from _pieces(part)
    elif isinstance(made, list):
        for part in made:
            yield from _pieces(part)


def _writes(made: Any, written: set[int]) -> bool:  # noqa: PLR0911  (a table of code)
    """Whether the value of an expression holds text that is written out."""
    match made:
        case {"literal": value}:
            return _holds_text(value)
        case {"local": {"local": slot}}:
            return slot in written
        case {"item": {"of": of}} | {"slice": {"of": of}}:
            return _writes(of, written)
        case {"call": {"function": function, "to": to}} if function not in ALL_GIVEN:
            return bool(to) and _writes(to[0], written)
        case {"compare": _} | {"not": _} | {"is_instance": _} | {"answer": _} | {"header": _}:
            return False
        case dict():
            return any(_writes(part, written) for part in made.values())
        case list():
            return any(_writes(part, written) for part in made)
        case _:
            return False


def _holds_text(value: Any) -> bool:
    match value:
        case {"text": text}:
            return text not in SCHEMES
        case dict():
            return any(map(_holds_text, value.values()))
        case list():
            return any(map(_holds_text, value))
        case _:
            return False
