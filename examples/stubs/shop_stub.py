"""A stub of a shop: accounts, a catalogue, orders, pictures, a chat. It keeps sessions.

It refuses orders of unknown sessions, and pictures that are not in a multipart form.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stub import Answer, Refused, as_json, port_of, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

PRODUCTS = [{"id": number, "price": 9.5 + number} for number in range(1, 6)]
STREAM = b"".join(b"data: %d\n\n" % number for number in range(3))
FIXED = {
    "/api/products": as_json({"products": PRODUCTS}),
    "/api/old": Answer(b"", "text/plain", {"Location": "/api/new"}, 302),
    "/api/products/1": as_json(PRODUCTS[0]),
    "/api/new": as_json({"moved": True}),
    "/api/gone": Answer(b'{"error": "gone"}', status=404),
}
PLAIN = {"/health", "/api/user", "/admin/clear", "/auth/logout", "/api/cart", "/api/cart/7"}
"""Paths answered with an empty object."""

sessions: set[str] = set()
numbers = count(1)


def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Answer one request as a shop would."""
    route = urlsplit(path).path
    match method, route:
        case "POST", "/auth/login":
            answer = log_in(body)
        case "POST", orders if orders.startswith("/api/orders"):
            answer = order(headers, body)
        case "POST", "/api/pictures":
            answer = picture(headers, body)
        case "GET", fixed if fixed in FIXED:
            answer = FIXED[fixed]
        case _, "/admin/products":
            answer = as_json({"first": PRODUCTS[0]["id"]})
        case _, "/api/chat":
            answer = Answer(STREAM, "text/event-stream")
        case _ if route in PLAIN:
            answer = as_json({})
        case _:
            raise Refused(f"nothing is at {method} {path}")
    return answer


def log_in(body: bytes) -> Answer:
    """Open a session."""
    if b"user" not in body:
        raise Refused("a login must name its user")
    session = f"s-{next(numbers)}"
    sessions.add(session)
    answer = as_json({"token": session})
    answer.headers["Set-Cookie"] = f"session={session}; HttpOnly"
    return answer


def order(headers: Mapping[str, str], body: bytes) -> Answer:
    """Take an order; its session, if it names one, must be known."""
    session = headers.get("X-Session")
    if session is not None and session not in sessions:
        raise Refused(f"unknown session {session!r}")
    if not isinstance(json.loads(body), dict):
        raise Refused("an order must be an object")
    answer = as_json({"id": next(numbers), "total": 12.5})
    answer.status = 201
    return answer


def picture(headers: Mapping[str, str], body: bytes) -> Answer:
    """Take a picture from a form."""
    if not headers.get("Content-Type", "").startswith("multipart/form-data; boundary="):
        raise Refused(f"Content-Type {headers.get('Content-Type')!r} for a form with a picture")
    if b'name="photo"' not in body or b"\x89PNG" not in body:
        raise Refused("no picture in the form")
    return as_json({"bytes": len(body)})


if __name__ == "__main__":
    serve(respond, port_of(str(__doc__), 8602))
