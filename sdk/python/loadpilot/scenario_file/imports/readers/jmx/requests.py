"""The requests of JMeter's HTTP samplers, their assertions and extractors."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, unquote_plus

from ...bodies import FORM_TYPE, body_of
from ...imported_scenario import (
    Check,
    Extracted,
    Extraction,
    FileBody,
    FormBody,
    MultipartBody,
    Part,
    Request,
    joined,
    plain,
)

if TYPE_CHECKING:
    from ...imported_scenario import Body, Imported, Pairs, Text
    from ...source import Source
    from .properties import Properties, Texts

JSON_PATH = re.compile(r"\$((?:\.\w+|\[\d+\]|\['[^'\\]+'\])+)")
JSON_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\['([^'\\]+)'\]")
PATTERN_LETTERS = frozenset("\\^$.|?*+()[]{}")
CONTAINS, EQUALS, SUBSTRING, MATCHES = 2, 8, 16, 1
ANY = 32
NOT = 4


def sampler(
    properties: Properties, defaults: list[Properties], headers: list[Properties], texts: Texts
) -> Request:
    """Make the request of a sampler; the defaults around it fill in what it does not set."""
    around = [properties, *reversed(defaults)]

    def text(name: str, default: str = "") -> str:
        found = (one.text(f"HTTPSampler.{name}") for one in around)
        return next((one for one in found if one), default)

    place = f"line {properties.element.line}"
    path = text("path")
    url = texts.read(path)
    domain, port = text("domain"), text("port")
    if not path.startswith(("http://", "https://")):
        path = path if path.startswith("/") else f"/{path}"
        scheme = text("protocol", "http").lower()
        host = f"{scheme}://{domain}{f':{port}' if port else ''}" if domain else ""
        url = texts.read(host + path)
    method = text("method", "GET").upper()
    request = Request(place, method, url)
    request.headers = _headers(headers, texts)
    request.follows_redirects = properties.text("HTTPSampler.follow_redirects", "false") == "true"
    timeout_ms = texts.number(properties, "HTTPSampler.response_timeout", 0)
    if timeout_ms:
        request.timeout_s = timeout_ms / 1000
    if properties.text("HTTPSampler.auto_redirects", "false") == "true":
        what = "automatic redirects become calls of their own, which reports count"
        texts.source.note(place, what)
        request.follows_redirects = True
    if properties.text("HTTPSampler.image_parser", "false") == "true":
        texts.source.note(place, "embedded resources are not requested")
    arguments = [one for around_ in reversed(around) for one in _arguments(around_)]
    _add_arguments(request, properties, arguments, texts)
    sent = "".join(one.raw("Argument.name") + one.raw("Argument.value") for one in arguments)
    encoding = text("contentEncoding", "utf-8")
    if not _is_utf8(sent, encoding):
        what = f"the encoding {encoding[:40]!r} is not carried over: texts are sent as UTF-8"
        texts.source.note(place, what)
    return request


def _is_utf8(text: str, encoding: str) -> bool:
    """Whether a text has the same bytes in an encoding as in UTF-8; variables may have any."""
    try:
        if codecs.lookup(encoding).name == "utf-8":
            return True
        return "${" not in text and text.encode(encoding) == text.encode()
    except (LookupError, UnicodeError):
        return False


def _arguments(properties: Properties) -> list[Properties]:
    return properties.collection("Arguments.arguments")


def _headers(managers: list[Properties], texts: Texts) -> Pairs:
    """Read the headers around a sampler; the nearest of a name wins."""
    found: dict[str, tuple[Text, Text]] = {}
    for manager in managers:
        for one in manager.collection("HeaderManager.headers"):
            name = one.text("Header.name")
            if name:
                found[name.lower()] = ((name,), texts.read(one.text("Header.value")))
    return list(found.values())


def _add_arguments(
    request: Request, properties: Properties, arguments: list[Properties], texts: Texts
) -> None:
    """Send arguments as JMeter does: in the query, as a form, or as the body itself."""
    if properties.text("HTTPSampler.postBodyRaw", "false") == "true":
        content = "".join(one.raw("Argument.value") for one in _arguments(properties))
        kinds = [
            plain(v) for name, v in request.headers if (plain(name) or "").lower() == "content-type"
        ]
        request.body = body_of(texts.read(content), kinds[0] if kinds else None)
        return
    files = properties.collection("HTTPFileArgs.files")
    is_form = request.method in {"PATCH", "POST", "PUT"}
    is_multipart = is_form and (
        bool(files) or properties.text("HTTPSampler.DO_MULTIPART_POST", "false") == "true"
    )
    fields = [_field(one, texts, is_multipart=is_multipart) for one in arguments]
    if is_multipart and fields and not files:
        request.body = MultipartBody(fields, [])
    elif files and is_form:
        request.body = _files(request, fields, files, texts)
    elif fields and is_form:
        names = {(plain(name) or "").lower() for name, _ in request.headers}
        if "content-type" not in names:
            request.headers.append((("Content-Type",), (FORM_TYPE,)))
        request.body = FormBody(fields)
    elif fields:
        request.url = (
            joined(request.url, "?", _query(fields))
            if "?" not in _shown(request.url)
            else joined(request.url, "&", _query(fields))
        )


def _field(argument: Properties, texts: Texts, *, is_multipart: bool) -> tuple[Text, Text]:
    """Read a field. One that JMeter sends unchanged is encoded already, but not in multipart."""
    name, value = argument.text("Argument.name"), texts.read(argument.raw("Argument.value"))
    is_encoded = argument.text("HTTPArgument.always_encode") == "false" and not is_multipart
    if is_encoded:
        name = unquote_plus(name)
        value = tuple(unquote_plus(one) if isinstance(one, str) else one for one in value)
    return ((name,) if name else ()), value


def _shown(text: Text) -> str:
    return "".join(one if isinstance(one, str) else "x" for one in text)


def _query(fields: Pairs) -> Text:
    """Write fields as a query."""
    pieces: list[Text | str] = []
    for at, (name, value) in enumerate(fields):
        encoded = tuple(quote_plus(one) if isinstance(one, str) else one for one in value)
        pieces += ["&" if at else "", quote_plus(plain(name) or ""), "=", encoded]
    return joined(*pieces)


def _files(request: Request, fields: Pairs, files: list[Properties], texts: Texts) -> Body | None:
    parts = []
    for one in files:
        path = one.text("File.path").replace("\\", "/")
        name = path.rpartition("/")[2]
        what = f"put the file {name!r} beside the scenario: its content is a body"
        texts.source.note(request.place, what)
        kind = one.text("File.mimetype") or None
        parts.append(Part(one.text("File.paramname"), name, FileBody(name), kind))
    if len(parts) == 1 and not parts[0].name:
        return FileBody(parts[0].filename or "")
    return MultipartBody(fields, parts)


def assertion(properties: Properties, source: Source) -> list[Check]:
    """Read a response assertion: statuses and texts; anything else is named."""
    place = f"line {properties.element.line}"
    field = properties.text("Assertion.test_field")
    kind = properties.text("Assertion.test_type", "2")
    mode = int(kind) if kind.isascii() and kind.isdecimal() and len(kind) < 6 else 0
    texts = properties.texts("Asserion.test_strings") or properties.texts("Assertion.test_strings")
    is_simple = not mode & NOT and not (mode & ANY and len(texts) > 1)
    if is_simple and field == "Assertion.response_code":
        if all(re.fullmatch(r"\d{3}", one) for one in texts):
            return [Check(status=int(one)) for one in texts]
    elif is_simple and field == "Assertion.response_data":
        is_text = bool(mode & SUBSTRING) or not any(PATTERN_LETTERS & set(one) for one in texts)
        if mode & (SUBSTRING | CONTAINS) and is_text:
            return [Check(contains=one) for one in texts]
    source.note(place, "an assertion other than of a status or a text of the body is left out")
    return []


def extraction(properties: Properties, source: Source, imported: Imported) -> list[Extraction]:
    """Read a JSON extractor whose paths lead to one value."""
    names = properties.text("JSONPostProcessor.referenceNames").split(";")
    paths = properties.text("JSONPostProcessor.jsonPathExprs").split(";")
    found = []
    for name, path in zip(names, paths, strict=False):
        one = JSON_PATH.fullmatch(path.strip())
        if one is None or not name.strip():
            place = f"line {properties.element.line}"
            source.note(
                place, f"the JSON path {path[:60]!r} is not carried over: it is no plain one"
            )
            continue
        steps = tuple(
            int(index) if index else word or quoted
            for word, index, quoted in JSON_STEP.findall(one[1])
        )
        imported.variables[name.strip()] = Extracted()
        found.append(Extraction(name.strip(), steps))
    return found
