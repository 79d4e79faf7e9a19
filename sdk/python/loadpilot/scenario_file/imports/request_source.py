"""The requests of a task as Python: calls of the client, checks, extractions and think times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .imported_scenario import (
    FileBody,
    FormBody,
    JsonBody,
    MultipartBody,
    Number,
    RawBody,
    Variable,
    joined,
    plain,
)
from .layout import (
    INDENT,
    Atom,
    Bracket,
    call,
    flat,
    interpolated,
    laid_out,
    listed,
    literal,
    paired,
    quoted,
)
from .names import LOCAL, TAKEN, Names, id_of, report_name, route, singular, snake
from .urls import is_grouped, path_and_query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .imported_scenario import Body, Pairs, Part, Request, Step, Task, Text
    from .layout import Expression
    from .python_source import Scope

BATCH_MAX = 100
"""Maximum number of requests of a batch."""
LOOP_MIN = 3
"""Number of requests that differ in one id only from which on they are a loop."""


class TaskWriter:
    """Writes the body of one task."""

    def __init__(self, scope: Scope, feeds: dict[str, str]) -> None:
        """Take the scope of the variables, and the names of the feeds by their files."""
        self._scope = scope
        self._feeds = feeds
        self._names = Names(TAKEN | LOCAL)
        self._locals: dict[str, str] = {}
        """Names of extracted values, by their variables."""
        self._rows: dict[str, str] = {}
        """Names of the rows that the task takes, by their files."""

    def body(self, task: Task) -> Iterator[str]:
        """Write the statements."""
        lines = [line for step in task.steps for line in self._step(step)]
        indent = INDENT * 2
        for file, row in self._rows.items():
            yield f"{indent}{row} = next(self.{self._feeds[file]})"
        yield from lines

    def _step(self, step: Step) -> Iterator[str]:
        depth = 2
        if step.name is not None:
            yield f"{INDENT * depth}with client.step({quoted(report_name(step.name))}):"
            depth += 1
        at = 0
        while at < len(step.requests):
            request = step.requests[at]
            if request.pause_s is not None:
                yield _pause(request.pause_s, depth)
            count = _batch_length(step.requests[at:])
            segment, ids = _loop_ids(step.requests[at:])
            if count:
                yield from self._batch(step.requests[at : at + count], depth)
            elif len(ids) >= LOOP_MIN and not self._scope.has_secrets:
                count = len(ids)
                yield from self._loop(request, segment, ids, depth)
            else:
                count = 1
                yield from self._request(request, depth)
            at += count
        if step.pause_after_s is not None:
            yield _pause(step.pause_after_s, 2)

    def _request(self, request: Request, depth: int) -> Iterator[str]:
        head, items = self._call(request)
        is_read = request.checks or request.extractions or request.sets_cookies
        yield from laid_out(call(head, *items), depth, "response = " if is_read else "")
        yield from self._reads(request, "response", depth)

    def _reads(self, request: Request, response: str, depth: int) -> Iterator[str]:
        """Write the checks and extractions of a response."""
        indent = INDENT * depth
        if request.sets_cookies and not request.checks:
            yield f"{indent}{response}.raise_for_status()"
        for check in request.checks:
            conditions = []
            if check.status is not None:
                conditions.append(f"{response}.status_code == {check.status}")
            if check.contains is not None:
                conditions.append(f"{quoted(check.contains)} in {response}.text")
            for rate in check.rates:
                self._scope.imports.add("metrics")
                condition = ("", Atom(" and ".join(conditions)))
                yield from laid_out(call(f"metrics.rate({quoted(rate)}).add", condition), depth)
            if not check.rates:
                yield from (f"{indent}assert {one}" for one in conditions)
        for one in request.extractions:
            if one.variable not in self._locals:
                self._locals[one.variable] = self._names.give(snake(one.variable, "value"))
            steps = "".join(f"[{quoted(s) if isinstance(s, str) else s}]" for s in one.steps)
            yield f"{indent}{self._locals[one.variable]} = {response}.json(){steps}"

    def _batch(self, requests: list[Request], depth: int) -> Iterator[str]:
        entries: list[Expression] = []
        for request in requests:
            _, items = self._call(request)
            members = [("path", items[0][1])]
            members += [(label[:-1], one) for label, one in items[1:]]
            if request.method != "GET":
                members.insert(0, ("method", literal(request.method)))
            entries.append(paired(members))
        is_read = any(one.checks or one.extractions for one in requests)
        before = "responses = " if is_read else ""
        yield from laid_out(call("client.batch", ("", listed(entries))), depth, before)
        for index, request in enumerate(requests):
            yield from self._reads(request, f"responses[{index}]", depth)

    def _loop(self, request: Request, segment: int, ids: list[str], depth: int) -> Iterator[str]:
        """Write requests that differ in one segment of their path as a loop over its ids."""
        segments = (plain(request.path) or "").split("/")
        name = self._names.give(f"{singular(segments[segment - 1])}_id")
        are_numbers = all(one.isascii() and one.isdecimal() and str(int(one)) == one for one in ids)
        values = literal([int(one) if are_numbers else one for one in ids])
        yield from laid_out(values, depth, f"for {name} in ", ":")
        self._locals[name] = name
        before, after = "/".join(segments[:segment]), "/".join(segments[segment + 1 :])
        path = joined(f"{before}/", Variable(name), f"/{after}" if segments[segment + 1 :] else "")
        head, items = self._call(request, path)
        yield from laid_out(call(head, *items), depth + 1)

    def _call(
        self, request: Request, path: Text | None = None
    ) -> tuple[str, list[tuple[str, Expression]]]:
        """Write the method of the client, and the arguments."""
        items = [("", self.text(path or request.path))]
        if request.query:
            items.append(("params=", self._fields(request.query)))
        if request.cookies:
            items.append(("cookies=", self._fields(request.cookies)))
        if request.headers:
            pairs = [(plain(name) or "", self.text(value)) for name, value in request.headers]
            items.append(("headers=", paired(pairs)))
        items += self._body(request.body)
        if request.auth is not None:
            pair = tuple(("", self.text(one)) for one in request.auth)
            items.append(("auth=", Bracket("(", pair, ")")))
        name = _name(request)
        if name is not None:
            items.append(("name=", literal(name)))
        if request.timeout_s is not None:
            items.append(("timeout=", literal(round(request.timeout_s, 3))))
        if request.follows_redirects:
            items.append(("follow_redirects=", literal(True)))  # noqa: FBT003
        return f"client.{request.method.lower()}", items

    def _body(self, body: Body | None) -> list[tuple[str, Expression]]:
        match body:
            case JsonBody(value):
                return [("json=", self._json(value))]
            case FormBody(fields):
                return [("data=", self._fields(fields))]
            case RawBody(content):
                return [("content=", self.text(content))]
            case FileBody(path):
                return [("content=", self._file(path))]
            case MultipartBody(fields, parts):
                # Fields without a file would be sent as a form: each is a file without a name.
                has_file = any(one.filename for one in parts)
                items = [("data=", self._fields(fields))] if has_file and fields else []
                return [*items, ("files=", self._parts([] if has_file else fields, parts))]
        return []

    def _parts(self, fields: Pairs, parts: list[Part]) -> Expression:
        written: list[tuple[Text, Expression]] = []
        for name, value in fields:
            content = Bracket("(", (("", literal(None)), ("", self.text(value))), ")")
            written.append((name, content))
        for one in parts:
            items = [("", literal(one.filename)), ("", self._content(one.content))]
            items += [("", literal(one.content_type))] if one.content_type else []
            written.append(((one.name,), Bracket("(", tuple(items), ")")))
        if len({name for name, _ in written}) < len(written):
            return listed([self._pair(name, one) for name, one in written])
        return self._keyed(written)

    def _content(self, content: str | bytes | FileBody | Text) -> Expression:
        match content:
            case FileBody(path):
                return self._file(path)
            case str():
                return literal(content.encode())
            case _:
                return self.text(content)

    def _file(self, path: str) -> Expression:
        self._scope.imports.add("file")
        return call("file", ("", literal(path)))

    def _fields(self, fields: Pairs) -> Expression:
        """Write fields as a dict, in which a repeated one has a list, or as pairs."""
        if not is_grouped(fields):
            return listed([self._pair(name, self.text(value)) for name, value in fields])
        values: dict[Text, list[Expression]] = {}
        for name, value in fields:
            values.setdefault(name, []).append(self.text(value))
        return self._keyed(
            [
                (name, found[0] if len(found) == 1 else listed(found))
                for name, found in values.items()
            ]
        )

    def _pair(self, name: Text, value: Expression) -> Expression:
        return Bracket("(", (("", self.text(name)), ("", value)), ")")

    def _keyed(self, items: list[tuple[Text, Expression]]) -> Bracket:
        """Write a dict whose keys may hold variables."""
        return Bracket("{", tuple((f"{flat(self.text(k))}: ", one) for k, one in items), "}")

    def _json(self, value: Any) -> Expression:
        if isinstance(value, tuple):
            is_variable = len(value) == 1 and isinstance(value[0], Variable)
            keeps_type = is_variable and self._scope.imported.keeps_types
            if keeps_type and value[0].name in self._locals:
                return Atom(self._locals[value[0].name])
            return self.text(value)
        if isinstance(value, Number):
            inner = self._value(value.variable, '"')
            return Atom(f"int({inner})")
        if isinstance(value, list):
            return listed([self._json(one) for one in value])
        if isinstance(value, dict):
            return paired([(name, self._json(one)) for name, one in value.items()])
        return literal(value)

    def text(self, text: Text | bytes) -> Expression:
        """Write a text that may hold variables, or bytes."""
        words = text if isinstance(text, bytes) else plain(text)
        if words is not None or isinstance(text, bytes):
            return literal(words)
        if len(text) == 1 and isinstance(text[0], Variable) and self._is_text(text[0]):
            return Atom(self._value(text[0], '"'))
        pieces = [
            (self._value(one, "'"), True) if isinstance(one, Variable) else (one, False)
            for one in text
        ]
        return Atom(interpolated(pieces))

    def _is_text(self, variable: Variable) -> bool:
        """Whether a variable is a text; a response or a draw may bring a number."""
        drawn = self._scope.drawn(variable)
        return variable.name not in self._locals and (drawn is None or not drawn.startswith("int"))

    def _value(self, variable: Variable, mark: str) -> str:
        """Write the value of a variable; ``mark`` quotes the name of a column."""
        if variable.name in self._locals:
            return self._locals[variable.name]
        name = self._scope.parameter(variable)
        if name is not None:
            return name
        drawn = self._scope.drawn(variable)
        if drawn is not None:
            return drawn
        column = self._scope.column(variable)
        assert column is not None, "every variable has a meaning"  # noqa: S101
        if column.file not in self._rows:
            stem = self._feeds[column.file]
            self._rows[column.file] = self._names.give(f"{stem}_row") if self._rows else "row"
        return f"{self._rows[column.file]}[{mark}{column.name}{mark}]"


def _pause(pause: tuple[float, float], depth: int) -> str:
    least, most = (_seconds(one) for one in pause)
    bounds = least if least == most else f"{least}, {most}"
    return f"{INDENT * depth}self.wait({bounds})"


def _seconds(value: float) -> str:
    rounded = round(value, 3)
    return str(int(rounded)) if rounded == int(rounded) else str(rounded)


def _name(request: Request) -> str | None:
    """Name a request whose path is one of many; None where method and path are its name."""
    base = path_and_query(request.path)[0]
    named = route(base)
    if request.label is not None:
        label = report_name(request.label)
        return label if label != f"{request.method} {plain(base)}" else None
    return report_name(f"{request.method} {named}") if named != plain(base) else None


def _batch_length(requests: list[Request]) -> int:
    """Count the requests that are sent at the same time as the first one; 0 for none."""
    number = requests[0].batch
    if number is None:
        return 0
    count = 0
    while count < min(len(requests), BATCH_MAX) and requests[count].batch == number:
        count += 1
    return count


def _loop_ids(requests: list[Request]) -> tuple[int, list[str]]:
    """Find the segment of their paths in which the first requests differ, and the ids there."""
    first = requests[0]
    segments = (plain(first.path) or "").split("/")
    places = [index for index, one in enumerate(segments) if id_of(one)]
    if len(places) != 1 or first.checks or first.extractions or first.sets_cookies:
        return 0, []
    (place,) = places
    ids = [segments[place]]
    for one in requests[1:]:
        others = (plain(one.path) or "").split("/")
        if len(others) != len(segments) or one.pause_s or _but_path(one) != _but_path(first):
            break
        found, others[place] = others[place], segments[place]
        if others != segments or id_of(found) != id_of(ids[0]):
            break
        ids.append(found)
    return place, ids if len(set(ids)) > 1 else []


def _but_path(request: Request) -> tuple[Any, ...]:
    """Return all of a request but its path: equal for two requests of a loop."""
    return (
        *(request.method, request.headers, request.query, request.cookies, request.body),
        request.auth,
        *(request.checks, request.extractions, request.sets_cookies, request.batch),
        *(request.timeout_s, request.follows_redirects, request.label),
    )
