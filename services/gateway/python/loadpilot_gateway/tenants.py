"""The tenants of a gateway: a gateway's state for each, and its connection to the log.

Nothing is shared between two of them: sessions, readings, lists, followers, outcomes and caches are
those of one tenant. Must never look for a run in another tenant's log.
"""

from __future__ import annotations

import asyncio
import logging
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadpilot import _native
from loadpilot.control.nats_settings import ADDRESS, Server
from loadpilot.local.keys.key import TENANT, TENANT_RULE
from loadpilot.local.private_file import is_open_to_others
from loadpilot.problem import Problem, rule

from .limits import READY_SECS, REQUEST_LIMIT_MAX
from .problem import unavailable
from .server.proxy_rules import unknown
from .server.request_limit import DEFAULT_LIMIT, RequestLimit
from .server.watched_file import stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .gateway import Gateway
    from .server.request_limit import AddressBuckets

LOG = logging.getLogger("loadpilot_gateway")
FIELDS = ("nats_url", "token_file", "creds")
LIMITS = ("requests_per_second", "request_burst")
FILE_BYTES_MAX = 64 << 10


@dataclass(frozen=True, slots=True)
class RotatingServer(Server):
    """A server whose files of token and credentials may be replaced."""

    is_insecure: bool = False
    """Whether a token may travel unencrypted off loopback."""
    limit: RequestLimit = DEFAULT_LIMIT
    """How many requests the tenant may make."""

    @property
    def has_token(self) -> bool:
        """Whether it authenticates with a token, which must not travel unencrypted."""
        return self.token is not None or self.token_file is not None

    def stamp(self) -> object:
        """Return a value that changes with the files of the credentials."""
        files = (self.token_file, self.creds, self.cert, self.key)
        return [stamp_of(one) for one in files if one is not None]


class Tenants:
    """The gateways of all tenants, by name; the first is that of callers without a tenant."""

    def __init__(
        self, gateways: Mapping[str, Gateway], addresses: AddressBuckets | None = None
    ) -> None:
        """Take the gateways, at least one, and any limits of requests without a valid key."""
        self._gateways = dict(gateways)
        self.first = next(iter(self._gateways.values()))
        self.addresses = addresses
        self.requests: Counter[tuple[str, int]] = Counter()
        """Number of answers by route and status code, of all tenants."""
        self._unread: set[str] = set()
        """Tenants whose logs could not be read at the last check."""

    def of(self, tenant: str) -> Gateway | None:
        """Find the gateway of a tenant."""
        return self._gateways.get(tenant)

    def __iter__(self) -> Iterator[Gateway]:
        return iter(self._gateways.values())

    @property
    def limited(self) -> int:
        """Number of requests without a valid key above the limit of their address."""
        return self.addresses.limited if self.addresses is not None else 0

    async def check_logs(self) -> None:
        """Query the state of each tenant's log; raises ApiError if one does not answer.

        The answer is open to everyone. With several tenants it names none; the gateway's own log
        names them.
        """
        failed = await asyncio.gather(*(one.unreadable(READY_SECS) for one in self))
        reasons = {name: why for name, why in zip(self._gateways, failed, strict=True) if why}
        if self._unread != reasons.keys():
            self._unread = set(reasons)
            for name, why in reasons.items():
                LOG.warning("not ready: tenant %s: %s", name, why)
        if not reasons:
            return
        if len(failed) == 1:
            raise unavailable(*reasons.values())
        raise unavailable(f"the logs of {len(reasons)} of {len(failed)} tenants cannot be read")

    def close_views(self) -> None:
        """End all live views."""
        for one in self:
            one.hub.close()

    async def rest(self) -> None:
        """Close unused logs at an interval, until cancelled."""
        await asyncio.gather(*(one.rest() for one in self))

    async def end_views(self) -> None:
        """End live views of callers that are no longer admitted, until cancelled."""
        while True:
            await asyncio.sleep(VIEWS_SECS)
            for one in self:
                one.hub.end_views()

    def close(self) -> None:
        """End everything."""
        for one in self:
            one.close()


VIEWS_SECS = 1.0
"""Maximum time that a live view outlives its key."""


def read_tenants(
    file: Path, first: RotatingServer, problems: list[Problem]
) -> list[RotatingServer]:
    """Read the tenants file: a table for each, which may name its server and credentials."""
    place = str(file)
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        problems.append(Problem(place, f"must be a TOML file that can be read: {error}"))
        return []
    tables = found.get("tenants")
    problems += [unknown(place, name, ("tenants",)) for name in found if name != "tenants"]
    if not isinstance(tables, dict) or not tables:
        problems.append(Problem(place, "must have a table [tenants.NAME] for each tenant"))
        return []
    read = [_tenant(place, name, table, first, problems) for name, table in tables.items()]
    return [one for one in read if one is not None]


def _tenant(
    file: str, name: str, table: Any, first: RotatingServer, problems: list[Problem]
) -> RotatingServer | None:
    place, before = f"{file}: tenants.{name}", len(problems)
    if not TENANT.fullmatch(name):
        problems.append(rule(place, TENANT_RULE, name))
    if not isinstance(table, dict):
        problems.append(Problem(place, "must be a table"))
        return None
    known = (*FIELDS, *LIMITS)
    problems += [unknown(place, one, known) for one in table if one not in known]
    problems += [
        rule(f"{place}.{one}", f"must be a whole number of 1 to {REQUEST_LIMIT_MAX}", table[one])
        for one in LIMITS
        if one in table and not _is_limit(table[one])
    ]
    texts = [one for one in FIELDS if one in table]
    problems += [
        rule(f"{place}.{one}", "must be a text", table[one])
        for one in texts
        if not isinstance(table[one], str)
    ]
    if len(problems) > before:
        return None
    per_second = table.get(LIMITS[0], first.limit.per_second)
    burst = table.get(LIMITS[1], first.limit.burst)
    found = _server(place, {one: table[one] for one in texts}, name, first, problems)
    return replace(found, limit=RequestLimit(per_second, burst))


def _is_limit(value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and 1 <= value <= REQUEST_LIMIT_MAX


def _server(
    place: str,
    table: Mapping[str, str],
    tenant: str,
    first: RotatingServer,
    problems: list[Problem],
) -> RotatingServer:
    url = table.get("nats_url", first.url)
    files: dict[str, Path] = {}
    if "token_file" in table and "creds" in table:
        what = "authenticates, and so does token_file; drop one"
        problems.append(Problem(f"{place}.creds", what))
    for one in ("token_file", "creds"):
        if one not in table:
            continue
        path = files[one] = Path(table[one])
        if not path.is_file():
            problems.append(rule(f"{place}.{one}", "must be a file that can be read", table[one]))
        elif is_open_to_others(path.stat()):
            must = "must be readable by its owner only (chmod 600)"
            problems.append(rule(f"{place}.{one}", must, table[one]))
    found = replace(first, tenant=tenant, url=url)
    if files:
        found = replace(
            found, token=None, token_file=files.get("token_file"), creds=files.get("creds")
        )
    if not all(ADDRESS.fullmatch(one.strip()) for one in url.split(",")):
        must = "must be nats://host:port or tls://host:port"
        problems.append(rule(f"{place}.nats_url", must, _native.shown_address(url)))
    elif not found.is_insecure and _native.token_exposed_to(url, found.has_token) is not None:
        must = "must be tls://, or the token travels unencrypted"
        problems.append(rule(f"{place}.nats_url", must, _native.shown_address(url)))
    return found
