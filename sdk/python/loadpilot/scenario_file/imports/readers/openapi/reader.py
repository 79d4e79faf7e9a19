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
from .schema_samples import Samples
from .yaml_document import yaml_document

if TYPE_CHECKING:
    from ...imported_scenario import Body, Pairs
    from ...source import Node, Source

METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
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
                [(_, value)] = self.fields(name, one)[:1] or [("", "1")]
                values[name] = quote(value, safe="")
            elif one["required"].value is True or self.samples.example(one) is not None:
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

    def fields(self, name: str, parameter: Node) -> list[tuple[str, str]]:
        """Write the value of a parameter as fields of its name, or of the names of its members."""
        value = self.samples.example(parameter)
        if value is None:
            value = self.samples.of(parameter["schema"])
        is_exploded = parameter["explode"].value is not False
        if isinstance(value, list):
            texts = [_text(one) for one in value]
            return [(name, one) for one in texts] if is_exploded else [(name, ",".join(texts))]
        if isinstance(value, dict):
            if parameter["style"].value == "deepObject":
                return [(f"{name}[{key}]", _text(one)) for key, one in value.items()]
            if is_exploded:
                return [(str(key), _text(one)) for key, one in value.items()]
            return [(name, ",".join(f"{key},{_text(one)}" for key, one in value.items()))]
        return [(name, _text(value))]

    def add(self, request: Request, place: str, name: str, parameter: Node) -> None:
        """Add a parameter of the query, the headers or the cookies."""
        fields = self.fields(name, parameter)
        pairs: Pairs = [((key,), (value,) if value else ()) for key, value in fields]
        if place == "query":
            request.query += pairs
        elif place == "header":
            if name.lower() not in {
                "accept",
                "content-type",
                "authorization",
            }:  # as the standard says
                request.headers.append(((name,), (",".join(value for _, value in fields),)))
        elif place == "cookie":
            request.headers.append((("Cookie",), (f"{name}={fields[0][1] if fields else ''}",)))
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
            return RawBody((_text(value),)) if value not in {None, ""} else None
        if kind == "multipart/form-data":
            return self.multipart(value, node["schema"])
        return FormBody([((str(key),), (_text(one),)) for key, one in value.items()])

    def multipart(self, value: dict[str, Any], schema: Node) -> Body:
        """Make a form; a binary property is a file."""
        properties = self.samples.resolved(schema)["properties"]
        fields: Pairs = []
        parts = []
        for name, one in value.items():
            property_ = self.samples.resolved(properties[name])
            if property_["format"].value == "binary" or property_["contentMediaType"]:
                parts.append(Part(name, f"{snake(name, 'file')}.bin", _text(one), None))
            else:
                fields.append(((name,), (_text(one),)))
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


def _text(value: Any) -> str:
    """Write a value as a field of a query or form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
