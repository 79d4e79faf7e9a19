"""Reads curl commands: a line, a script, or a command that a browser has copied."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from .....problem import nearest
from ...bodies import FORM_TYPE, body_of
from ...imported_scenario import (
    FileBody,
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
    variables_of,
)
from ...names import class_of_file, words_of_route
from .options import ALIASES, IGNORED, NOTED, SHORT, VALUED
from .shell_parser import commands_of

if TYPE_CHECKING:
    from ...imported_scenario import Body, Pairs, Text
    from ...source import Source
    from .shell_parser import Word

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
HEADERS = {
    "cookie": ("Cookie", ""),
    "oauth2-bearer": ("Authorization", "Bearer "),
    "range": ("Range", "bytes="),
    "referer": ("Referer", ""),
    "user-agent": ("User-Agent", ""),
}
"""Headers that options set, each with the text before the value."""
STDIN = "not standard input"
GLOB = re.compile(r"\{[^{}/]*,[^{}/]*\}|\[\w+-\w+(?::\d+)?\]")


@dataclass(slots=True)
class _Command:
    """The options of one curl command, up to ``--next``."""

    place: str
    urls: list[tuple[str, Text]] = field(default_factory=list)
    method: str | None = None
    headers: Pairs = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    """Names of headers that are not to be sent, in lower case."""
    data: list[Text] = field(default_factory=list)
    file: str | None = None
    """File whose content is the body."""
    form: MultipartBody = field(default_factory=lambda: MultipartBody([], []))
    auth: tuple[Text, Text] | None = None
    is_get: bool = False
    is_head: bool = False
    is_upload: bool = False
    is_json: bool = False
    is_unglobbed: bool = False
    follows_redirects: bool = False
    timeout_s: float | None = None
    query: list[Text] = field(default_factory=list)


def read_curl(source: Source) -> Imported:
    """Read all commands as one task, in their order."""
    imported = Imported("import curl", source.name)
    requests: list[Request] = []
    for words in commands_of(source):
        requests += _Parser(source, imported).requests(words)
    source.check()
    name = "requests"
    if len(requests) == 1:
        text = "".join(one if isinstance(one, str) else one.name for one in requests[0].url)
        path = re.sub(r"^[A-Za-z]+://[^/?]*|\?.*", "", text)
        name = words_of_route(requests[0].method, (path,))
    users = UserType(class_of_file(source.name, "Curl"), [Task(name, [Step(None, requests)])])
    imported.types.append(users)
    return imported


@dataclass(slots=True)
class _Parser:
    source: Source
    imported: Imported

    def requests(self, words: list[Word]) -> list[Request]:
        """Read one command of the shell; anything but curl is not carried over."""
        words = list(words)
        while words and (found := ASSIGNMENT.fullmatch(_text(words[0].text))):
            if plain(words[0].text) is not None:
                self.imported.variables[found[1]] = Parameter(found[2])
            words.pop(0)
        if not words:
            return []
        program = _text(words[0].text).rpartition("/")[2].removesuffix(".exe")
        if program != "curl":
            self.source.note(
                words[0].place, f"{program[:40]!r} is not curl: the command is left out"
            )
            return []
        commands = [_Command(words[0].place)]
        rest = words[1:]
        while rest:
            word = rest.pop(0)
            text = _text(word.text)
            if text in {"--next", "-:"}:
                commands.append(_Command(word.place))
            elif text.startswith("--") and len(text) > 2:
                self._long(commands[-1], text[2:], word, rest)
            elif text.startswith("-") and len(text) > 1:
                self._short(commands[-1], word, rest)
            else:
                commands[-1].urls.append((word.place, word.text))
        return [one for command in commands for one in self._command(command)]

    def _long(self, command: _Command, name: str, word: Word, rest: list[Word]) -> None:
        name = ALIASES.get(name, name)
        if name in VALUED:
            self._valued(command, name, word, rest)
        elif not self._flag(command, name, word):
            bare = name.removeprefix("no-")
            if bare in IGNORED or bare in NOTED:
                return
            near = nearest(name, [*VALUED, *IGNORED, *NOTED, *SHORT.values(), *ALIASES])
            hint = f"; did you mean --{near}?" if near else ""
            self.source.wrong(word.place, f"must be an option of curl{hint}", f"--{name}")

    def _short(self, command: _Command, word: Word, rest: list[Word]) -> None:
        """Read a word of one or several letters, the last of which may have its value there."""
        text = word.text[0] if isinstance(word.text[0], str) else ""
        for at, letter in enumerate(text[1:], 1):
            name = SHORT.get(letter)
            if name is None:
                self.source.wrong(word.place, "must be an option of curl", f"-{letter}")
                return
            if name in VALUED:
                value = joined(text[at + 1 :], word.text[1:])
                self._valued(command, name, word, rest, value or None)
                return
            self._flag(command, name, word)

    def _flag(self, command: _Command, name: str, word: Word) -> bool:
        """Apply an option without a value; returns whether curl has it."""
        match name:
            case "get":
                command.is_get = True
            case "head":
                command.is_head = True
            case "location":
                command.follows_redirects = True
            case "globoff":
                command.is_unglobbed = True
            case "compressed":
                command.headers.append((("Accept-Encoding",), ("deflate, gzip, br, zstd",)))
            case _ if name in NOTED:
                self.source.note(word.place, f"--{name} is not carried over: {NOTED[name]}")
            case _:
                return name in IGNORED
        return True

    def _valued(
        self, command: _Command, name: str, word: Word, rest: list[Word], value: Text | None = None
    ) -> None:
        place = word.place
        if value is None:
            if not rest:
                self.source.wrong(place, "must have a value after it", f"--{name}")
                return
            place, value = rest[0].place, rest.pop(0).text
        text = _text(value)
        match name:
            case "url":
                command.urls.append((place, value))
            case "header":
                self._header(command, place, value)
            case "user":
                user, colon, password = _cut(value, ":")
                command.auth = (user, password if colon else ())
            case "cookie" if "=" not in text and plain(value) is not None:
                self.source.note(place, "the file of cookies is not carried over")
            case "max-time":
                self._max_time(command, place, text)
            case _ if name in HEADERS:
                header, before = HEADERS[name]
                command.headers.append(((header,), joined(before, value)))
            case _ if name in NOTED:
                self.source.note(word.place, f"--{name} is not carried over: {NOTED[name]}")
            case _:
                self._content(command, name, place, value)

    def _content(self, command: _Command, name: str, place: str, value: Text) -> None:
        """Take an option of the body or the query; others do not change the request."""
        match name:
            case "data" | "data-raw" | "data-binary" | "json":
                command.is_json |= name == "json"
                self._data(command, name, place, value)
            case "data-urlencode":
                self._urlencoded(command, place, value)
            case "request":
                command.method = _text(value).upper()
            case "url-query":
                command.query.append(value)
            case "form" | "form-string":
                self._form(command, place, value, is_text=name == "form-string")
            case "upload-file":
                command.file, command.is_upload = _text(value), True
                if command.file in {"-", "."}:
                    self.source.wrong(place, f"must be a file beside the scenario, {STDIN}", "-")
                self._beside(place, command.file)

    def _max_time(self, command: _Command, place: str, text: str) -> None:
        if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) or not float(text):
            self.source.wrong(place, "must be a number of seconds", text)
        else:
            command.timeout_s = float(text)

    def _header(self, command: _Command, place: str, value: Text) -> None:
        if _text(value).startswith("@"):
            self.source.note(place, "the file of headers is not carried over")
            return
        name, mark, content = _cut(value, ":")
        if not mark and _text(name).endswith(";"):
            command.headers.append(((_text(name)[:-1].strip(),), ()))
        elif not mark:
            self.source.wrong(place, "must be a header, Name: value", _text(value)[:20])
        elif not _text(content).strip() and plain(content) is not None:
            command.removed.add(_text(name).strip().lower())
        else:
            command.headers.append(((_text(name).strip(),), content))

    def _data(self, command: _Command, name: str, place: str, value: Text) -> None:
        text = _text(value)
        if name == "data-raw" or not text.startswith("@"):
            command.data.append(value)
            return
        if text == "@-":
            self.source.wrong(place, f"must be a text or a file beside the scenario, {STDIN}", text)
            return
        command.file = text[1:]
        self._beside(place, text[1:])
        if name == "data":
            what = "curl leaves out line breaks of a file after -d, the scenario sends them"
            self.source.note(place, what)

    def _beside(self, place: str, file: str) -> None:
        what = f"put the file {file!r} beside the scenario: its content is a body"
        self.source.note(place, what)

    def _urlencoded(self, command: _Command, place: str, value: Text) -> None:
        name, mark, content = _cut(value, "=")
        if not mark and "@" in _text(value):
            self.source.note(place, "--data-urlencode with a file is not carried over")
            return
        if not mark:
            name, content = (), value
        encoded = joined(*(quote_plus(one) if isinstance(one, str) else one for one in content))
        command.data.append(joined(name, "=" if name else "", encoded))

    def _form(self, command: _Command, place: str, value: Text, *, is_text: bool) -> None:
        name, mark, content = _cut(value, "=")
        if not mark:
            self.source.wrong(place, "must be a field, name=value", _text(value)[:20])
            return
        text = _text(content)
        if is_text or not text.startswith(("@", "<")):
            bare, _, kind = (content, "", ()) if is_text else _cut(content, ";type=")
            if kind:
                media = _text(kind).partition(";")[0].strip()
                command.form.parts.append(Part(_text(name), None, bare, media))
            else:
                command.form.fields.append((name, bare))
            return
        file, *options = text[1:].split(";")
        if file == "-":
            self.source.wrong(place, f"must be a text or a file beside the scenario, {STDIN}", text)
        named = dict(one.strip().partition("=")[::2] for one in options)
        self._beside(place, file)
        if text.startswith("<"):
            self.source.note(place, "a field with the content of a file is sent as a file")
        filename = named.get("filename", file.rpartition("/")[2]).strip('"')
        part = Part(_text(name), filename, FileBody(file), named.get("type"))
        command.form.parts.append(part)

    def _command(self, command: _Command) -> list[Request]:
        """Make the requests of a command, one for each URL."""
        if command.file is not None and not command.is_upload and (command.data or command.is_get):
            must = "must have its body from one file alone, or from texts"
            self.source.wrong(command.place, must, f"@{command.file}")
        if not command.urls:
            self.source.wrong(command.place, "must name a URL", "curl")
        requests = []
        for place, url in command.urls:
            if GLOB.search(_text(url)) and not command.is_unglobbed:
                self.source.note(
                    place, "the ranges in braces or brackets of a URL are not expanded"
                )
            headers = [
                (name, value)
                for name, value in command.headers
                if _text(name).lower() not in command.removed
            ]
            query = [*command.query, *(command.data if command.is_get else [])]
            body = None if command.is_get else self._body(command, headers)
            whole = _absolute(url)
            for one in query:
                whole = joined(whole, "&" if "?" in _text(whole) else "?", one)
            self._declare(whole)
            request = Request(place, _method(command, body), whole, headers, body=body)
            request.auth = command.auth
            request.follows_redirects = command.follows_redirects
            request.timeout_s = command.timeout_s
            for text in (*(one for pair in headers for one in pair), *(command.auth or ())):
                self._declare(text)
            requests.append(request)
        return requests

    def _body(self, command: _Command, headers: Pairs) -> Body | None:
        """Make the body, and the content type that curl sends with it."""
        names = {_text(name).lower(): value for name, value in headers}
        if command.form.fields or command.form.parts:
            for one in variables_of(command.form):
                self._declare((one,))
            return command.form
        if command.is_json:
            for name in ("Content-Type", "Accept"):
                if name.lower() not in names and name.lower() not in command.removed:
                    headers.append(((name,), ("application/json",)))
        elif (
            (command.data or command.file)
            and not command.is_upload
            and "content-type" not in {*names, *command.removed}
        ):
            headers.append((("Content-Type",), (FORM_TYPE,)))
        if command.file is not None:
            return FileBody(command.file)
        if not command.data:
            return None
        mark = "" if command.is_json else "&"
        content = joined(*(joined(mark if at else "", one) for at, one in enumerate(command.data)))
        self._declare(content)
        kinds = [plain(value) for name, value in headers if _text(name).lower() == "content-type"]
        return body_of(content, kinds[0] if kinds else None) or RawBody(())

    def _declare(self, text: Text) -> None:
        """Make the variables of the shell in a text parameters."""
        for one in text:
            if isinstance(one, Variable):
                self.imported.variables.setdefault(one.name, Parameter(None))


def _method(command: _Command, body: Body | None) -> str:
    if command.method is not None:
        return command.method
    if command.is_head:
        return "HEAD"
    if command.is_upload:
        return "PUT"
    return "POST" if body is not None else "GET"


def _absolute(url: Text) -> Text:
    """Add the scheme that curl takes where there is none."""
    first = url[0] if url else ""
    if isinstance(first, str) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", first):
        return joined("http://", url)
    return url


def _text(text: Text) -> str:
    """Write a text with its variables as a shell does."""
    return "".join(one if isinstance(one, str) else f"${{{one.name}}}" for one in text)


def _cut(text: Text, mark: str) -> tuple[Text, str, Text]:
    """Split a text at the first mark outside of variables."""
    for at, one in enumerate(text):
        if isinstance(one, str) and mark in one:
            before, _, after = one.partition(mark)
            return joined(*text[:at], before), mark, joined(after, *text[at + 1 :])
    return text, "", ()
