"""A second fold of a run's log, written from the formats alone: slow, simple, and without the
product's code.

It reads messages with nats-py and histograms by HdrHistogram's own description
(`tests/e2e/support/rawlog.py`). It supports constant load only: there the n-th arrival is due at n
/ rate.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import nats
from tests.e2e.support.rawlog import Histogram, decoded, merged
from tests.faults.support.loads import shards_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STREAMS = ("LP_CTL", "LP_DATA")
UNFINISHED = {"cancelled", "indeterminate"}
Holder = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message."""

    stream: str
    seq: int
    subject: str
    envelope: dict[str, Any]

    @property
    def event(self) -> dict[str, Any]:
        return self.envelope["event"]  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        return self.subject.split(".")[4]


@dataclass(frozen=True, slots=True)
class Call:
    """One row of calls that counts."""

    tick: int
    task: str
    agent: str
    outcome: str
    count: int
    response: Histogram
    service: Histogram

    @property
    def finished(self) -> bool:
        return self.outcome not in UNFINISHED


@dataclass(slots=True)
class Folded:
    """The content of the log."""

    plan: dict[str, Any]
    calls: list[Call] = field(default_factory=list)
    started: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    """By tick, task and agent."""
    dropped: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    excess_arrivals: int = 0
    excess_calls: int = 0
    lost: dict[Holder, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """By holder and tick, where a holder reported fewer arrivals than it held."""

    def outcomes(self, wanted: Callable[[Call], bool] = lambda _: True) -> Counter[str]:
        found: Counter[str] = Counter()
        for call in filter(wanted, self.calls):
            found[call.outcome] += call.count
        return found

    def times(self, name: str, wanted: Callable[[Call], bool] = lambda _: True) -> Histogram | None:
        """Response or service times of finished calls, merged; None when there are none."""
        rows = [call for call in self.calls if call.finished and call.count and wanted(call)]
        return merged([getattr(row, name) for row in rows]) if rows else None


def read(url: str, run: str) -> list[Message]:
    """All messages about a run, from a running server."""
    return asyncio.run(_read(url, run))


async def _read(url: str, run: str) -> list[Message]:
    connection = await nats.connect(url)
    try:
        jetstream = connection.jetstream()
        found = []
        for name in STREAMS:
            state = (await jetstream.stream_info(name)).state
            for seq in range(state.first_seq, state.last_seq + 1):
                stored = await jetstream.get_msg(name, seq)
                subject = stored.subject or ""
                if run in subject.split("."):
                    found.append(Message(name, seq, subject, json.loads(stored.data or b"")))
        return found
    finally:
        await connection.close()


def replay(url: str, messages: Iterable[Message]) -> None:
    """Store messages on another server, in the order given."""

    async def store() -> None:
        connection = await nats.connect(url)
        jetstream = connection.jetstream()
        for message in messages:
            await jetstream.publish(message.subject, json.dumps(message.envelope).encode())
        await connection.close()

    asyncio.run(store())


def fold(messages: list[Message]) -> Folded:
    """Add up everything that counts."""
    decisions = [one.event for one in messages if one.kind == "ctl"]
    (created,) = [event for event in decisions if event["type"] == "RunCreated"]
    requests = [one for one in messages if one.kind == "req"]
    (requested,) = [one for one in requests if one.event["type"] == "RunRequested"]
    assert created["request"] == requested.seq
    maps = [_map(event) for event in decisions if "holdings" in event]
    (seal,) = [event for event in decisions if event["type"] == "RunSealed"]
    folded = Folded(requested.event["plan"])
    tasks = [task["name"] for task in folded.plan["tasks"]]
    owners = [task["name"] for task in folded.plan["tasks"] for _ in task["steps"]]
    reported: dict[Holder, Counter[int]] = defaultdict(Counter)
    seen: set[tuple[str, str, int]] = set()
    for message in messages:
        delta = message.event
        if message.kind != "delta" or message.seq > seal["data_seq"]:
            continue
        agent = message.subject.split(".")[5]
        holder = (agent, delta["boot_id"])
        if (*holder, delta["seq"]) in seen:
            continue
        seen.add((*holder, delta["seq"]))
        for row in delta.get("arrivals", []):
            dropped = sum(row.get("dropped", {}).values())
            if row["generation"] != _in_force(maps, row["tick"])[0]:
                folded.excess_arrivals += row.get("started", 0)
                continue
            key = (row["tick"], tasks[row["task"]], agent)
            folded.started[key] += row.get("started", 0)
            folded.dropped[key] += dropped
            reported[holder][row["tick"]] += row.get("started", 0) + dropped
        for row in delta.get("calls", []):
            if row["generation"] != _in_force(maps, row["tick"])[0]:
                folded.excess_calls += row["count"]
                continue
            times = decoded(row["response"]), decoded(row["service"])
            assert times[0].total == times[1].total == row["count"]
            task, outcome = owners[row["call"]], row["outcome"]
            call = Call(row["tick"], task, agent, outcome, row["count"], *times)
            folded.calls.append(call)
    _find_lost(folded, maps, created["shards"], reported)
    return folded


def _map(event: dict[str, Any]) -> tuple[int, int, dict[int, Holder]]:
    """A generation, the tick from which it is in force, and the holder of each shard."""
    holders = {
        shard: (holding["holder"]["agent"], holding["holder"]["boot_id"])
        for holding in event["holdings"]
        for shard in shards_of(holding)
    }
    return event["generation"], event.get("takeover_tick", 0), holders


def _in_force(
    maps: list[tuple[int, int, dict[int, Holder]]], tick: int
) -> tuple[int, int, dict[int, Holder]]:
    return [one for one in maps if one[1] <= tick][-1]


def _find_lost(
    folded: Folded,
    maps: list[tuple[int, int, dict[int, Holder]]],
    shards: int,
    reported: dict[Holder, Counter[int]],
) -> None:
    """All arrivals, one by one, with the holder that should have reported each."""
    (piece,) = folded.plan["profile"]["pieces"]
    rate, tick_us = piece["from"], folded.plan["tick_us"]
    held: Counter[tuple[Holder, int]] = Counter()
    n = 0
    while (due_us := n * 10**12 // rate) < piece["duration_us"]:
        tick = due_us // tick_us
        held[_in_force(maps, tick)[2][n % shards], tick] += 1
        n += 1
    for (holder, tick), count in held.items():
        missing = count - reported[holder][tick]
        if missing > 0:
            folded.lost[holder][tick] = missing
