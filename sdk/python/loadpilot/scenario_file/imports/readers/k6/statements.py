"""The statements of a k6 function: requests, checks, groups, think times, values of responses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...bodies import body_of, media_type
from ...imported_scenario import (
    MILLISECONDS,
    UUID,
    Drawn,
    Extracted,
    Extraction,
    FormBody,
    Request,
    Step,
    Task,
    Variable,
    joined,
    plain,
)
from ...source import DEPTH_MAX
from .checks import read_check
from .javascript import FUNCTIONS, UNKNOWN, JsonText, Unknown, number_text
from .response_values import JsonOf, ResponseMember, ResponseOf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...imported_scenario import Body, Pairs
    from .javascript import Code, Script, Value

METHODS = {
    "get": "GET",
    "head": "HEAD",
    "post": "POST",
    "put": "PUT",
    "patch": "PATCH",
    "del": "DELETE",
    "options": "OPTIONS",
}
BODILESS = frozenset({"get", "head"})
CONTROL = frozenset(
    {"do_statement", "for_in_statement", "for_statement", "if_statement", "switch_statement"}
    | {"try_statement", "while_statement"}
)
PATH = re.compile(r"[\w-]+(?:\.[\w-]+)*")
RESERVED = frozenset({"response", "responses", "client", "self"})
CALLS_MAX = 20
"""Maximum depth of functions that call each other."""


class Statements:
    """Reads the statements of a function into a task."""

    def __init__(self, script: Script, functions: dict[str, Code], task: Task) -> None:
        """Take the functions of the script, which a task may call."""
        self._script = script
        self._functions = dict(functions)
        self._task = task
        self._groups: list[str] = []
        self._pause_s: tuple[float, float] | None = None
        self._batches = 0
        self._depth = 0
        self._returned: Value = None
        script.call = self._value_of_call
        script.extracted = self._extracted

    def function(self, code: Code) -> None:
        """Read the function that a user runs."""
        self._run(code)
        if self._pause_s is not None and self._task.steps:
            self._task.steps[-1].pause_after_s = self._pause_s
        self._pause_s = None

    def _run(self, code: Code) -> Value:
        """Read the body of a function, with names of its own; returns its value."""
        names, returned = dict(self._script.names), self._returned
        self._returned = None
        body = code["body"]
        if body is not None and body.kind == "statement_block":
            self._block(body)
        elif body is not None:
            self._returned = self._effect(body)
        value, self._returned = self._returned, returned
        self._script.names = names
        return value

    def _block(self, code: Code) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._script.source.refuse(code.place, "is nested too deep")
        for one in code:
            self._statement(one)
            if one.kind == "return_statement":
                break
        self._depth -= 1

    def _statement(self, code: Code) -> None:  # noqa: C901  (one for each kind)
        match code.kind:
            case "expression_statement":
                for one in code:
                    self._expression(one)
            case "lexical_declaration" | "variable_declaration":
                for one in code:
                    self._declaration(one)
            case "statement_block":
                self._block(code)
            case kind if kind in CONTROL:
                code.note(f"{code.snippet!r}: what is inside is written once, without a condition")
                self._inside(code)
            case "return_statement":
                for one in code:
                    self._returned = self._effect(one)
            case "function_declaration" if (name := code["name"]) is not None:
                self._functions[name.text] = code
            case "empty_statement" | "break_statement" | "continue_statement":
                return
            case _:
                code.note(f"{code.snippet!r} is not carried over")

    def _inside(self, code: Code) -> None:
        """Read the blocks of a loop or a condition."""
        for one in code:
            if one.kind == "statement_block" or one.kind.endswith("_statement"):
                self._statement(one)
            elif one.kind in {"switch_body", "switch_case", "switch_default"}:
                self._inside(one)
            elif code.kind.startswith("switch_") and one.kind.endswith("_declaration"):
                self._statement(one)
            elif one.kind in {"catch_clause", "else_clause", "finally_clause"}:
                one.note(f"{one.snippet!r} is not carried over")

    def _declaration(self, code: Code) -> None:
        name, value = code["name"], code["value"]
        if name is None or value is None:
            return
        if value.kind in FUNCTIONS:
            self._functions[name.text] = value
            return
        found = self._script.value(value)
        if name.kind != "identifier":
            code.note(f"{code.snippet!r} is not carried over")
        elif isinstance(found, JsonOf) and found.steps:
            self._script.names[name.text] = self._extracted(found, name.text)
        else:
            if isinstance(found, Unknown):
                code.note(f"{code.snippet!r} is only known when the script runs")
            self._script.names[name.text] = found

    def _expression(self, code: Code) -> None:
        """Read an expression for its effect."""
        if code.kind in {"await_expression", "parenthesized_expression"}:
            for one in code:
                self._expression(one)
        elif code.kind == "assignment_expression":
            left, right = code["left"], code["right"]
            if left is not None and left.kind == "identifier" and right is not None:
                found = self._script.value(right)
                is_value = isinstance(found, JsonOf) and found.steps
                value = self._extracted(found, left.text) if is_value else found
                self._script.names[left.text] = value
            else:
                code.note(f"{code.snippet!r} is not carried over")
        elif code.kind == "binary_expression" and code["left"] is not None:
            self._expression(code["left"])
            code.note(f"{code.snippet!r} is not carried over but for its first part")
        elif code.kind == "call_expression":
            self._effect(code)
        else:
            code.note(f"{code.snippet!r} is not carried over")

    def _effect(self, code: Code) -> Value:
        """Return the value of an expression; a call that is unknown is noted."""
        value = self._script.value(code)
        function = code["function"] if code.kind == "call_expression" else None
        is_read = function is None or function.text in {*self._functions, "group"}
        if isinstance(value, Unknown) and not is_read:
            code.note(f"{code.snippet!r} is not carried over")
        return value

    def _value_of_call(self, code: Code, depth: int) -> Value:
        """Carry over the effect of a call, and return its value; UNKNOWN for an unknown call."""
        function = code["function"]
        arguments = code["arguments"]
        if function is None or arguments is None:
            return UNKNOWN
        name = function.text
        given = list(arguments)
        if arguments.kind == "template_string":
            given = [arguments]
        library, _, method = name.rpartition(".")
        if name == "http.url" and given:
            return self._script.value(given[0], depth + 1)
        if library in {"http", "https"}:
            response = self._http(method, given)
            if not isinstance(response, Unknown):
                self._script.sent.add(code.place)
            return response
        if method in {"html", "json"} or name == "JSON.parse":
            return self._json_of(function, given, name, depth)
        return self._known(name, given, code, depth)

    def _known(  # noqa: C901, PLR0911  (one for each function)
        self, name: str, given: list[Code], code: Code, depth: int
    ) -> Value:
        match name:
            case "sleep":
                self._sleep(given, code)
                return None
            case "check":
                self._check(given, code)
                return True
            case "group":
                return self._group(given, code)
            case "JSON.stringify" if given:
                return JsonText(self._script.value(given[0], depth + 1))
            case "uuidv4" | "crypto.randomUUID":
                return self._drawn(name, UUID)
            case "Date.now":
                return self._drawn(name, MILLISECONDS)
            case "randomIntBetween" if len(given) == 2:
                bounds = [self._script.value(one, depth + 1) for one in given]
                if all(isinstance(one, int) for one in bounds) and bounds[0] <= bounds[1]:
                    code_ = f"rand.int({int(bounds[0])}, {int(bounds[1])})"
                    return self._drawn(f"{name} {bounds}", Drawn(code_, "rand"))
            case "String" | "encodeURIComponent" if given:
                value = self._script.value(given[0], depth + 1)
                return self._script.converted(value, is_encoded=name != "String")
            case "console.log" | "console.warn" | "console.error" | "console.debug":
                return None
            case _ if name in self._functions and len(self._groups) < CALLS_MAX:
                return self._call_function(name, code, depth)
        return UNKNOWN

    def _call_function(self, name: str, code: Code, depth: int) -> Value:
        if depth > CALLS_MAX or self._depth > CALLS_MAX:
            raise self._script.source.refuse(code.place, "calls functions in each other too deep")
        self._depth += 1
        function = self._functions[name]
        single = function["parameter"]
        parameters = [single] if single is not None else list(function["parameters"] or ())
        values = [self._script.value(given, depth + 1) for given in code["arguments"] or ()]
        values += [self._script.value(one["right"]) for one in parameters[len(values) :]]
        outer = dict(self._script.names)
        for one, value in zip(parameters, values, strict=False):
            to = one if one["left"] is None else one["left"]
            if to.kind == "identifier":
                self._script.names[to.text] = value
        found = self._run(function)
        self._script.names = outer
        self._depth -= 1
        return found

    def _drawn(self, name: str, drawn: Drawn) -> Value:
        self._script.imported.variables[name] = drawn
        return (Variable(name),)

    def _json_of(self, function: Code, given: list[Code], name: str, depth: int) -> Value:
        """Return the value that a script reads from the JSON of a response."""
        if name == "JSON.parse":
            inner = self._script.value(given[0], depth + 1) if given else UNKNOWN
            if isinstance(inner, ResponseMember) and inner.name == "body":
                return JsonOf(inner.request)
            return UNKNOWN
        target = function["object"]
        response = self._script.value(target, depth + 1)
        if not isinstance(response, ResponseOf) or not name.endswith(".json"):
            return UNKNOWN
        path = self._script.value(given[0], depth + 1) if given else ""
        if not isinstance(path, str) or (path and not PATH.fullmatch(path)):
            return UNKNOWN
        steps = [int(one) if one.isdecimal() else one for one in path.split(".") if one]
        return JsonOf(response.request, tuple(steps))

    def _extracted(self, found: JsonOf, name: str) -> Value:
        """Take a value of a response under a name."""
        for one in found.request.extractions:
            if one.steps == found.steps:
                return (Variable(one.variable),)
        variables = self._script.imported.variables
        wanted = f"{name}_value" if name in RESERVED else name
        number = 1
        while wanted in variables:
            number += 1
            wanted = f"{name}_{number}"
        variables[wanted] = Extracted()
        found.request.extractions.append(Extraction(wanted, found.steps))
        return (Variable(wanted),)

    def _group(self, given: list[Code], code: Code) -> Value:
        name = self._script.value(given[0]) if given else UNKNOWN
        function = given[1] if len(given) > 1 else None
        if function is not None and function.kind == "identifier":
            function = self._functions.get(function.text)
        if function is None or function.kind not in FUNCTIONS or not isinstance(name, str):
            code.note(f"{code.snippet!r} is not carried over")
            return UNKNOWN
        self._groups.append(name)
        if len(self._groups) > CALLS_MAX:
            raise self._script.source.refuse(code.place, "has groups in each other too deep")
        value = self._run(function)
        self._groups.pop()
        return value

    def _sleep(self, given: list[Code], code: Code) -> None:
        """Read a think time: a number, a random one between two, or one times Math.random()."""
        value = self._script.value(given[0]) if given else UNKNOWN
        drawn = re.fullmatch(r"randomIntBetween\(\s*(\d{1,6})\s*,\s*(\d{1,6})\s*\)", _text(given))
        spread = re.fullmatch(
            r"Math\.random\(\)\s*\*\s*(\d{1,6}(?:\.\d+)?)(?:\s*\+\s*(\d{1,6}(?:\.\d+)?))?",
            _text(given),
        )
        if drawn is not None:
            self._rest(float(drawn[1]), float(drawn[2]))
        elif spread is not None:
            least = float(spread[2] or 0)
            self._rest(least, least + float(spread[1]))
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6:
            self._rest(float(value), float(value))
        else:
            code.note(f"{code.snippet!r} is not carried over: the time is not a constant")

    def _rest(self, least: float, most: float) -> None:
        before = self._pause_s or (0.0, 0.0)
        self._pause_s = (before[0] + least, before[1] + max(least, most))

    def _check(self, given: list[Code], code: Code) -> None:
        """Read checks of statuses, and of texts in the body."""
        response = self._script.value(given[0]) if given else UNKNOWN
        if not isinstance(response, ResponseOf) or len(given) < 2 or given[1].kind != "object":
            code.note(f"{code.snippet!r} is not carried over")
            return
        for one in given[1]:
            key, check = one["key"], read_check(one["value"])
            if check is None or key is None:
                one.note(f"the check {one.snippet!r} is not carried over")
                continue
            check = replace(check, rates=self._script.rates.of(key.text.strip("'\"`")))
            if check not in response.request.checks:
                response.request.checks.append(check)

    def _http(self, method: str, given: list[Code]) -> Value:
        if method == "batch":
            return self._batch(given)
        if method in {"request", "asyncRequest"}:
            name = self._script.value(given[0]) if given else UNKNOWN
            if isinstance(name, str) and len(given) > 1:
                return self._request(name.upper(), given[1], *_padded(given[2:]))
        elif method in METHODS and given:
            rest = [None, *given[1:]] if method in BODILESS else given[1:]
            return self._request(METHODS[method], given[0], *_padded(rest))
        return UNKNOWN

    def _request(
        self, method: str, url: Code, body: Code | None, params: Code | None
    ) -> ResponseOf:
        """Add a request to the step of its group."""
        request = Request(url.place, method, self._script.url(url))
        request.pause_s, self._pause_s = self._pause_s, None
        if params is not None and params.kind != "null":
            self._params(request, params)
        if body is not None:
            request.body = self._body(body, request.headers)
        name = " / ".join(self._groups) or None
        steps = self._task.steps
        if not steps or steps[-1].name != name:
            if request.pause_s is not None and steps:
                steps[-1].pause_after_s, request.pause_s = request.pause_s, None
            steps.append(Step(name))
        steps[-1].requests.append(request)
        return ResponseOf(request)

    def _batch(self, given: list[Code]) -> Value:
        """Add requests that are sent at the same time."""
        if not given or given[0].kind not in {"array", "object"}:
            return UNKNOWN
        self._batches += 1
        answers: list[ResponseOf] = []
        for one in given[0]:
            entry = one["value"] if one.kind == "pair" else one
            if entry is None:
                continue
            if entry.kind == "array":
                parts = list(entry)
                method = self._script.value(parts[0]) if parts else UNKNOWN
                if isinstance(method, str) and len(parts) > 1:
                    answers.append(self._request(method.upper(), parts[1], *_padded(parts[2:])))
            elif entry.kind == "object":
                answers += self._of_object(entry)
            else:
                answers.append(self._request("GET", entry, None, None))
        for answer in answers:
            answer.request.batch = self._batches
        return list(answers) if answers else UNKNOWN

    def _of_object(self, entry: Code) -> Iterator[ResponseOf]:
        members = {one["key"].text: one["value"] for one in entry if one["key"] is not None}
        method, url = self._script.value(members.get("method")), members.get("url")
        if url is not None:
            verb = method.upper() if isinstance(method, str) else "GET"
            yield self._request(verb, url, members.get("body"), members.get("params"))

    def _params(self, request: Request, code: Code) -> None:
        """Read headers, cookies, name and time-out of a request."""
        params = self._script.value(code)
        if not isinstance(params, dict):
            code.note(f"{code.snippet!r} is only known when the script runs")
            return
        for name, value in params.items():
            match name, value:
                case "headers", dict():
                    pairs = [((key,), self._script.text(code, one)) for key, one in value.items()]
                    request.headers += pairs
                case "cookies", dict():
                    for key, one in value.items():
                        text = joined(f"{key}=", self._script.text(code, one))
                        request.headers.append((("Cookie",), text))
                case "tags", {"name": str() as label}:
                    request.label = label
                case "timeout", int() | float() if 0 < value < 1e9:
                    request.timeout_s = value / 1000
                case "timeout", str() if re.fullmatch(r"\d{1,6}s", value) and value != "0s":
                    request.timeout_s = float(value[:-1])
                case "tags" | "responseType", _:
                    continue
                case _:
                    code.note(f"the parameter {str(name)[:60]!r} of a request is not carried over")

    def _body(self, code: Code, headers: Pairs) -> Body | None:
        """Read a body: a form of an object, JSON, or a text."""
        value = self._script.value(code)
        kinds = [
            plain(one) for name, one in headers if plain(name) in {"Content-Type", "content-type"}
        ]
        kind = kinds[0] if kinds else None
        if value is None:
            return None
        if isinstance(value, dict):
            if not kinds:
                headers.append((("Content-Type",), ("application/x-www-form-urlencoded",)))
            return FormBody(
                [((name,), self._script.text(code, one)) for name, one in value.items()]
            )
        if isinstance(value, JsonText):
            text = self._json_text(value.value, code)
            return body_of(text, kind if media_type(kind).endswith("json") else None)
        return body_of(self._script.text(code, value), kind)

    def _json_text(self, value: Value, code: Code) -> tuple[Any, ...]:  # noqa: PLR0911  (a kind)
        """Write a value as JSON.stringify does; variables are in texts."""
        match value:
            case dict():
                members = [
                    joined("," if at else "", json.dumps(name, ensure_ascii=False), ":", inner)
                    for at, (name, one) in enumerate(value.items())
                    if (inner := self._json_text(one, code))
                ]
                return joined("{", *members, "}")
            case list():
                items = [self._json_text(one, code) for one in value]
                return joined(
                    "[", *(joined("," if at else "", one) for at, one in enumerate(items)), "]"
                )
            case tuple():
                pieces = (
                    json.dumps(one, ensure_ascii=False)[1:-1] if isinstance(one, str) else one
                    for one in value
                )
                return joined('"', *pieces, '"')
            case JsonOf():
                name = str(value.steps[-1]) if value.steps else "value"
                return joined('"', self._extracted(value, name), '"')
            case None | bool() | str():
                return (json.dumps(value, ensure_ascii=False),)
            case int() | float():
                return (number_text(value),)
        return joined('"', self._script.text(code, value), '"')


def _padded(given: list[Any]) -> tuple[Any, Any]:
    """Return the first two arguments; None for those that are not there."""
    first, second, *_ = (*given, None, None)
    return first, second


def _text(given: list[Code]) -> str:
    return given[0].text.strip() if given else ""
