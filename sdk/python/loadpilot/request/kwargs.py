"""What a request may carry by keyword, and what to write instead of what it may not.

Must never let a keyword pass that nothing would come of.
"""

from __future__ import annotations

from ..nearest import nearest

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
"""What the client understands beside method and path."""

REPLACEMENTS = {
    "allow_redirects": "write follow_redirects=",
    "extensions": "give timeout= for a time-out; there are no other extensions",
    "verify": "it holds for the whole run: --insecure or --cacert",
    "cert": "it holds for the whole run: --cert and --key",
    "proxy": "proxies are not supported; --connect-to leads elsewhere",
    "proxies": "proxies are not supported; --connect-to leads elsewhere",
    "url": "give the path by position, relative to the target",
    "body": "give content=, json= or data=",
}
"""Keywords that httpx, requests or habit would expect, and what to use."""


def unknown_keyword(callee: str, name: str) -> str:
    """Say that ``callee`` takes no such keyword, and what to use."""
    instead = REPLACEMENTS.get(name)
    if instead is None:
        near = nearest(name, EXTRAS)
        instead = f"did you mean {near}=? " if near else ""
        instead += f"it takes {', '.join(EXTRAS)}"
    return f"{callee} takes no {name}=; {instead}"
