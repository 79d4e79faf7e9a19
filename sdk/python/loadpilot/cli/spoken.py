"""How the target was spoken to, in one line of words: for the banner and for the summary.

Says only what is not as usual, and all of that: a figure made over unverified TLS or with a new
connection per call must not look like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .figures import count, percent, seconds
from .terminal import safe


def spoken(connections: Mapping[str, Any]) -> str:
    """Write the plan's ``connections``; empty when all is as usual."""
    return ", ".join(_parts(connections))


def _parts(said: Mapping[str, Any]) -> Iterator[str]:
    http = said.get("http", "1.1")
    if http != "1.1":
        yield "HTTP/2" if http == "2" else "HTTP as the target chooses"
    if "streams_max" in said:
        yield f"at most {count(said['streams_max'])} requests at a time on a connection"
    match said.get("reuse", "always"):
        case "never":
            yield "a new connection for every call"
        case {"share_ppm": share_ppm}:
            yield f"connections reused by {percent(share_ppm / 10_000)} of the calls"
    if "requests_max" in said:
        yield f"closed after {count(said['requests_max'])} requests"
    if "age_us_max" in said:
        yield f"closed after {seconds(said['age_us_max'])}"
    if "connect_to" in said:
        yield f"connected to {safe(said['connect_to'])}"
    if "sources" in said:
        yield f"from {safe(' and '.join(said['sources']))} in turn"
    if "resolve_us" in said:
        yield f"name resolved every {seconds(said['resolve_us'])}"
    tls = said.get("tls", {})
    if tls.get("insecure"):
        yield "the target's certificate is NOT verified"
    if "roots_pem" in tls:
        yield "certificates trusted as given"
    if "identity" in tls:
        yield "with a client certificate"
