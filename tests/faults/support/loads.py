"""The loads of the fault tests, and when their arrivals are due.

Constant and uniform, so that the n-th arrival is due at start + n / rate: the
target's log alone shows what is late, what is missing, and which shard it belongs to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.dropped_arrivals import LATE_MAX_SECS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.faults.support.checker import Message
    from tests.oracle.oracle import Request

WEIGHTED = SCENARIOS / "weighted.py"
LATENESS_MAX_S = 0.5
"""An arrival that is reached later than this is not sent."""
SHARDS = 256
"""Number of shards of every run with up to sixteen agents."""


@dataclass(frozen=True, slots=True)
class Load:
    """A constant rate for a length of time."""

    rps: int
    secs: int
    agents: int = 2

    @property
    def planned(self) -> int:
        return self.rps * self.secs

    @property
    def late_max(self) -> int:
        """Maximum number of late arrivals where other tests run beside the case."""
        return LATE_MAX_SECS * self.rps

    @property
    def local(self) -> tuple[str, ...]:
        """Flags of a run on a stack of its own."""
        return (*self._shape, "--agents", str(self.agents))

    @property
    def fleet(self) -> tuple[str, ...]:
        """Flags of a run on a fleet."""
        return (*self._shape, "--external-agents", str(self.agents))

    @property
    def _shape(self) -> tuple[str, ...]:
        return ("--rps", str(self.rps), "--duration", f"{self.secs}s")


def arrival_of(request: Request) -> int:
    """Number of the arrival of a request."""
    return int((request.id or "//").split("/")[1])


def lateness_us(request: Request, start_us: int, rps: int) -> int:
    """How long after its due time the target received a request."""
    return request.arrival_us - start_us - arrival_of(request) * 1_000_000 // rps


def buckets(requests: Iterable[Request], bucket_us: int = 100_000) -> Counter[int]:
    """Number of requests in each tenth of a second."""
    return Counter(request.arrival_us // bucket_us for request in requests)


def first_owner(messages: Iterable[Message]) -> dict[int, str]:
    """The first holder of each shard."""
    for message in messages:
        if message.event is not None and message.event.get("type") == "ShardsAssigned":
            return owners(message.event)
    raise AssertionError("no shard was assigned")


def shards_of(holding: dict[str, Any]) -> list[int]:
    """The shards of a stored holding: single ones, and strides as `[first, step, count]`."""
    found: list[int] = []
    for piece in holding["shards"]:
        if isinstance(piece, int):
            found.append(piece)
        else:
            first, step, count = piece
            found += [first + step * nth for nth in range(count)]
    return found


def owners(assignment: dict[str, Any]) -> dict[int, str]:
    """The holder of each shard of an assignment, by agent."""
    return {
        shard: holding["holder"]["agent"]
        for holding in assignment["holdings"]
        for shard in shards_of(holding)
    }
