"""Keyword arguments of a request, and suggestions for unknown ones.

An unknown keyword is an error, never ignored.
"""

from __future__ import annotations

from ..problem import nearest

EXTRAS = (
    "auth",
    "content",
    "cookies",
    "data",
    "files",
    "follow_redirects",
    "headers",
    "json",
    "listen",
    "name",
    "params",
    "stream",
    "timeout",
    "tokens_max",
)
"""All keyword arguments of a request."""

REPLACEMENTS = {
    "allow_redirects": "write follow_redirects=",
    "extensions": "give timeout= for a time-out; there are no other extensions",
    "verify": "it holds for the whole run: --insecure or --cacert",
    "cert": "it holds for the whole run: --cert and --key",
    "proxy": "it holds for the whole run: --proxy",
    "proxies": "it holds for the whole run: --proxy",
    "url": "give the path by position, relative to the target",
    "body": "give content=, json= or data=",
}
"""Keywords of httpx or requests that do not exist here, and what to use instead."""


def unknown_keyword(callee: str, name: str) -> str:
    """Return the message that ``callee`` takes no keyword ``name``, with the replacement."""
    instead = REPLACEMENTS.get(name)
    if instead is None:
        near = nearest(name, EXTRAS)
        instead = f"did you mean {near}=? " if near else ""
        instead += f"it takes {', '.join(EXTRAS)}"
    return f"{callee} takes no {name}=; {instead}"
