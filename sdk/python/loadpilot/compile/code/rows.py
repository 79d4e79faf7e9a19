"""The rows of the feeds of compiled code: JSON that is kept beside the plan.

A row without an exact form in code is refused.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...inputs.feeds import FEED_BYTES_MAX, file_rows
from .literals import NotCompiledError, literal, reject

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...inputs.feeds import Feed
    from ...request.headers import Secrets

ROWS_MAX = 4_000_000
"""Maximum number of rows of a feed in code, the same as the number of items of a list."""
DEPTH_MAX = 20
"""Maximum nesting of a row."""


class RowsNotCompiledError(Exception):
    """Rows of a feed, or of all feeds together, that code cannot have."""

    def __init__(self, place: str | None, what: str) -> None:
        """Take the line of the feed, None for all feeds, and the reason."""
        super().__init__(what)
        self.place = place
        self.what = what


def rows_of(feeds: Mapping[str, Feed], secrets: Secrets) -> bytes:
    """Write the rows of feeds, given by attribute, as JSON; raises RowsNotCompiledError.

    Rows that stay in their file are left out.
    """
    for name, feed in feeds.items():
        try:
            _check(name, feed, secrets)
        except NotCompiledError as refused:
            raise RowsNotCompiledError(feed.place, refused.what) from None
    rows = [[] if file_rows(feed) else feed.rows for feed in feeds.values()]
    written = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    if len(written) > FEED_BYTES_MAX:
        what = f"its rows have {len(written):,} bytes, the maximum is {FEED_BYTES_MAX:,}"
        raise RowsNotCompiledError(None, what)
    return written


def _check(name: str, feed: Feed, secrets: Secrets) -> None:
    """Refuse a feed with a row that has no exact form in code, or that must not be stored."""
    in_file = file_rows(feed)
    if in_file is not None:
        if in_file.file.python_only:
            reject(None, f"a row of self.{name} {in_file.file.python_only}")
        return
    if len(feed.rows) > ROWS_MAX:
        reject(None, f"self.{name} has {len(feed.rows):,} rows, the maximum is {ROWS_MAX:,}")
    # A row of CSV is a dict of text to text.
    if feed.path is not None and feed.path.suffix.lower() == ".csv":
        return
    for row in feed.rows:
        if _is_deep(row):
            reject(None, f"a row of self.{name} nests deeper than {DEPTH_MAX}")
        try:
            literal(None, row)
        except NotCompiledError as refused:
            reject(None, f"a row of self.{name} {refused.what}")
    # The file of a feed goes to the agents in Python, too.
    if feed.path is None and secrets.found_in(feed.rows):
        reject(None, f"a row of self.{name} holds the value of a secret parameter")


def object_reference(content: bytes) -> dict[str, Any]:
    """Return the plan's reference to an object that is kept beside it."""
    return {"sha256": sha256(content).hexdigest(), "bytes": len(content)}


def _is_deep(row: Any) -> bool:
    """Whether a row is nested deeper than code may be; it may be too deep for a recursion."""
    level = [row]
    for _ in range(DEPTH_MAX):
        outer, level = level, []
        for one in outer:
            if isinstance(one, dict | list):
                level += one.values() if isinstance(one, dict) else one
    return any(isinstance(one, dict | list) for one in level)
