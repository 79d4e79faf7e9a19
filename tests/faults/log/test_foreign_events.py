"""Events in the log that no process of the product wrote: unreadable bytes, forgeries, repeats,
other versions. Each is set aside, is named in the report, and changes no figure."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import nats
import pytest
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.checker import VERSION, Evidence, Message, check
from tests.faults.support.loads import WEIGHTED, Load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.support.command import Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.oracle.oracle import Oracle

LOAD = Load(100, 8)
ULID = "01jd0000000000000000000000"
NEWER = VERSION + 1
"""A version of events that no component here knows."""


def enveloped(event: object, version: int = 1) -> bytes:
    return json.dumps({"v": version, "id": ULID, "at": 1, "event": event}).encode()


def forged(delta: dict[str, Any], **fields: object) -> bytes:
    return enveloped({**delta, **fields})


def write(
    breakable_fleet: BreakableFleet, entries: Sequence[tuple[str, bytes]]
) -> list[tuple[str, int]]:
    """Stores messages; returns the subject and the sequence number of each."""

    async def publish() -> list[tuple[str, int]]:
        connection = await nats.connect(breakable_fleet.url, token=breakable_fleet.token)
        try:
            jetstream = connection.jetstream()
            return [
                (subject, (await jetstream.publish(subject, data)).seq) for subject, data in entries
            ]
        finally:
            await connection.close()

    return asyncio.run(publish())


def first_delta(breakable_fleet: BreakableFleet, run: str) -> Message:
    """Waits until a delta of a-1 with calls is stored; returns it."""
    while True:
        for one in breakable_fleet.messages(run):
            if one.kind == "delta" and one.subject.endswith("a-1") and one.event["calls"]:
                return one  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.case(n=18)
def test_poison_forgeries_and_repeats_change_nothing(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if any writer to the log could change a report, or stop a run with a bad byte."""
    coordinator = breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        run = running.run_id()
        assert oracle.wait_count(2 * LOAD.rps, 30)
        seen = first_delta(breakable_fleet, run)
        delta = seen.event
        assert delta is not None
        about = f"lp.local.run.{run}"
        mine, ghost = f"{about}.delta.a-1", f"{about}.delta.ghost"
        row = delta["calls"][0]
        poison = write(
            breakable_fleet,
            [
                (mine, b""),
                (mine, b"\x00\xff not json"),
                (mine, b"[" * 20_000),
                (mine, enveloped("not a delta")),
                (mine, enveloped(delta, version=NEWER)),
                (mine, b'{"v":1,"event":"' + b"x" * 900_000 + b'"}'),
                (ghost, enveloped(delta)),
                (mine, forged(delta, seq=900, boot_id="another")),
                (mine, forged(delta, seq=901, calls=[{**row, "generation": 7}])),
                (mine, forged(delta, seq=902, calls=[{**row, "tick": 4_000_000}])),
                (mine, forged(delta, seq=903, calls=[{**row, "count": 2**60}])),
                (mine, forged(delta, seq=904, calls=[{**row, "count": row["count"] + 1}])),
                (mine, forged(delta, seq=905, calls=[{**row, "response": "bm90IGEgaGlzdG8="}])),
                (mine, forged(delta, seq=0)),
                (f"{about}.evt.a-1", b"{"),
                (f"{about}.req", b"no request"),
                (f"{about}.ctl", b"no decision"),
            ],
        )
        repeats = [(mine, enveloped(delta)), (mine, enveloped(delta))]
        write(breakable_fleet, repeats)
        finished = running.end()
    assert finished.report["run"]["ending"] == "completed"
    assert coordinator.output.count("panic") == 0
    quarantined = {(one["subject"], one["seq"]) for one in finished.report["gaps"]["quarantined"]}
    assert quarantined == set(poison)
    # The checker does not know which events no run can have: it gets their places.
    places = set(poison)
    messages = [
        one
        if (one.subject, one.seq) not in places
        else Message(one.stream, one.seq, one.subject, None)
        for one in breakable_fleet.messages(run)
    ]
    evidence = Evidence(run, oracle.requests(), messages, finished.report)
    assert check(evidence, planned=LOAD.planned) == []
    sent = all_but_late(finished.report, LOAD.rps, LOAD.secs)
    assert finished.report["calls"]["outcomes"] == {"ok": sent}
    assert len(oracle.requests()) == sent


def histogram(count: int) -> str:
    """A histogram of `count` values of 1 µs, in the V2 deflate form of HdrHistogram."""
    number, varied = 2 * count, b""
    while number >= 0x80:
        varied += bytes([number & 0x7F | 0x80])
        number >>= 7
    counts = b"\x01" + varied + bytes([number])
    v2 = struct.pack(">IIIIQQd", 0x1C849313, len(counts), 0, 3, 1, 4_095, 1.0) + counts
    deflated = zlib.compress(v2)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(deflated)) + deflated).decode()


@pytest.mark.slow
@pytest.mark.case(n=18)
def test_a_forged_delta_of_a_real_process_changes_no_figure(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a delta after the final report of its process can add calls that the target never
    received, under a VALID certificate."""
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    forgeries, more = 40, 16_394
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        run = running.run_id()
        assert oracle.wait_count(2 * LOAD.rps, 30)
        delta = first_delta(breakable_fleet, run).event
        assert delta is not None
        values = histogram(more)
        row = {**delta["calls"][0], "count": more, "response": values, "service": values}
        row = {**row, "outcome": "ok", "status": {"200": more}}
        calls = [{**row, "tick": tick % 2} for tick in range(forgeries)]
        totals = {**delta["totals"], "calls": {"ok": forgeries * more}}
        lie = forged(delta, seq=900, arrivals=[], anatomy=[], calls=calls, totals=totals)
        places = write(breakable_fleet, [(f"lp.local.run.{run}.delta.a-1", lie)])
        finished = running.end()
    report = finished.report
    assert [(one["subject"], one["seq"]) for one in report["gaps"]["quarantined"]] == places
    assert "follows its last words" in report["gaps"]["quarantined"][0]["reason"]
    assert report["certificate"]["grade"] != "VALID"
    sent = all_but_late(report, LOAD.rps, LOAD.secs)
    assert report["calls"]["outcomes"] == {"ok": sent}
    assert report["requests_total"] <= len(oracle.requests()) == sent


@pytest.mark.case(n=18)
@pytest.mark.long
def test_last_words_of_a_stranger_end_nothing(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an agent without shards can report that other agents have finished."""
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        run = running.run_id()
        assert oracle.wait_count(2 * LOAD.rps, 30)
        seen = first_delta(breakable_fleet, run)
        assert seen.event is not None
        boot = seen.event["boot_id"]
        words = {"type": "ShardsFinished", "reason": "completed", "final_seq": 0, "totals": {}}
        words["totals"] = {"started": 0}
        facts = [
            ("ghost", {"boot_id": boot, "what": words}),
            ("ghost", {"boot_id": "ghost1", "what": words}),
            ("a-2", {"boot_id": boot, "what": words}),
            ("a-2", {"boot_id": boot, "what": {"type": "AgentLeaving"}}),
        ]
        write(
            breakable_fleet,
            [(f"lp.local.run.{run}.evt.{who}", enveloped(fact)) for who, fact in facts],
        )
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, LOAD.planned, quiet=True, late_max=LOAD.late_max
    )


@pytest.mark.case(n=21)
@pytest.mark.long
def test_a_request_of_another_version_is_never_half_run(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the fleet runs the part that it knows of a plan of a newer version."""
    coordinator = breakable_fleet.coordinator()
    breakable_fleet.agent("a-1")
    short = Load(50, 2, agents=1)
    finished = breakable_fleet.run(loadpilot, WEIGHTED, oracle.url, *short.fleet)
    assert finished.judged == 0, finished.stderr
    coordinator.until("RunSealed")
    before = oracle.counts().received
    (request,) = [one for one in breakable_fleet.messages(finished.run) if one.kind == "req"]
    assert request.event is not None
    newer = {**request.event, "plan": {**request.event["plan"], "schema": "loadpilot.plan/99"}}
    more = {**request.event, "kind_of_load": "unheard of"}
    requests = [
        ("01newer-envelope", enveloped(request.event, version=NEWER)),
        ("01newer-plan", enveloped(newer)),
    ]
    write(breakable_fleet, [(f"lp.local.run.{run}.req", data) for run, data in requests])
    # A newer command may add fields: an older version ignores those that it does not know.
    write(breakable_fleet, [("lp.local.run.01newer-field.req", enveloped({**more, "owner": None}))])
    coordinator.until("RunSealed", 60)
    received = oracle.requests()[before:]
    assert {(one.id or "").partition("/")[0] for one in received} == {"01newer-field"}
    assert len(received) == short.planned
    for run, _ in requests:
        kinds = [one.kind for one in breakable_fleet.messages(run)]
        decisions = [one.event for one in breakable_fleet.messages(run) if one.kind == "ctl"]
        assert kinds in (["req"], ["req", "ctl"])
        assert all(one is not None and one["type"] == "RunRefused" for one in decisions)


@pytest.mark.slow
@pytest.mark.case(n=21)
def test_a_decision_of_a_newer_coordinator_stops_no_component(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a fleet drops its runs while it is upgraded, or if two versions overwrite each
    other's decisions."""
    breakable_fleet.coordinator()
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        run = running.run_id()
        assert oracle.wait_count(2 * LOAD.rps, 30)
        unheard = {"type": "PhaseOfTheMoonChanged", "to": "full"}
        write(
            breakable_fleet,
            [
                (f"lp.local.run.{run}.ctl", enveloped(unheard, version=NEWER)),
                (f"lp.local.run.{run}.evt.a-1", enveloped({"boot_id": "b", "what": unheard})),
            ],
        )
        # A coordinator that starts later must get past the unknown event, too.
        breakable_fleet.coordinator()
        finished = running.end()
    report = finished.report
    assert report["run"]["ending"] == "completed", finished.stderr
    sent = all_but_late(report, LOAD.rps, LOAD.secs)
    assert report["calls"]["outcomes"] == {"ok": sent}
    assert len(oracle.requests()) == sent
    assert {one["subject"].rpartition(".")[2] for one in report["gaps"]["quarantined"]} == {
        "ctl",
        "a-1",
    }
