"""The unusual settings of a plan in one line: for the opening and for the summary.

All of them are named: a figure made over unverified TLS or with a new connection per call must not
look like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...control.figures import count, percent, plural, seconds
from ...control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

VALUE_CHARS_MAX = 60
"""Maximum length of a shown parameter or tag, in characters; the results file holds all."""
HTTP = {"2": "HTTP/2", "auto": "HTTP as the target chooses"}


def _proxy(proxy: Mapping[str, Any]) -> str:
    login = ", with credentials" if "credentials_secret" in proxy else ""
    return f"through the proxy {safe(proxy['url'])}{login}"


def _reuse(reuse: Any) -> str:
    match reuse:
        case {"share_ppm": share_ppm}:
            return f"connections reused by {percent(share_ppm / 10_000)} of the calls"
        case "never":
            return "a new connection for every call"
        case _:
            return ""


def _tls(tls: Mapping[str, Any]) -> Iterator[str]:
    if tls.get("insecure"):
        yield "the target's certificate is NOT verified"
    if "roots_pem" in tls:
        yield "certificates trusted as given"
    if "identity" in tls:
        yield "with a client certificate"


TEXTS: dict[str, Callable[[Any], str]] = {
    "other_targets": lambda others: f"further targets {safe(', '.join(others))}",
    "http": lambda version: HTTP.get(version, ""),
    "max": lambda most: f"at most {plural(most, 'connection')} an agent",
    "open_first": lambda first: f"{plural(first, 'connection')} an agent opened before the start",
    "streams_max": lambda most: f"at most {count(most)} requests at a time on a connection",
    "reuse": _reuse,
    "requests_max": lambda most: f"connections closed after {count(most)} requests",
    "age_us_max": lambda most: f"connections closed after {seconds(most)}",
    "connect_to": lambda place: f"connected to {safe(place)}",
    "sources": lambda sources: f"from {safe(', '.join(sources))} in turn",
    "ip": lambda family: f"IPv{family} only",
    "resolve_us": lambda us: f"name resolved every {seconds(us)}",
    "proxy": _proxy,
    "redirects_max": lambda most: f"at most {plural(most, 'redirect')} followed in a call",
    "redirect_origins": lambda origins: f"also to {safe(', '.join(origins))}",
    "tls": lambda tls: ", ".join(_tls(tls)),
}
"""The text for each setting of the plan's ``connections``, in the order of the line."""


def connections_text(connections: Mapping[str, Any]) -> str:
    """Write the plan's ``connections``; empty when all have their defaults."""
    texts = (text(connections[name]) for name, text in TEXTS.items() if name in connections)
    return ", ".join(text for text in texts if text)


def pairs(texts: Mapping[str, Any]) -> str:
    """Write parameters or tags, ``team=shop, TOKEN=(secret)``; long values are cut."""

    def written(value: Any) -> str:
        if not isinstance(value, str):
            return "(secret)"
        return safe(value if len(value) <= VALUE_CHARS_MAX else value[:VALUE_CHARS_MAX] + "…")

    return ", ".join(f"{safe(name)}={written(value)}" for name, value in texts.items())
