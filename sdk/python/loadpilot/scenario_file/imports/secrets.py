"""Replaces secrets in requests by parameters: credentials, cookies, keys, tokens and passwords."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from ...request.headers import is_secret_name
from .bodies import marked, unmarked
from .imported_scenario import (
    Extracted,
    FormBody,
    JsonBody,
    MultipartBody,
    Number,
    Parameter,
    RawBody,
    Text,
    Variable,
    joined,
    plain,
    variables_of,
)
from .names import Names, constant

if TYPE_CHECKING:
    from .imported_scenario import Body, Imported, Pairs, Part, Request
    from .source import Source

SCHEME = re.compile(r"(?i)(bearer|token|apikey|digest|negotiate) +(?=\S)")
JSON_WEB_TOKEN = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
PUBLIC_FIELD = re.compile(
    r"(?i)author|^key$|keyword|session_?(type|name|count)|token_?(type|count)"
)
IN_TEXT = re.compile(
    r"""
      "(?P<member>[^"\\]{1,100})"\s*:\s*
        (?:"(?P<text>(?:[^"\\]++|\\.)++)"|(?P<number>-?\d[\d.eE+-]*|\ue000\d+\ue001))
    | <(?:[\w.-]+:)?(?P<element>[\w.-]{1,100})(?:\s[^<>]*)?>
        \s*(?:<!\[CDATA\[)?(?P<content>[^<>\]\s][^<>\]]*)(?:\]\]>)?</
    | (?<=\s)(?P<attribute>[\w.:-]{1,100})=(?P<mark>["'])(?P<quoted>[^"'<>]+)(?P=mark)
    | (?:(?<=[&?;])|\A)(?P<field>[^=&?;\s"'<>{}]{1,100})=(?P<value>[^&\s"<>]+)
    | (?P<token>(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)
    """,
    re.VERBOSE,
)
"""Named values in JSON, XML and forms, also where they are part of another text."""
NAMED = {
    "member": ("text", "number"),
    "element": ("content",),
    "attribute": ("quoted",),
    "field": ("value",),
    "token": ("token",),
}
"""The groups of a value, by that of its name."""
IN_PYTHON = "; outside of a header it makes the scenario run in Python"


@dataclass(slots=True)
class Concealment:
    """The secrets of a scenario, each a parameter by its value."""

    imported: Imported
    source: Source
    names: dict[str, str] = field(default_factory=dict)
    """Name in the environment of each variable that is a parameter."""
    _free: Names = field(default_factory=lambda: Names(frozenset()))
    _by_value: dict[str, Variable] = field(default_factory=dict)
    _dropped: set[str] = field(default_factory=set)
    """Variables whose value in the file is a secret."""

    def __post_init__(self) -> None:
        """Name the parameters that the file has by itself; a secret one loses its value."""
        for name, meaning in self.imported.variables.items():
            if isinstance(meaning, Parameter | Extracted):
                self.names[name] = self._free.give(constant(name, "PARAMETER"))
            default = meaning.default if isinstance(meaning, Parameter) else None
            if default and (is_secret_field(name) or _holds_secret(default)):
                self.imported.variables[name] = Parameter(None, is_secret=True)
                self._dropped.add(name)

    def conceal(self, request: Request) -> None:
        """Replace the secrets of a request."""
        at = request.place
        if request.auth is None:
            self._take_basic(request)
        declared = request.secret_field
        request.headers = [
            self._header(at, name, value, declared) for name, value in request.headers
        ]
        if request.auth is not None:
            user, password = request.auth
            request.auth = (
                user,
                self._secret(at, "password", "the password of the Basic credentials", password),
            )
        request.cookies = [
            (name, self._secret(at, f"{plain(name)}_cookie", f"the cookie {plain(name)}", value))
            for name, value in request.cookies
        ]
        request.path = self._in_text(at, "path{}", request.path)
        request.query = self._fields(at, "query", request.query, declared)
        request.body = self._body(at, request.body)
        sent = (request.path, request.query, request.cookies, request.headers)
        for one in variables_of([*sent, request.body, request.auth]):
            if one.name in self._dropped:
                self._dropped.remove(one.name)
                name = self.names[one.name]
                what = f"the variable {one.name} is a secret: set {name} in the environment"
                self.source.note(at, what)

    def _take_basic(self, request: Request) -> None:
        """Turn a header of Basic credentials into user and password."""
        for index, (name, value) in enumerate(request.headers):
            text = plain(value)
            is_basic = text is not None and text.lower().startswith("basic ")
            if (plain(name) or "").lower() != "authorization" or not is_basic or text is None:
                continue
            try:
                decoded = base64.b64decode(text[6:].strip(), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                decoded = ""
            user, colon, password = decoded.partition(":")
            if colon and user.isprintable() and password.isprintable() and password:
                request.auth = ((user,), (password,))
                del request.headers[index]
            return

    def _header(self, at: str, name: Text, value: Text, declared: str | None) -> tuple[Text, Text]:
        word = plain(name) or ""
        if not is_secret_name(word) and word.lower() != declared:
            return name, self._in_text(at, f"header {word}", value)
        scheme = SCHEME.match(value[0]) if value and isinstance(value[0], str) else None
        if scheme is None or not isinstance(value[0], str):
            return name, self._secret(at, word, f"the header {word}", value)
        rest = joined(value[0][scheme.end() :], value[1:])
        hint = f"{scheme[1]}_token" if scheme[1].lower() == "bearer" else word
        return name, joined(scheme[0], self._secret(at, hint, f"the header {word}", rest))

    def _fields(self, at: str, what: str, fields: Pairs, declared: str | None = None) -> Pairs:
        found = []
        for name, value in fields:
            word = plain(name) or ""
            text = plain(value) or ""
            is_secret = is_secret_field(word) or word.lower() == declared
            if is_secret or JSON_WEB_TOKEN.fullmatch(text):
                value = self._secret(at, word, f"the field {word} of the {what}{{}}", value)  # noqa: PLW2901
            found.append((name, value))
        return found

    def _body(self, at: str, body: Body | None) -> Body | None:
        match body:
            case JsonBody(value):
                return JsonBody(self._json(at, "", value))
            case FormBody(fields):
                return FormBody(self._fields(at, "form", fields))
            case MultipartBody(fields, parts):
                return MultipartBody(
                    self._fields(at, "form", fields), [self._part(at, one) for one in parts]
                )
            case RawBody(content):
                return RawBody(self._raw(at, content))
        return body

    def _part(self, at: str, part: Part) -> Part:
        """Replace the secrets of a field with a content type."""
        if not isinstance(part.content, tuple):
            return part
        ((_, content),) = self._fields(at, "form", [((part.name,), part.content)])
        return replace(part, content=self._in_text(at, "body{}", content))

    def _raw(self, at: str, content: Text | bytes) -> Text | bytes:
        if not isinstance(content, bytes):
            return self._in_text(at, "body{}", content)
        try:
            text = (content.decode(),)
        except UnicodeDecodeError:
            return content
        found = self._in_text(at, "body{}", text)
        return content if found == text else found

    def _in_text(self, at: str, what: str, content: Text) -> Text:
        """Replace the secrets in a text that stays as it is written."""
        try:
            text, variables = marked(content)
        except ValueError:
            return content
        found: list[Text] = []
        at_text = end = 0
        while one := IN_TEXT.search(text, at_text):
            at_text = one.start() + 1
            name, group = _named(one)
            if is_secret_field(name) or JSON_WEB_TOKEN.fullmatch(one[group]):
                label = f"the value of {name} in the {what}"
                value = self._secret(at, name, label, unmarked(one[group], variables))
                found += [unmarked(text[end : one.start(group)], variables), value]
                at_text = end = one.end(group)
        return joined(*found, unmarked(text[end:], variables))

    def _json(self, at: str, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._json(at, name, one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._json(at, key, one) for one in value]
        if isinstance(value, str | tuple):
            text: Text = value if isinstance(value, tuple) else (value,)
            is_token = isinstance(value, str) and JSON_WEB_TOKEN.fullmatch(value)
            if value and (is_token or is_secret_field(key)):
                return self._secret(at, key, f"the member {key} of the body{{}}", text)
        if isinstance(value, int) and not isinstance(value, bool) and is_secret_field(key):
            text = self._secret(at, key, f"the member {key} of the body{{}}", (str(value),))
            return Number(next(variables_of(text)))
        return value

    def _secret(self, at: str, hint: str, what: str, value: Text) -> Text:
        """Return the parameter for a value; variables of the file become secrets themselves."""
        text = plain(value)
        more = IN_PYTHON if "{}" in what else ""
        label = what.replace("{}", "")
        if text is None:
            for one in value:
                self._declare_secret(at, label, one, more)
            return value
        if not text:
            return value
        if text not in self._by_value:
            name = self._free.give(constant(hint, "SECRET"))
            variable = Variable(f"secret {name}")
            self._by_value[text] = variable
            self.names[variable.name] = name
            self.imported.variables[variable.name] = Parameter(None, is_secret=True)
        name = self.names[self._by_value[text].name]
        self.source.note(at, f"{label} is a secret: set {name} in the environment{more}")
        return (self._by_value[text],)

    def _declare_secret(self, at: str, label: str, one: str | Variable, more: str) -> None:
        """Make a variable of the file a secret parameter."""
        if not isinstance(one, Variable):
            return
        meaning = self.imported.variables.get(one.name)
        if isinstance(meaning, Parameter):
            self.imported.variables[one.name] = Parameter(None, is_secret=True)
            name = self.names[one.name]
            self.source.note(at, f"{label} is a secret: set {name} in the environment{more}")


def _named(found: re.Match[str]) -> tuple[str, str]:
    """Return the name of a value in a text, and the group that the value is."""
    kind = next(name for name in NAMED if found[name])
    group = next(name for name in NAMED[kind] if found[name])
    return "token" if kind == "token" else unquote_plus(found[kind]), group


def _holds_secret(text: str) -> bool:
    return any(is_secret_field(_named(one)[0]) for one in IN_TEXT.finditer(text))


def is_secret_field(name: str) -> bool:
    """Whether the name of a field of a query, form or JSON body is that of a secret."""
    return is_secret_name(name) and not PUBLIC_FIELD.search(name)
