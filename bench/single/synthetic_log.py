"""Long logs from a short one: the deltas of a real run, repeated with new times.

Size and histograms of a delta are real; only ticks, numbers and totals are synthetic. The product's
code is not used: the messages are those of any agent.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import nats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nats.js import JetStreamContext

ABREAST = 256
"""Number of messages in flight."""
TICK_US = 1_000_000
RATE_UNIT = 1_000_000
"""Number of units of a plan's rate in one arrival per second."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One message of a log."""

    subject: str
    envelope: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind in the subject: req, ctl, evt or delta."""
        return self.subject.split(".")[4]


def read(url: str) -> list[Stored]:
    """Read all messages in the two streams of a server."""

    async def messages() -> list[Stored]:
        connection = await nats.connect(url)
        jetstream = connection.jetstream()
        found = []
        for name in ("LP_CTL", "LP_DATA"):
            state = (await jetstream.stream_info(name)).state
            for seq in range(state.first_seq, state.last_seq + 1):
                stored = await jetstream.get_msg(name, seq)
                found.append(Stored(stored.subject or "", json.loads(stored.data or b"")))
        await connection.close()
        return found

    return asyncio.run(messages())


def write(url: str, messages: Iterable[Stored]) -> int:
    """Store messages; returns the bytes of their deltas."""

    async def store() -> int:
        connection = await nats.connect(url)
        jetstream = connection.jetstream()
        size, batch = 0, []
        for message in messages:
            data = json.dumps(message.envelope, separators=(",", ":")).encode()
            size += len(data) if message.kind == "delta" else 0
            batch.append(_publish(jetstream, message.subject, data))
            if len(batch) == ABREAST:
                await asyncio.gather(*batch)
                batch.clear()
        await asyncio.gather(*batch)
        await connection.close()
        return size

    return asyncio.run(store())


async def _publish(jetstream: JetStreamContext, subject: str, data: bytes) -> None:
    await jetstream.publish(subject, data, timeout=60)


def named(messages: Iterable[Stored], was: str, run: str) -> Iterator[Stored]:
    """Yield the messages as those of another run."""
    for message in messages:
        subject = message.subject.replace(f".{was}.", f".{run}.")
        yield Stored(subject, message.envelope)


def stretched(messages: list[Stored], secs: int, before: int = 0) -> Iterator[Stored]:
    """Yield the run stretched to `secs`, at the same rate, behind `before` records of LP_CTL."""
    deltas = [message for message in messages if message.kind == "delta"]
    others = [message for message in messages if message.kind != "delta"]
    plan = next(one.envelope["event"]["plan"] for one in others if one.kind == "req")
    started, calls = 0, Counter[str]()
    for tick, message in zip(range(secs), _repeated(deltas), strict=False):
        envelope = deepcopy(message.envelope)
        event = envelope["event"]
        event |= {"seq": tick + 1, "from_us": tick * TICK_US, "to_us": (tick + 1) * TICK_US}
        event["arrivals"] = _arrivals(plan, tick)
        for kind in ("calls", "anatomy", "metrics"):
            for row in event.get(kind, []):
                row["tick"] = tick
        started += sum(row["started"] for row in event["arrivals"])
        for row in event["calls"]:
            calls[row["outcome"]] += row["count"]
        event["totals"] = {"started": started, "calls": dict(calls)}
        yield Stored(message.subject, envelope)
    totals = {"started": started, "calls": dict(calls)}
    yield from _events(others, secs, before, totals)


def _events(
    others: list[Stored], secs: int, before: int, totals: dict[str, Any]
) -> Iterator[Stored]:
    """Yield the events other than deltas, changed to those of a run of `secs` with these totals."""
    decided = 0
    for place, message in enumerate(others, before + 1):
        envelope = deepcopy(message.envelope)
        event = envelope["event"]
        if "plan" in event:
            (piece,) = event["plan"]["profile"]["pieces"]
            piece["duration_us"] = secs * TICK_US
        last = event if event.get("type") == "RunSealed" else event.get("what", {})
        if last.get("type") == "ShardsFinished":
            last |= {"final_seq": secs, "totals": totals}
        if last.get("type") == "RunSealed":
            last |= {"ctl_seq": decided, "evt_seq": place - 1, "data_seq": 1 << 40}
            for final in last["finals"]:
                final |= {"final_seq": secs, "totals": totals}
        if message.kind == "ctl":
            decided = place
        yield Stored(message.subject, envelope)


def _repeated(deltas: list[Stored]) -> Iterator[Stored]:
    """Repeat the deltas of one tick without end."""
    whole = [one for one in deltas if _is_of_one_tick(one.envelope["event"])]
    return cycle(whole)


def _arrivals(plan: dict[str, Any], tick: int) -> list[dict[str, Any]]:
    """The arrivals of a tick, as planned at a constant rate of whole blocks of all tasks."""
    (piece,) = plan["profile"]["pieces"]
    weights = [task["weight"] for task in plan["tasks"]]
    blocks = piece["from"] // RATE_UNIT // sum(weights)
    return [
        {"tick": tick, "generation": 1, "task": task, "started": weight * blocks}
        for task, weight in enumerate(weights)
    ]


def _is_of_one_tick(event: dict[str, Any]) -> bool:
    ticks = {row["tick"] for kind in ("arrivals", "calls") for row in event.get(kind, [])}
    return len(ticks) == 1
