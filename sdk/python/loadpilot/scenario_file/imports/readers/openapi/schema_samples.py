"""Sample values of JSON schemas: examples where there are any, else values that are valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...source import Node, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH_MAX = 12
"""Depth of a value from which on optional members are left out."""
DEPTH_END = 40
"""Depth at which a value that needs itself ends."""
VALUES_MAX = 1_000
"""Maximum number of values of one sample."""
REFERENCES_MAX = 20
"""Maximum number of references that lead to a value."""
ITEMS_MAX = 20
"""Maximum number of elements of a list."""
FORMATS = {
    "byte": "dGV4dA==",
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "PT1M",
    "email": "ann@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "3f2b8c1e-7d4a-4e5b-9c6d-1a2b3c4d5e6f",
}


class Samples:
    """Makes samples of the schemas of one document."""

    def __init__(self, root: Node) -> None:
        """Take the document, in which references are looked up."""
        self._root = root
        self._left = 0

    def resolved(self, node: Node) -> Node:
        """Follow the references of a node within the document."""
        for _ in range(REFERENCES_MAX):
            reference = node["$ref"].value if isinstance(node.value, dict) else None
            if not isinstance(reference, str):
                return node
            if not reference.startswith("#/"):
                node.note("references to other files are not followed: bundle them first")
                return Node(node.source, None, node.path)
            found = self._root
            for step in reference[2:].split("/"):
                found = found[step.replace("~1", "/").replace("~0", "~").replace("%7B", "{")]
            if not found:
                node["$ref"].wrong("must lead to a value of the document")
                return Node(node.source, None, node.path)
            node = found
        node.wrong("must not be a chain of references")
        return Node(node.source, None, node.path)

    def example(self, node: Node) -> Any:
        """Return the example of a parameter, body or schema; None without one."""
        if node["example"]:
            return _clean(node["example"].value)
        examples = node["examples"]
        if isinstance(examples.value, list) and examples.value:
            return _clean(examples.value[0])
        for _, one in examples.members() if isinstance(examples.value, dict) else []:
            value = self.resolved(one)["value"]
            if value:
                return _clean(value.value)
        schema = self.resolved(node["schema"]) if node["schema"] else None
        if schema is not None:
            for name in ("example", "default"):
                if schema[name]:
                    return _clean(schema[name].value)
            if isinstance(schema["examples"].value, list) and schema["examples"].value:
                return _clean(schema["examples"].value[0])
        return None

    def of(self, schema: Node) -> Any:
        """Make a sample of a schema."""
        self._left = VALUES_MAX
        return self._value(schema, 0)

    def _value(self, node: Node, depth: int) -> Any:  # noqa: C901, PLR0911  (one for each keyword)
        self._left -= 1
        if depth > DEPTH_END or self._left < 0:
            return None
        schema = self.resolved(node)
        if not isinstance(schema.value, dict):
            return None
        for name in ("const", "example", "default"):
            if name in schema.value and schema.value[name] is not None:
                return _clean(schema.value[name])
        for name in ("examples", "enum"):
            if isinstance(schema[name].value, list) and schema[name].value:
                return _clean(schema[name].value[0])
        if isinstance(schema["allOf"].value, list):
            return self._all_of(schema, depth)
        for name in ("oneOf", "anyOf"):
            for one in schema[name].list():
                value = self._value(one, depth + 1)
                if value is not None:
                    is_object = isinstance(value, dict) and bool(schema["properties"])
                    return {**self._object(schema, depth), **value} if is_object else value
        return self._typed(schema, _type(schema), depth)

    def _typed(self, schema: Node, kind: str, depth: int) -> Any:  # noqa: PLR0911  (one a type)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                count = min(ITEMS_MAX, max(1, int(schema["minItems"].number(1))))
                if schema["maxItems"].value == 0 or (depth > DEPTH_MAX and not schema["minItems"]):
                    return []
                return [self._value(schema["items"], depth + 1) for _ in range(count)]
            case "string":
                return _string(schema)
            case "integer" | "number":
                return _number(schema, is_integer=kind == "integer")
            case "boolean":
                return True
        return None

    def _all_of(self, schema: Node, depth: int) -> Any:
        """Put the parts of a schema together."""
        whole: dict[str, Any] = {}
        other: Any = None
        for one in schema["allOf"].list():
            value = self._value(one, depth + 1)
            if isinstance(value, dict):
                whole |= value
            elif value is not None:
                other = value
        if schema["properties"]:
            whole |= self._object(schema, depth)
        return whole or other

    def _object(self, schema: Node, depth: int) -> dict[str, Any]:
        """Make an object of its properties; deep in a value only of those that it needs."""
        needed = {one.value for one in schema["required"].list()}
        made = {}
        for name, one in _properties(schema):
            is_read_only = self.resolved(one)["readOnly"].value is True
            if is_read_only or (depth > DEPTH_MAX and name not in needed):
                continue
            value = self._value(one, depth + 1)
            if value is not None or name in needed:
                made[name] = value
        return made


def _properties(schema: Node) -> Iterator[tuple[str, Node]]:
    yield from schema["properties"].members()


def _type(schema: Node) -> str:
    """Return the type; of several the first that is not null."""
    kinds = schema["type"].value
    if isinstance(kinds, list):
        kinds = next((one for one in kinds if one != "null"), None)
    if isinstance(kinds, str):
        return kinds
    if schema["properties"]:
        return "object"
    return "array" if schema["items"] else "string"


def _string(schema: Node) -> str:
    text = FORMATS.get(str(schema["format"].value), "text")
    least, most = int(schema["minLength"].number(0)), schema["maxLength"].number(1e6)
    if len(text) < least:
        text = (text * (min(least, 10_000) // len(text) + 1))[:least]
    if schema["pattern"] and not schema["format"]:
        schema.note("patterns of texts are not followed: give an example")
    return text[: int(max(0, most))]


def _number(schema: Node, *, is_integer: bool) -> int | float:
    least = schema["minimum"].value
    above = schema["exclusiveMinimum"].value
    most = schema["maximum"].value
    value: float = 1
    if isinstance(above, int | float) and not isinstance(above, bool):
        value = max(value, above + 1)
    if isinstance(least, int | float) and not isinstance(least, bool):
        value = max(value, least + (above is True))
    if isinstance(most, int | float) and not isinstance(most, bool) and value > most:
        value = most
    step = schema["multipleOf"].value
    if isinstance(step, int | float) and step > 0:
        value = step * max(1, -(-value // step))
    if not abs(value) < 1e15:
        value = 1
    return int(value) if is_integer or value == int(value) else value


def _clean(value: Any) -> Any:
    """Return an example as JSON holds it, within limits."""
    left = VALUES_MAX * 10

    def walk(one: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > DEPTH_END:
            return None
        if isinstance(one, dict):
            return {utf8(str(key)): walk(item, depth + 1) for key, item in one.items()}
        if isinstance(one, list):
            return [walk(item, depth + 1) for item in one]
        if isinstance(one, str):
            return utf8(one)
        is_number = isinstance(one, int | float) and abs(one) < 2**63
        return one if one is None or isinstance(one, bool) or is_number else str(one)[:1_000]

    return walk(value, 0)
