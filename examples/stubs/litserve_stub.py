"""A stub of a LitServe server: `POST /predict` with `{"input": [[16 numbers]]}` returns the sums.

It refuses input that such a model could not take: another type or shape, or no numbers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stub import Answer, Refused, as_json, port_of, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = 16


def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Answer one request as LitServe would."""
    match method, path:
        case "GET", "/health":
            return Answer(b"ok", "text/plain")
        case "POST", "/predict":
            return predict(headers, body)
        case _:
            raise Refused(f"nothing is at {method} {path}")


def predict(headers: Mapping[str, str], body: bytes) -> Answer:
    """Sum the rows."""
    if headers.get("Content-Type") != "application/json":
        raise Refused(f"Content-Type {headers.get('Content-Type')!r}")
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused(f"not JSON: {error}") from None
    if not isinstance(request, dict) or set(request) != {"input"}:
        raise Refused("the body must be an object with input and nothing else")
    rows = request["input"]
    if not isinstance(rows, list) or not rows:
        raise Refused("input must be a list of rows")
    for row in rows:
        if not isinstance(row, list) or len(row) != COLUMNS:
            raise Refused(f"each row must have {COLUMNS} numbers")
        if not all(type(value) in {int, float} for value in row):
            raise Refused("a row contains a value that is not a number")
    return as_json({"output": [sum(row) for row in rows]})


if __name__ == "__main__":
    serve(respond, port_of(str(__doc__), 8601))
