"""Random responses: usual ones of a target, unusual ones, and impossible ones."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

    from sdk.tests.soundness.rehearse import Result, Script

HALF = 0.5
STATUSES = (200, 200, 200, 201, 204, 301, 302, 303, 307, 400, 404, 500)
ODD_BODIES = (
    b"",
    b"nope",
    b"{",
    b"[1, 2",
    b'{"id": 1,}',
    b"[1,]",
    b'{"id" 1}',
    b'{"id": tru}',
    b"{'id': 1}",
    b'"open',
    b'"\\x"',
    b'"\\u12"',
    b'"a\nb"',
    b"nul",
    b"01",
    b"-",
    b"1.",
    b"1e",
    b".5",
    b"+1",
    b"NaN",
    b"-NaN",
    b"-Infinity",
    b"1e400",
    b"-0",
    b"-0.0",
    b"1E5",
    b"12345678901234567890123",
    b'{"id": 1, "id": 2}',
    b'{"id": 1} x',
    b'\xef\xbb\xbf{"id": 1}',
    b'{"id": "\xff"}',
    b'"\xe2\x82"',
    b"\xc3(",
    b'{"name": "\\u00e9\\ud83d\\ude00"}',
    b'{"a\\nb": [null, true, false]}',
    b'\n\n  {"id": [}',
    b" [1 2]",
)
HEADS = (
    "X-Id: 7",
    "x-id: a\r\nX-Id: b",
    "X-Id:  spaced \t",
    "X-Id: folded\r\n  on",
    "Content-Type: application/json",
    "Content-Type: text/html; charset=iso-8859-1",
    'Content-Type: text/plain; charset="utf-8"',
    "Set-Cookie: a=1",
    "Set-Cookie: a=2; Path=/",
    "Set-Cookie: b=x y; Path=/items; HttpOnly\r\nSet-Cookie: c; Secure",
    "Set-Cookie: d=1; Domain=localhost; SameSite=Lax",
    "Set-Cookie: d=2; Domain=example.com",
    "Set-Cookie: a=; Max-Age=0",
    "Set-Cookie: e=1; Max-Age=600",
    "Set-Cookie: f=1; Max-Age",
    "Set-Cookie: g=1; Max-Age=x",
    "Set-Cookie: a=gone; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    "Set-Cookie: h=1; Expires=Fri, 31-Dec-2099 23:59:59 GMT",
    "Set-Cookie: =no; Path=/",
    "Location: /next",
    "Location: next?x=1#y",
    "Location: ../up/./here",
    "Location: http://localhost:8000/whole",
    "Location: http://LOCALHOST:8000",
    "Location: http://elsewhere/x",
    "Location: https://localhost:8000/x",
    "Location: //other/x",
    "Location: ?only=query",
    "Location: /a//b",
    "Location: mailto:x",
)


KEYS = ("id", "name", "items", "token", "n", "deep")
TEXTS = ("", "a", "id", "12", "it's", "é", '"', "x\ny")
NUMBERS = (-3, -1, 0, 1, 2, 3, 2**53 + 1, 2**63, -(2**70), 10**20)
FLOATS = (0.5, 1.0, -0.0, 1e16, 1.5e300, 1e-7, 2**53 + 2.0)


def value(chance: Random, depth: int = 3) -> Any:
    """Make random JSON with the keys that scenarios look for."""
    match chance.randrange(8 if depth else 5):
        case 0:
            return chance.choice((None, True, False))
        case 1 | 2:
            return chance.choice(NUMBERS)
        case 3:
            return chance.choice(FLOATS)
        case 4:
            return chance.choice(TEXTS)
        case 5:
            return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
        case _:
            keys = chance.sample(KEYS, chance.randrange(5))
            return {key: value(chance, depth - 1) for key in keys}


def answer(chance: Random) -> tuple[int, bytes, bytes]:
    """Make a random response: status, head, body."""
    status = chance.choice(STATUSES)
    lines = [f"HTTP/1.1 {status} X", *chance.sample(HEADS, chance.randrange(4))]
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            body = json.dumps({"id": 1, "items": [{"id": 2}], "token": "t"}).encode()
        case 4 | 5 | 6 | 7:
            body = json.dumps(value(chance), ensure_ascii=chance.random() < HALF).encode()
        case _:
            body = chance.choice(ODD_BODIES)
    if chance.randrange(10) == 0 and body:
        lines.append("Content-Encoding: gzip")
        body = gzip.compress(body, mtime=0)
    return status, "\r\n".join([*lines, "", ""]).encode("latin-1"), body


def life(chance: Random) -> Script:
    """Make random results of one user: in its preparation, twice in its task, in its clean-up."""

    def results(most: int, *more: str) -> list[Result]:
        answers: list[Result] = [answer(chance) for _ in range(1 + chance.randrange(most))]
        others: list[Result] = [one for one in more if chance.randrange(8) == 0]
        return answers + others

    again = results(4, "stopped")
    return [
        (-1, results(3)),
        (0, results(5, "timed out", "unsendable")),
        (0, again),
        (-2, results(3)),
    ]
