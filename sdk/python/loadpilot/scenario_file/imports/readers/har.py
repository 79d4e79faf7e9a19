"""Reads HTTP archives (HAR 1.2), as Chromium and Firefox write them."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import TYPE_CHECKING

from ..bodies import body_of, media_type
from ..imported_scenario import FormBody, MultipartBody, Part, RawBody, Request
from ..recorded_exchanges import Exchange, of_recording

if TYPE_CHECKING:
    from ..imported_scenario import Body, Imported, Pairs
    from ..source import Node, Source


def read_har(source: Source, *, with_assets: bool) -> Imported:
    """Read the entries as one task in the order of time, with a step for each page."""
    log = source.json()["log"]
    if not isinstance(log.value, dict):
        raise source.refuse("log", 'must be an object: a HAR file is {"log": {"entries": […]}}')
    titles = {page["id"].text(""): page["title"].text("") for page in log["pages"].list()}
    exchanges = []
    for entry in log["entries"].list(required=True):
        exchange = _exchange(entry, titles)
        status = entry["response"]["status"].value
        if status == 0 and not entry["response"]["headers"].value:
            entry.note("requests without a response are left out: the browser cancelled them")
        else:
            exchanges.append(exchange)
    source.check()
    return of_recording("import har", exchanges, source, with_assets=with_assets)


def _exchange(entry: Node, titles: dict[str, str]) -> Exchange:
    asked, answered = entry["request"], entry["response"]
    headers = _pairs(asked["headers"])
    url = asked["url"].text()
    request = Request(entry.path, asked["method"].text().upper(), (url,), headers)
    request.body = _body(asked["postData"])
    started_s = _instant(entry["startedDateTime"])
    page = entry["pageref"].text("") or None
    resource = entry["_resourceType"].text("")
    if resource in {"", "other"}:
        resource = answered["content"]["mimeType"].text("")
    set_cookies = [
        line.partition("=")[0].strip()
        for header in answered["headers"].list()
        if header["name"].text("").lower() == "set-cookie"
        # Firefox and Chromium put several cookies into one header, a line each.
        for line in header["value"].text("").split("\n")
    ]
    return Exchange(
        request=request,
        started_s=started_s,
        ended_s=started_s + max(0.0, entry["time"].number(0)) / 1000,
        page=page,
        title=titles.get(page or "", ""),
        status=int(answered["status"].number(0)),
        resource=resource,
        set_cookies=frozenset(set_cookies),
    )


def _pairs(fields: Node) -> Pairs:
    return [((one["name"].text(),), (one["value"].text(""),)) for one in fields.list()]


def _instant(node: Node) -> float:
    """Read a time stamp, in seconds of the Unix epoch."""
    text = node.text()
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        if isinstance(node.value, str):
            node.wrong("must be a time such as 2026-11-26T10:00:00.000+01:00")
        return 0.0


def _body(posted: Node) -> Body | None:
    """Read a posted body: its text, or its fields where there is no text."""
    if not posted:
        return None
    kind = posted["mimeType"].text("")
    text = posted["text"].text("")
    if text and posted["encoding"].text("") == "base64":
        try:
            return RawBody(base64.b64decode(text, validate=True))
        except binascii.Error:
            posted["encoding"].wrong("must be that of the text")
            return None
    params = posted["params"].list()
    if text:
        return body_of((text,), kind)
    fields = [one for one in params if not one["fileName"]]
    files = [one for one in params if one["fileName"]]
    pairs: Pairs = [((one["name"].text(),), (one["value"].text(""),)) for one in fields]
    if files or media_type(kind) == "multipart/form-data":
        if any(not one["value"] for one in files):
            posted.note("the content of an uploaded file is not in the archive: it is sent empty")
        return MultipartBody(
            pairs,
            [
                Part(
                    one["name"].text(),
                    one["fileName"].text(),
                    one["value"].text(""),
                    one["contentType"].text("") or None,
                )
                for one in files
            ],
        )
    return FormBody(pairs) if pairs else None
