"""Reads OpenAPI descriptions of the versions 3.0 and 3.1, JSON or YAML: a task per operation."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...bodies import FORM_TYPE, media_type
from ...imported_scenario import (
    FormBody,
    Imported,
    JsonBody,
    MultipartBody,
    Parameter,
    Part,
    RawBody,
    Request,
    Step,
    Task,
    UserType,
    Variable,
    joined,
)
from ...names import class_name, snake, words_of_route
from .parameter_encoding import as_fields, as_text, field_text
from .schema_samples import Samples
from .yaml_document import yaml_document

if TYPE_CHECKING:
    from ...imported_scenario import Body, Pairs
    from ...source import Node, Source

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
KINDS = ("application/json", "+json", FORM_TYPE, "multipart/form-data", "text/plain")
"""Content types of bodies, the preferred one first."""


def read_openapi(source: Source) -> Imported:
    """Read all operations."""
    text = source.text()
    root = source.json() if text.lstrip()[:1] == "{" else yaml_document(source)
    if not isinstance(root.value, dict) or not isinstance(root["openapi"].value, str):
        hint = "; convert Swagger 2.0 to OpenAPI 3 first" if root["swagger"] else ""
        raise source.refuse("openapi", f'must be the version, such as "3.1.0"{hint}')
    if not root["openapi"].value.startswith("3."):
        root["openapi"].wrong("must be 3.0 or 3.1")
    reader = _Reader(source, root, Imported("import openapi", source.name), Samples(root))
    tasks: list[Task] = []
    for path, item in root["paths"].members(required=True):
        shared = reader.samples.resolved(item)
        tasks += [reader.operation(path, one, shared) for one in METHODS if shared[one]]
    source.check()
    name = class_name(root["info"]["title"].text(""), "Api")
    reader.imported.types.append(UserType(name, tasks))
    return reader.imported


@dataclass(slots=True)
class _Reader:
    source: Source
    root: Node
    imported: Imported
    samples: Samples

    def operation(self, path: str, method: str, item: Node) -> Task:
        """Make the task of an operation."""
        operation = item[method]
        server = next(
            (one["servers"][0] for one in (operation, item, self.root) if one["servers"].value),
            None,
        )
        request = Request(operation.path, method.upper(), ())
        parameters: dict[tuple[str, str], Node] = {}
        for one in [*item["parameters"].list(), *operation["parameters"].list()]:
            found = self.samples.resolved(one)
            if found["name"].value is not None:
                parameters[found["in"].text(""), found["name"].text()] = found
        values: dict[str, str] = {}
        for (place, name), one in parameters.items():
            if place == "path":
                style = one["style"].text("simple")
                explode = one["explode"].value is True
                value = self.value(one)
                text = as_text(name, value, style, explode=explode, encode=_encoded)
                values[name] = text or "1"
            elif self.is_sent(one):
                self.add(request, place, name, one)
        made = PLACEHOLDER.sub(lambda one: values.get(one[1], "1"), path)
        request.url = (self.server(server) + made,)
        if made != path:
            request.label = f"{request.method} {path}"
        request.body = self.body(operation["requestBody"], request.headers)
        self.security(operation, request)
        name = operation["operationId"].text("")
        words = snake(name, "") or words_of_route(method.upper(), (path,))
        return Task(words, [Step(None, [request])])

    def server(self, server: Node | None) -> str:
        """Return the base URL; its variables have their defaults."""
        if server is None:
            return ""
        defaults = {
            name: one["default"].scalar() or "" for name, one in server["variables"].members()
        }
        url = PLACEHOLDER.sub(lambda one: defaults.get(one[1], one[1]), server["url"].text("/"))
        return url.rstrip("/")

    def value(self, parameter: Node) -> Any:
        """Return a value of a parameter; one that has a content type is a text of that type."""
        kind, described = next(iter(parameter["content"].members()), ("", parameter))
        value = self.samples.example(described)
        if value is None:
            value = self.samples.of(described["schema"])
        is_json = media_type(kind).endswith("json") or isinstance(value, dict | list)
        if kind and is_json and value is not None:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return value

    def is_sent(self, parameter: Node) -> bool:
        """Whether a parameter that may be left out is sent: it has an example, or is required."""
        described = (parameter, *(one for _, one in parameter["content"].members()))
        has_example = any(self.samples.example(one) is not None for one in described)
        return parameter["required"].value is True or has_example

    def add(self, request: Request, place: str, name: str, parameter: Node) -> None:
        """Add a parameter of the query, the headers or the cookies."""
        value, explode = self.value(parameter), parameter["explode"].value
        style = parameter["style"].text("form")
        if place == "header":
            if name.lower() not in {"accept", "content-type", "authorization"}:  # by the standard
                text = as_text(name, value, "simple", explode=explode is True)
                request.headers.append(((name,), (text,)))
            return
        # Fields of a cookie that were exploded would be cookies of the same name.
        is_exploded = (style == "form" and place == "query") if explode is None else explode is True
        fields = as_fields(name, value, style, explode=is_exploded)
        if place == "query":
            request.query += [((key,), (text,) if text else ()) for key, text in fields]
        elif place == "cookie":
            cookies = "; ".join(f"{key}={text}" for key, text in fields)
            request.headers.append((("Cookie",), (cookies,)))
        else:
            parameter["in"].wrong("must be path, query, header or cookie")

    def body(self, described: Node, headers: Pairs) -> Body | None:
        """Make a body of the preferred content type."""
        content = dict(self.samples.resolved(described)["content"].members())
        wanted = [
            (kind, node)
            for suffix in KINDS
            for kind, node in content.items()
            if media_type(kind).endswith(suffix)
        ]
        if not content:
            return None
        kind, node = (wanted or list(content.items()))[0]
        value = self.samples.example(node)
        if value is None:
            value = self.samples.of(node["schema"])
        if not wanted:
            node.note(f"a body of the type {kind[:60]} is not made")
            return None
        kind = media_type(kind)
        if kind not in {"multipart/form-data", FORM_TYPE}:
            headers.append((("Content-Type",), (kind,)))
        if kind.endswith("json"):
            return JsonBody(value) if value is not None else RawBody(("null",))
        if not isinstance(value, dict):
            return RawBody((field_text(value),)) if field_text(value) else None
        if kind == "multipart/form-data":
            return self.multipart(value, node["schema"])
        return FormBody([((str(key),), (field_text(one),)) for key, one in value.items()])

    def multipart(self, value: dict[str, Any], schema: Node) -> Body:
        """Make a form; a binary property is a file."""
        properties = self.samples.resolved(schema)["properties"]
        fields: Pairs = []
        parts = []
        for name, one in value.items():
            property_ = self.samples.resolved(properties[name])
            if property_["format"].value == "binary" or property_["contentMediaType"]:
                parts.append(Part(name, f"{snake(name, 'file')}.bin", field_text(one), None))
            else:
                fields.append(((name,), (field_text(one),)))
        return MultipartBody(fields, parts)

    def security(self, operation: Node, request: Request) -> None:
        """Add the credentials of the first alternative that the operation takes."""
        is_own = isinstance(operation["security"].value, list)
        alternatives = (operation if is_own else self.root)["security"].list()
        if not alternatives or any(one.value == {} for one in alternatives):
            return
        for name, _ in alternatives[0].members():
            scheme = self.samples.resolved(self.root["components"]["securitySchemes"][name])
            kind, where = scheme["type"].text(""), scheme["in"].text("")
            variable = Variable(f"security {name}")
            self.imported.variables[variable.name] = Parameter(None)
            if kind == "apiKey":
                key = scheme["name"].text()
                if where == "cookie":
                    request.headers.append((("Cookie",), joined(f"{key}=", variable)))
                else:
                    pairs = request.query if where == "query" else request.headers
                    pairs.append(((key,), (variable,)))
                self.imported.variables[variable.name] = Parameter(None, is_secret=True)
            elif kind == "http" and scheme["scheme"].text("").lower() == "basic":
                user = Variable(f"{name} user")
                self.imported.variables[user.name] = Parameter(None)
                request.auth = ((user,), (variable,))
            elif kind in {"http", "oauth2", "openIdConnect"}:
                request.headers.append((("Authorization",), joined("Bearer ", variable)))
            else:
                operation["security"].note(f"the security scheme {name[:60]} is not carried over")


def _encoded(text: str) -> str:
    return quote(text, safe="")
