"""Text of requests and their responses: those of --debug-requests, and examples of failed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....control.figures import count, millis, plural, size
from ....control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...._generated.report import ExchangeSeen

SHOWN_MAX = 10
"""Maximum number of examples that are printed."""
BODY_LINES_MAX = 8
BODY_LINE_CHARS_MAX = 200


def exchange_lines(exchange: ExchangeSeen, sender: str) -> Iterator[str]:
    """Write the heads of an exchange, and the beginning of a body; ``sender`` sent the request."""
    cause = exchange.get("cause")
    why = f" ({cause.replace('_', ' ')})" if cause is not None else ""
    after = f"{millis(exchange['response_us'])} ms"
    yield f"{sender} {count(exchange['arrival'])}: {exchange['outcome']}{why} after {after}"
    yield from (f"  > {safe(line)}" for line in exchange["request"])
    yield f"  > ({size(exchange['request_body_bytes'])} of body)"
    yield from (f"  < {safe(line)}" for line in exchange["answer"])
    body = exchange.get("body", "").splitlines()
    for line in body[:BODY_LINES_MAX]:
        more = "…" if len(line) > BODY_LINE_CHARS_MAX else ""
        yield f"  < {safe(line[:BODY_LINE_CHARS_MAX])}{more}"
    yield f"  < ({size(exchange['received_bytes'])} received)"


def failure_lines(examples: Sequence[Mapping[str, Any]], sender: str) -> Iterator[str]:
    """Write the first example of each call and outcome, of those that ``errors`` lists."""
    first: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for one in examples:
        key = (one["task"], one["call"], one["exchange"]["outcome"])
        first.setdefault(key, one)
    for one in [*first.values()][:SHOWN_MAX]:
        yield f"example of a failed call: {safe(one['task'])}, {safe(one['call'])}"
        yield from exchange_lines(one["exchange"], sender)
    shown = min(len(first), SHOWN_MAX)
    if shown < len(examples):
        rest = plural(len(examples) - shown, "more example")
        yield f"{rest}: `loadpilot ui`, or `loadpilot report RUN --html FILE`"
