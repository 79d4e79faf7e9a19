"""Reads YAML as the values of JSON: time stamps stay texts, and no tag makes an object."""

from __future__ import annotations

from typing import Any

from .....library.tables.extras import extra
from ...source import DEPTH_MAX, Node, Source

TIMESTAMP = "tag:yaml.org,2002:timestamp"
ALIASES_MAX = 1_000
"""Maximum number of aliases: a few of them can stand for a very large document."""


def yaml_document(source: Source) -> Node:
    """Read the only document of a file; raises :class:`Refused`."""
    yaml: Any = extra("yaml", "a description in YAML", "pyyaml")
    text = source.text()
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    resolvers = {
        first: [(tag, form) for tag, form in forms if tag != TIMESTAMP]
        for first, forms in base.yaml_implicit_resolvers.items()
    }
    loader = type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})
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
