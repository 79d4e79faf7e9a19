"""The limit of requests: a bucket of tokens for each tenant, and for each address without a key.

Buckets are those of one process: N gateways of a fleet admit N times as much. Must never read a
clock or a body.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from loadpilot.local.keys.key import Role

from ..limits import (
    ADDRESS_BUCKETS_MAX,
    BODY_TOKEN_BYTES,
    BODY_TOKENS_MAX,
    REQUEST_BURST_DEFAULT,
    REQUESTS_PER_SECOND_DEFAULT,
    RUN_TOKENS,
    STORED_TOKENS,
)
from ..problem import ApiError, Code
from .permissions import V1, needed

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDING = ("/stop", "/halt")
"""Ends of the paths that end a run; they have a bucket of their own."""


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """How many requests a caller may make."""

    per_second: int
    """Tokens that the bucket gains in a second, and so the rate that lasts."""
    burst: int
    """Tokens that the bucket holds, and so the number of requests at once."""


DEFAULT_LIMIT = RequestLimit(REQUESTS_PER_SECOND_DEFAULT, REQUEST_BURST_DEFAULT)


@dataclass(frozen=True, slots=True)
class Excess:
    """Why a request was not admitted."""

    wait_secs: float
    """Time until the bucket has a token again."""
    offered: int
    """Tokens of the requests of the last whole second, or of this one if they are more."""


class Bucket:
    """One bucket. A request is admitted while there is a whole token, and takes all of its own.

    Tokens may be owed: an expensive request does not wait until cheap ones leave it enough.
    """

    def __init__(self, limit: RequestLimit) -> None:
        """Take the limit; the bucket is full."""
        self.limit = limit
        self._full_at = -math.inf
        """When the bucket would be full again, in the caller's seconds."""
        self._second, self._offered, self._offered_before = 0, 0, 0

    def take(self, tokens: int, now: float) -> Excess | None:
        """Take the tokens of a request at a time in seconds; None when it is admitted."""
        self._count(tokens, now)
        begin = max(self._full_at, now)
        wait = begin - now - (self.limit.burst - 1) / self.limit.per_second
        # Rounding of times must not refuse the last token.
        if wait > 1e-9:
            return Excess(wait, max(self._offered, self._offered_before))
        self._full_at = begin + tokens / self.limit.per_second
        return None

    def _count(self, tokens: int, now: float) -> None:
        second = math.floor(now)
        if second != self._second:
            self._offered_before = self._offered if second == self._second + 1 else 0
            self._second, self._offered = second, 0
        self._offered += tokens


class TenantBuckets:
    """The buckets of a tenant: requests that end a run have their own, so that others cannot
    use it up.
    """  # noqa: D205

    def __init__(self, limit: RequestLimit) -> None:
        """Take the limit of each."""
        self._requests, self._ending = Bucket(limit), Bucket(limit)
        self.limited = 0
        """Number of requests that were not admitted."""

    def admit(self, tenant: str, method: str, path: str, tokens: int, now: float) -> None:
        """Take the tokens of a request; raises ApiError (429) when there are none."""
        is_ending = method == "POST" and path.endswith(ENDING)
        bucket = self._ending if is_ending else self._requests
        excess = bucket.take(tokens, now)
        if excess is not None:
            self.limited += 1
            raise limited(f"tenant {tenant}" if tenant else "all callers", bucket.limit, excess)


class AddressBuckets:
    """The buckets of callers without a valid key, by address; probes have their own."""

    def __init__(self, limit: RequestLimit) -> None:
        """Take the limit of each."""
        self._limit = limit
        self._buckets: OrderedDict[tuple[str, bool], Bucket] = OrderedDict()
        self.limited = 0
        """Number of requests that were not admitted."""

    def admit(self, site: str, tokens: int, now: float, *, is_probe: bool) -> None:
        """Take the tokens of a request; raises ApiError (429) when there are none."""
        bucket = self._buckets.setdefault((site, is_probe), Bucket(self._limit))
        self._buckets.move_to_end((site, is_probe))
        if len(self._buckets) > ADDRESS_BUCKETS_MAX:
            self._buckets.popitem(last=False)
        excess = bucket.take(tokens, now)
        if excess is not None:
            self.limited += 1
            raise limited("one address without a valid key", self._limit, excess)


def tokens_of(method: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Count the tokens of a request from its head alone."""
    if method != "POST":
        return 1
    named = dict(headers)
    length = named.get(b"content-length", b"")
    size = int(length[:20]) if length.isdigit() else 0
    body = min(size // BODY_TOKEN_BYTES, BODY_TOKENS_MAX)
    if b"transfer-encoding" in named:
        body = BODY_TOKENS_MAX
    if path == f"{V1}/runs":
        return RUN_TOKENS + body
    return body + (1 if needed(method, path) is Role.VIEWER else STORED_TOKENS)


def limited(callers: str, limit: RequestLimit, excess: Excess) -> ApiError:
    """Build the answer for a request above the limit."""
    secs = max(1, math.ceil(excess.wait_secs))
    most = f"{limit.per_second} requests/s, and {limit.burst} at once"
    detail = f"{callers} may make {most}; retry after {secs} s"
    rule = (
        f"must be at most {most}, of {callers}; one that stores or has a large body counts as more"
    )
    wrong = [{"field": "requests_per_second", "rule": rule, "value": f"{excess.offered}/s"}]
    headers = {"Retry-After": str(secs)}
    return ApiError(
        HTTPStatus.TOO_MANY_REQUESTS, Code.TOO_MANY_REQUESTS, detail, wrong, headers=headers
    )
