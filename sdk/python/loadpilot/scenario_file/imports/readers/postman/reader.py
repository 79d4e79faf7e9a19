"""Reads Postman collections of the versions 2.0 and 2.1."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...bodies import FORM_TYPE, body_of
from ...imported_scenario import (
    INSTANT,
    NUMBER,
    SECONDS,
    UUID,
    Drawn,
    Extracted,
    FileBody,
    FormBody,
    Imported,
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
    plain,
    with_variables,
)
from ...names import class_name
from ...source import DEPTH_MAX
from .scripts import read_script

if TYPE_CHECKING:
    from ...imported_scenario import Body, Pairs, Text
    from ...source import Node, Source

VARIABLE = re.compile(r"\{\{([^{}]{1,200})\}\}")
PATH_VARIABLE = re.compile(r"(?<=/):([A-Za-z_][\w-]*)(?=/|$|\?)")
BEGINNING = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|\{\{|/")
"""Beginning of a URL to which Postman adds no scheme, or a variable that may have one."""
RESERVED = str.maketrans({"&": "%26", "#": "%23"})
"""Characters that Postman encodes in the parts of a query."""
DRAWN: dict[str, Drawn] = {
    "$guid": UUID,
    "$randomUUID": UUID,
    "$randomInt": NUMBER,
    "$timestamp": SECONDS,
    "$isoTimestamp": INSTANT,
}
RESOLVED_MAX = 10
"""Maximum depth of variables whose values are made of variables."""
LANGUAGES = {"json": "application/json", "xml": "application/xml"}


@dataclass(slots=True)
class _Folder:
    """Requests of a folder; those of folders in it are beside them."""

    name: str | None
    """None for requests at the root, between two folders."""
    steps: list[Step] = field(default_factory=list)

    @property
    def requests(self) -> list[Request]:
        """All requests, in their order."""
        return [request for step in self.steps for request in step.requests]


def read_postman(source: Source) -> Imported:
    """Read a collection: a task for each folder, or one task where one folder needs another."""
    root = source.json()
    if not isinstance(root["info"].value, dict) or not isinstance(root["item"].value, list):
        raise source.refuse("", "is no Postman collection: it has no info and no item; export v2.1")
    reader = _Reader(source, Imported("import postman", source.name))
    reader.variables(root)
    folders: list[_Folder] = []
    for item in root["item"].list():
        if item["item"]:
            folders.append(_Folder(item["name"].text("folder"), [Step(None)]))
            reader.items(item["item"], folders[-1], item["auth"] or root["auth"], 1)
        else:
            if not folders or folders[-1].name is not None:
                folders.append(_Folder(None, [Step(None)]))
            reader.request(item, folders[-1].steps[0], root["auth"])
    for node in (root["event"],):
        if any(one["script"]["exec"].value for one in node.list()):
            node.note("scripts of the collection are not carried over")
    source.check()
    whole = [folder for folder in folders if folder.requests]
    loose = [step for folder in whole if folder.name is None for step in folder.steps]
    tasks = [Task("requests", loose)] if loose else []
    tasks += [Task(folder.name, folder.steps) for folder in whole if folder.name is not None]
    if len(tasks) > 1 and reader.crosses(tasks):
        steps = [Step(folder.name, folder.requests) for folder in whole]
        tasks = [Task("journey", steps)]
        source.note("item", "the folders are one task, since one uses what another extracts")
    name = class_name(root["info"]["name"].text("Postman"), "Postman")
    reader.imported.types.append(UserType(name, tasks))
    return reader.imported


@dataclass(slots=True)
class _Reader:
    source: Source
    imported: Imported
    values: dict[str, str] = field(default_factory=dict)

    def variables(self, root: Node) -> None:
        """Read the variables of the collection; values made of others are resolved."""
        for one in root["variable"].list():
            name = one["key"].text("") or one["id"].text("")
            if one["disabled"].value is not True and name:
                self.values[name] = one["value"].scalar() or ""
        for name in self.values:
            value = self.values[name]
            for _ in range(RESOLVED_MAX):
                found = VARIABLE.sub(lambda one: self.values.get(one[1].strip(), one[0]), value)
                if found == value or len(found) > 1_000_000:
                    break
                value = found
            self.imported.variables[name] = Parameter(value)

    def text(self, node: Node) -> Text:
        """Read a text with variables."""
        return self.templated(node.scalar() or "")

    def templated(self, text: str) -> Text:
        """Mark the variables of a text, and declare those that the collection does not."""
        pieces = with_variables(text, VARIABLE)
        found: list[str | Variable] = []
        for one in pieces:
            variable = Variable(one.name.strip()) if isinstance(one, Variable) else one
            if isinstance(variable, Variable):
                drawn = DRAWN.get(variable.name)
                self.imported.variables.setdefault(variable.name, drawn or Parameter(None))
            found.append(variable)
        return tuple(found)

    def items(self, items: Node, folder: _Folder, auth: Node, depth: int) -> None:
        """Read requests and folders of a folder."""
        if depth > DEPTH_MAX:
            items.wrong("must be nested less deep")
            return
        for item in items.list():
            if item["item"]:
                inner = item["auth"] or auth
                folder.steps.append(Step(item["name"].text("folder")))
                self.items(item["item"], folder, inner, depth + 1)
                folder.steps.append(Step(None))
            else:
                self.request(item, folder.steps[-1], auth)

    def request(self, item: Node, step: Step, auth: Node) -> None:
        """Read one request with its scripts."""
        sent = item["request"]
        if isinstance(sent.value, str):
            request = Request(item.path, "GET", self.url(sent))
        elif isinstance(sent.value, dict):
            request = Request(item.path, sent["method"].text("GET").upper(), self.url(sent["url"]))
        else:
            sent.wrong("must be a request, or item a folder")
            return
        request.headers = self.pairs(sent["header"])
        request.body = self.body(sent["body"], request.headers)
        self.auth(sent["auth"] or auth, request)
        for event in item["event"].list():
            lines = event["script"]["exec"]
            code = (
                lines.value
                if isinstance(lines.value, str)
                else "\n".join(one.scalar() or "" for one in lines.list())
            )
            if event["listen"].text("") == "test":
                read_script(code, request, event)
            elif code.strip():
                event.note("scripts before a request are not carried over")
        for one in request.extractions:
            self.imported.variables[one.variable] = Extracted()
        step.requests.append(request)

    def url(self, node: Node) -> Text:
        """Read a URL, its path variables replaced by their values."""
        raw = node.scalar() or _url_of(node)
        known = {one["key"].text(""): one["value"].scalar() for one in node["variable"].list()}
        resolved = VARIABLE.sub(lambda one: self.values.get(one[1].strip(), one[0]), raw)
        if resolved and not BEGINNING.match(resolved):
            raw = f"http://{raw}"
        path, mark, query = raw.partition("?")
        path = PATH_VARIABLE.sub(lambda one: known.get(one[1]) or f"{{{{{one[1]}}}}}", path)
        return self.templated(path + mark + query)

    def pairs(self, fields: Node) -> Pairs:
        """Read fields that are not disabled."""
        if isinstance(fields.value, str):
            lines = [line.partition(":") for line in fields.value.splitlines() if ":" in line]
            return [((name.strip(),), self.templated(value.strip())) for name, _, value in lines]
        return [
            (self.text(one["key"]), self.text(one["value"]))
            for one in fields.list()
            if one["disabled"].value is not True
        ]

    def body(self, node: Node, headers: Pairs) -> Body | None:  # noqa: PLR0911  (one for each mode)
        """Read a body, and add the content type that Postman sends with it."""
        mode = node["mode"].text("")
        names = {(plain(name) or "").lower(): plain(value) for name, value in headers}
        if not node or not mode or node["disabled"].value is True:
            return None
        if mode == "raw":
            language = node["options"]["raw"]["language"].text("")
            content = self.text(node["raw"])
            kind = names.get("content-type") or LANGUAGES.get(language)
            if kind and content and "content-type" not in names:
                headers.append((("Content-Type",), (kind,)))
            return body_of(content, kind)
        if mode == "urlencoded":
            if "content-type" not in names:
                headers.append((("Content-Type",), (FORM_TYPE,)))
            fields = self.pairs(node["urlencoded"])
            return FormBody(fields) if fields else None
        if mode == "formdata":
            return self.multipart(node["formdata"])
        if mode == "graphql":
            graphql = node["graphql"]
            variables = graphql["variables"].text("").strip() or "{}"
            try:
                json.loads(VARIABLE.sub("0", variables))
            except (ValueError, RecursionError):
                graphql["variables"].wrong("must be JSON")
            headers.append((("Content-Type",), ("application/json",)))
            text = f'{{"query": {json.dumps(graphql["query"].text(""))}, "variables": {variables}}}'
            return body_of(self.templated(text), "application/json")
        if mode == "file":
            return self.file(node["file"]["src"])
        node["mode"].note(f"a body of the mode {mode[:20]} is not carried over")
        return None

    def multipart(self, node: Node) -> Body:
        """Read the fields and files of a form."""
        fields, parts = [], []
        for one in node.list():
            if one["disabled"].value is True:
                continue
            if one["type"].text("text") != "file":
                fields.append((self.text(one["key"]), self.text(one["value"])))
                continue
            sources = one["src"].list() if isinstance(one["src"].value, list) else [one["src"]]
            for src in sources:
                body = self.file(src)
                if body is not None:
                    name = body.path.rpartition("/")[2]
                    kind = one["contentType"].text("") or None
                    parts.append(Part(one["key"].text(), name, body, kind))
        return MultipartBody(fields, parts) if fields or parts else RawBody(())

    def file(self, src: Node) -> FileBody | None:
        """Read the name of a file that is sent."""
        name = src.text("")
        if not name:
            src.note("a file without a name is not carried over")
            return None
        src.note(f"put the file {name!r} beside the scenario: its content is a body")
        return FileBody(name)

    def auth(self, node: Node, request: Request) -> None:
        """Add the credentials of a request."""
        kind = node["type"].text("noauth") if node else "noauth"
        if isinstance(node[kind].value, list):
            given = {one["key"].text(""): self.text(one["value"]) for one in node[kind].list()}
        else:
            given = {name: self.text(one) for name, one in node[kind].members()}
        match kind:
            case "noauth":
                return
            case "bearer":
                value = joined("Bearer ", given.get("token", ()))
                request.headers.append((("Authorization",), value))
            case "basic":
                request.auth = (given.get("username", ()), given.get("password", ()))
            case "apikey":
                key = given.get("key", ())
                is_query = plain(given.get("in", ())) == "query"
                fields = request.query if is_query else request.headers
                fields.append((key, given.get("value", ())))
                request.secret_field = (plain(key) or "").lower()
            case "oauth2" if given.get("accessToken"):
                value = joined("Bearer ", given["accessToken"])
                request.headers.append((("Authorization",), value))
            case _:
                node.note(f"credentials of the type {kind[:20]} are not carried over")

    def crosses(self, tasks: list[Task]) -> bool:
        """Whether a task uses a value that only another one extracts."""
        for task in tasks:
            own = {one.variable for request in task.requests for one in request.extractions}
            used = {one.name for request in task.requests for one in _variables(request)}
            if any(isinstance(self.imported.variables.get(name), Extracted) for name in used - own):
                return True
        return False


def _url_of(node: Node) -> str:
    """Write a URL from its parts, as Postman sends it; without them it is ``raw``."""
    host, path = (
        node[name].scalar() or mark.join(one.scalar() or "" for one in node[name].list())
        for name, mark in (("host", "."), ("path", "/"))
    )
    if not host and not path:
        return node["raw"].text("")
    scheme, port = node["protocol"].text(""), node["port"].scalar()
    origin = f"{scheme.removesuffix('://')}://{host}" if scheme else host
    fields = []
    for one in node["query"].list():
        if one["disabled"].value is not True:
            key, value = (one["key"].scalar() or "").replace("=", "%3D"), one["value"].scalar()
            fields.append((key if value is None else f"{key}={value}").translate(RESERVED))
    query = f"?{'&'.join(fields)}" if fields else ""
    return f"{origin}{f':{port}' if port else ''}/{path.removeprefix('/')}{query}"


def _variables(request: Request) -> list[Variable]:
    """Find the variables of a request."""
    found: list[Variable] = []
    rest: list[object] = [request.url, request.headers, request.query, request.auth]
    match request.body:
        case FormBody(fields) | MultipartBody(fields, _):
            rest.append(fields)
        case RawBody(content):
            rest.append(content)
        case body:
            rest.append(getattr(body, "value", None))
    while rest:
        one = rest.pop()
        if isinstance(one, Variable):
            found.append(one)
        elif isinstance(one, list | tuple):
            rest += one
        elif isinstance(one, dict):
            rest += one.values()
    return found
