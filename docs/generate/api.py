"""``docs/reference/api.md``: the gateway's HTTP API, from its OpenAPI description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .markdown import anchor, code, escaped, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DESCRIPTION = Path(__file__).parents[2] / "services" / "gateway" / "openapi.json"
HEAD = """# HTTP API of the gateway

<!-- Written by `./dev gen` from services/gateway/openapi.json: never edit it. -->

[Use the gateway](../howto/fleet/use-the-gateway.md) shows how to start one, how callers
authenticate, and a run from request to report. The machine-readable description is
[openapi.json](../../services/gateway/openapi.json). Errors are `application/problem+json`
([ProblemDetails](#problemdetails)). Names that end in `_us` are microseconds.
"""
PREFIX = "#/components/schemas/"
ERROR_FROM = 400
LARGEST = 1 << 53
"""A maximum from here on is that of the integer type, and is not shown as a limit."""


def api_page() -> str:
    """Write the page."""
    described = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    by_tag: dict[str, list[str]] = {}
    rows = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            rows.append((f"[{name}](#{anchor(name)})", _first_line(operation)))
            parts = by_tag.setdefault(operation["tags"][0], [])
            parts += _operation(name, operation)
    parts = [HEAD, table(("request", "what it does"), rows)]
    for tag, operations in by_tag.items():
        parts += [f"## Routes: {tag}", *operations]
    parts.append("## Types")
    for name, schema in described["components"]["schemas"].items():
        parts += _schema(name, schema)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _first_line(operation: Mapping[str, Any]) -> str:
    return escaped(str(operation.get("description", "")).partition("\n\n")[0])


def _operation(name: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    yield escaped(str(operation.get("description", "")))
    parameters = operation.get("parameters", [])
    if parameters:
        rows = [
            (
                code(one["name"]),
                one["in"] + (", required" if one.get("required") else ""),
                _type(one["schema"]),
                _meaning(one["schema"], one.get("description", "")),
            )
            for one in parameters
        ]
        yield table(("parameter", "where", "type", "meaning"), rows)
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body, `{media}`: {_type(content.get('schema', {}))}."
    answers = [
        (status, answer)
        for status, answer in operation["responses"].items()
        if int(status) < ERROR_FROM
    ]
    for status, answer in answers:
        types = [
            f"`{media}`" + (f", {_type(content['schema'])}" if content.get("schema") else "")
            for media, content in answer.get("content", {}).items()
        ]
        yield f"Answer {status}: {'; '.join(types) or 'no body'}."
    errors = [status for status in sorted(operation["responses"]) if int(status) >= ERROR_FROM]
    if errors:
        yield f"Errors: {', '.join(errors)}."


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    if schema.get("description"):
        yield escaped(schema["description"])
    properties = schema.get("properties", {})
    if properties:
        required = schema.get("required", [])
        rows = [
            (
                code(key),
                _type(one) + ("" if key in required else ", optional"),
                _meaning(one, one.get("description", "")),
            )
            for key, one in properties.items()
        ]
        yield table(("field", "type", "meaning"), rows)
    else:
        yield f"{_type(schema)}."


def _meaning(schema: Mapping[str, Any], description: str) -> str:
    default = schema.get("default")
    shown = f" Default: `{json.dumps(default)}`." if default not in (None, [], "", {}) else ""
    return escaped(description) + shown


def _type(schema: Mapping[str, Any]) -> str:
    """Write a type in words, with links to named ones."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return f"[{name}](#{anchor(name)})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(_type(one) for one in schema[several])
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(code(json.dumps(one)) for one in values)
    kind = str(schema.get("type", "any value"))
    if kind == "array":
        return f"array of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return kind + _limits(schema)


def _limits(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None and most < LARGEST:
        return f" {_number(least)} to {_number(most)}"
    if least is not None:
        return f" ≥ {_number(least)}"
    if "maxLength" in schema:
        return f", at most {schema['maxLength']} characters"
    return ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
