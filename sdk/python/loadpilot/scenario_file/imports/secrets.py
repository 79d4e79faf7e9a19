"""Replaces secrets in requests by parameters: credentials, cookies, keys, tokens and passwords."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...request.headers import is_secret_name
from .imported_scenario import (
    Extracted,
    FormBody,
    JsonBody,
    MultipartBody,
    Parameter,
    Text,
    Variable,
    joined,
    plain,
)
from .names import Names, constant

if TYPE_CHECKING:
    from .imported_scenario import Body, Imported, Pairs, Request
    from .source import Source

SCHEME = re.compile(r"(?i)(bearer|token|apikey|digest|negotiate) +(?=\S)")
JSON_WEB_TOKEN = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
PUBLIC_FIELD = re.compile(
    r"(?i)author|^key$|keyword|session_?(type|name|count)|token_?(type|count)"
)
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

    def __post_init__(self) -> None:
        """Name the parameters that the file has by itself."""
        for name, meaning in self.imported.variables.items():
            if isinstance(meaning, Parameter | Extracted):
                self.names[name] = self._free.give(constant(name, "PARAMETER"))

    def conceal(self, request: Request) -> None:
        """Replace the secrets of a request."""
        at = request.place
        request.headers = [self._header(at, name, value) for name, value in request.headers]
        if request.auth is None:
            self._take_basic(request)
        if request.auth is not None:
            user, password = request.auth
            request.auth = (
                user,
                self._secret(at, "password", "the password of the Basic credentials", password),
            )
        request.query = self._fields(at, "query", request.query)
        request.body = self._body(at, request.body)

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
            else:
                request.headers[index] = (
                    name,
                    self._secret(request.place, "authorization", "the header", value),
                )
            return

    def _header(self, at: str, name: Text, value: Text) -> tuple[Text, Text]:
        word = plain(name) or ""
        if not is_secret_name(word) or (plain(value) or "").lower().startswith("basic "):
            return name, value
        scheme = SCHEME.match(value[0]) if value and isinstance(value[0], str) else None
        if scheme is None or not isinstance(value[0], str):
            return name, self._secret(at, word, f"the header {word}", value)
        rest = joined(value[0][scheme.end() :], value[1:])
        hint = f"{scheme[1]}_token" if scheme[1].lower() == "bearer" else word
        return name, joined(scheme[0], self._secret(at, hint, f"the header {word}", rest))

    def _fields(self, at: str, what: str, fields: Pairs) -> Pairs:
        found = []
        for name, value in fields:
            word = plain(name) or ""
            text = plain(value) or ""
            if is_secret_field(word) or JSON_WEB_TOKEN.fullmatch(text):
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
                return MultipartBody(self._fields(at, "form", fields), parts)
        return body

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


def is_secret_field(name: str) -> bool:
    """Whether the name of a field of a query, form or JSON body is that of a secret."""
    return is_secret_name(name) and not PUBLIC_FIELD.search(name)
