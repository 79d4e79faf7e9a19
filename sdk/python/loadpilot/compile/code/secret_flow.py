"""Data-flow check that code holds no literal value of a secret header: plans are stored and shown.

Literals inside of the header's own expression are found where that is compiled. This check follows
variables, those of inlined functions, too, and the attributes on ``self``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...request.headers import is_secret_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMES = frozenset({"", "Bearer ", "Basic ", "Token "})
"""Prefixes of a secret value that are not secret: authentication schemes."""
RETURNS_ANY_ARGUMENT = frozenset({"join", "rand_choice"})
"""Functions whose result contains any of their arguments, not only the first."""


Literals = set[int | str]
"""Holders of literal text: variables by number, attributes by name."""


def literal_attributes(routine: Any, attributes: Iterable[str]) -> frozenset[str]:
    """Return ``attributes`` with those to which this routine assigns literal text."""
    literals = _literals(routine, attributes)
    return frozenset(one for one in literals if isinstance(one, str))


def exposed_header(routine: Any, secret: frozenset[str], attributes: Iterable[str]) -> str | None:
    """Return a secret header whose value contains literal text; None if there is none.

    ``secret`` holds the names of additional secret headers in lower case, ``attributes`` those that
    are known to hold literal text.
    """
    literals = _literals(routine, attributes)
    for node in _nodes(routine):
        if {"key", "value"} == node.keys() and isinstance(node["key"], str):
            name = node["key"]
            if is_secret_entry(name, secret) and _is_literal(node["value"], literals):
                return name
    return None


def _literals(routine: Any, attributes: Iterable[str]) -> Literals:
    """Return all holders of literal text: the least fixed point of the assignments."""
    literals: Literals = set(attributes)
    while True:
        found = {holder for holder, value in _assignments(routine) if _is_literal(value, literals)}
        if found <= literals:
            return literals
        literals |= found


def _assignments(routine: Any) -> Iterator[tuple[int | str, Any]]:
    """Yield the variables and attributes that a routine assigns, with their values."""
    for node in _nodes(routine):
        if node.keys() == {"local", "to"}:
            yield node["local"], node["to"]
        elif {"local", "over"} <= node.keys():
            yield node["local"], node["over"]
        elif node.keys() == {"name", "value"}:
            yield node["name"], node["value"]


def _nodes(made: Any) -> Iterator[dict[str, Any]]:
    if isinstance(made, dict):
        yield made
        for part in made.values():
            yield from _nodes(part)
    elif isinstance(made, list):
        for part in made:
            yield from _nodes(part)


def _is_literal(made: Any, literals: Literals) -> bool:  # noqa: PLR0911  (a table of code)
    """Whether the value of an expression contains literal text."""
    match made:
        case {"literal": value}:
            return holds_literal_text(value)
        case {"local": {"local": slot}}:
            return slot in literals
        case {"own": {"name": name}}:
            return name in literals
        case {"item": {"of": of}} | {"slice": {"of": of}}:
            return _is_literal(of, literals)
        case {"call": {"function": function, "to": to}} if function not in RETURNS_ANY_ARGUMENT:
            return bool(to) and _is_literal(to[0], literals)
        case {"compare": _} | {"not": _} | {"is_instance": _} | {"answer": _} | {"header": _}:
            return False
        case dict():
            return any(_is_literal(part, literals) for part in made.values())
        case list():
            return any(_is_literal(part, literals) for part in made)
        case _:
            return False


def holds_literal_text(value: Any) -> bool:
    """Whether a literal in code contains text that may be a secret."""
    match value:
        case {"text": text}:
            return text not in SCHEMES
        case dict():
            return any(map(holds_literal_text, value.values()))
        case list():
            return any(map(holds_literal_text, value))
        case _:
            return False
