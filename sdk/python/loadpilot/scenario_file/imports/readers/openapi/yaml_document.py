"""Reads YAML as the values of JSON, by the core schema of YAML 1.2: no tag makes an object."""

from __future__ import annotations

import re
from typing import Any

from .....library.tables.extras import extra
from ...source import DEPTH_MAX, Node, Source

FLOAT = (
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
CORE_SCHEMA = (
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", "true|True|TRUE|false|False|FALSE", ["t", "T", "f", "F"]),
    ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", [*"-+0123456789"]),
    ("float", FLOAT, [*"-+.0123456789"]),
    ("merge", "<<", ["<"]),  # of YAML 1.1, and in use
)
"""Tags of plain scalars, the forms that have them, and the first letters of those."""
INTEGER_BASES = {"0o": 8, "0x": 16}
ALIASES_MAX = 1_000
"""Maximum number of aliases: a few of them can stand for a very large document."""


def yaml_document(source: Source) -> Node:
    """Read the only document of a file; raises :class:`Refused`."""
    yaml: Any = extra("yaml", "a description in YAML", "pyyaml")
    text = source.text()
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, form, first in CORE_SCHEMA:
        whole = re.compile(f"(?:{form})\\Z")
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", whole, first)
    loader.add_constructor("tag:yaml.org,2002:int", _integer)
    try:
        aliases = depth = 0
        for event in yaml.parse(text, loader):
            aliases += isinstance(event, yaml.AliasEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MAX:
                place = f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"
                raise source.refuse(place, f"is nested deeper than {DEPTH_MAX} values")
        if aliases > ALIASES_MAX:
            raise source.refuse("", f"has {aliases:,} aliases; {ALIASES_MAX:,} are the maximum")
        value = yaml.load(text, loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        why = getattr(error, "problem", None) or "it has letters that YAML does not"
        raise source.refuse(place, f"is not YAML: {why}") from None
    except (RecursionError, ValueError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise source.refuse("", f"is not YAML that can be read: {why}") from None
    return Node(source, value, "")


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    return int(text, INTEGER_BASES.get(text[:2], 10))
