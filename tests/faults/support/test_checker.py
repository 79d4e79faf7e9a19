"""The checker itself: it accepts a sound run, and finds each kind of contradiction."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.faults.support.checker import Evidence, Message, Sets, check
from tests.oracle.oracle import Outcome, Request

if TYPE_CHECKING:
    from collections.abc import Callable

RUN = "0RUN"
PLANNED = 40
AGENTS = ("a", "b")
TICKS = 2


def request(arrival: int, outcome: Outcome = Outcome.ANSWERED) -> Request:
    return Request(
        seq=arrival + 1,
        connection=1,
        arrival_us=arrival,
        end_us=arrival + 1,
        method="GET",
        path="/",
        id=f"{RUN}/{arrival}/0",
        body_len=0,
        body_fnv1a="",
        status=200,
        outcome=outcome,
        error=None,
        client_closed=False,
        headers=None,
        kernel_us=None,
    )


def holding(agent: str) -> dict[str, Any]:
    return {"holder": {"agent": agent, "boot_id": f"{agent}1"}, "shards": []}


def delta(agent: str, tick: int, started: int = PLANNED // len(AGENTS) // TICKS) -> dict[str, Any]:
    row = {"tick": tick, "generation": 1}
    return {
        "boot_id": f"{agent}1",
        "seq": tick + 1,
        "arrivals": [{**row, "task": 0, "started": started}],
        "calls": [{**row, "call": 0, "outcome": "ok", "count": started}],
    }


def log() -> list[Message]:
    events = [
        ("ctl", {"type": "ShardsAssigned", "generation": 1, "holdings": [*map(holding, AGENTS)]}),
        (
            "ctl",
            {
                "type": "RunSealed",
                "data_seq": len(AGENTS) * TICKS,
                "evt_seq": 0,
                "finals": [
                    {"holder": {"agent": one, "boot_id": f"{one}1"}, "final_seq": TICKS}
                    for one in AGENTS
                ],
            },
        ),
    ]
    control = [
        Message("LP_CTL", seq, f"lp.local.run.{RUN}.{kind}", event)
        for seq, (kind, event) in enumerate(events, 1)
    ]
    deltas = [(one, delta(one, tick)) for tick in range(TICKS) for one in AGENTS]
    data = [
        Message("LP_DATA", seq, f"lp.local.run.{RUN}.delta.{agent}", event)
        for seq, (agent, event) in enumerate(deltas, 1)
    ]
    return control + data


def report() -> dict[str, Any]:
    return {
        "run": {
            "holders": [{"holder": holding(one)["holder"], "deltas": TICKS} for one in AGENTS],
        },
        "arrivals": {
            "planned": PLANNED,
            "started": PLANNED,
            "dropped": {},
            "lost": 0,
            "waiting": 0,
        },
        "calls": {"attempted": PLANNED, "outcomes": {"ok": PLANNED}},
        "gaps": {
            "lost": [],
            "quarantined": [],
            "late_deltas": 0,
            "excess_calls": 0,
            "excess_arrivals": 0,
        },
        "certificate": {"grade": "VALID", "findings": []},
    }


def sound() -> Evidence:
    requests = [request(arrival) for arrival in range(PLANNED)]
    table = [f"{RUN}/{arrival}/0" for arrival in range(PLANNED)]
    return Evidence(RUN, requests, log(), report(), table)


def test_a_sound_run_passes() -> None:
    """Broken if the checker reports faults of a sound run."""
    assert check(sound(), planned=PLANNED, quiet=True) == []


def reported(change: Callable[[dict[str, Any]], object]) -> Callable[[Evidence], Evidence]:
    """A change of the report."""

    def breaking(evidence: Evidence) -> Evidence:
        changed = copy.deepcopy(evidence.report)
        change(changed)
        return replace(evidence, report=changed)

    return breaking


def received(change: Callable[[list[Request]], object]) -> Callable[[Evidence], Evidence]:
    """A change of what the target received."""

    def breaking(evidence: Evidence) -> Evidence:
        changed = list(evidence.requests)
        change(changed)
        return replace(evidence, requests=changed)

    return breaking


def stored(change: Callable[[list[Message]], object]) -> Callable[[Evidence], Evidence]:
    """A change of the log."""

    def breaking(evidence: Evidence) -> Evidence:
        changed = copy.deepcopy(list(evidence.messages))
        change(changed)
        return replace(evidence, messages=changed)

    return breaking


def listed(change: Callable[[list[str]], object]) -> Callable[[Evidence], Evidence]:
    """A change of the table of `--samples`."""

    def breaking(evidence: Evidence) -> Evidence:
        changed = list(evidence.table or [])
        change(changed)
        return replace(evidence, table=changed)

    return breaking


GARBAGE = Message("LP_DATA", 3, f"lp.local.run.{RUN}.delta.a", None)
GHOST = Message("LP_DATA", 3, f"lp.local.run.{RUN}.delta.ghost", delta("ghost", 0))
FUTURE = Message(
    "LP_DATA",
    3,
    f"lp.local.run.{RUN}.delta.a",
    {**delta("a", 0), "seq": 9, "calls": [{"tick": 0, "generation": 2, "count": 1}]},
)
LATE = Message("LP_DATA", 9, f"lp.local.run.{RUN}.delta.a", {**delta("a", 1), "seq": 3})


@pytest.mark.parametrize(
    ("breaking", "says"),
    [
        (received(lambda all_: all_.pop()), "began 39 answers"),
        (received(lambda all_: all_.append(request(7))), "came twice"),
        (received(lambda all_: all_.append(request(PLANNED))), "not the run's"),
        (
            received(lambda all_: all_.__setitem__(0, request(0, Outcome.UNANSWERED))),
            "began 39 answers",
        ),
        (received(lambda all_: all_.append(replace(request(1), id="x/1/0"))), "not the run's"),
        (listed(lambda all_: all_.pop()), "1 answered requests are not in the table"),
        (listed(lambda all_: all_.append(all_[0])), "stand in the table twice"),
        (listed(lambda all_: all_.append("0RUN/99/0")), "never reached the target"),
        (stored(lambda all_: all_.pop()), "started: the report says 40, the log 30"),
        (stored(lambda all_: all_.append(GARBAGE)), "quarantined"),
        (stored(lambda all_: all_.append(GHOST)), "quarantined"),
        (stored(lambda all_: all_.append(FUTURE)), "quarantined"),
        (stored(lambda all_: all_.append(LATE)), "late deltas: the report says 0, the log 1"),
        (reported(lambda one: one["arrivals"].update(planned=41)), "are said to be planned"),
        (reported(lambda one: one["arrivals"].update(started=39)), "39 are accounted for"),
        (reported(lambda one: one["arrivals"].update(started=39, lost=1)), "0 of them are named"),
        (reported(lambda one: one["arrivals"].update(waiting=1)), "41 are accounted for"),
        (reported(lambda one: one["calls"]["outcomes"].update(ok=41)), "whose outcomes are"),
        (
            reported(lambda one: one["calls"]["outcomes"].update(ok=39, connect=1)),
            "at most 39 were",
        ),
        (reported(lambda one: one["gaps"].update(excess_calls=1)), "excess calls"),
        (reported(lambda one: one["run"]["holders"][0].update(deltas=1)), "the report folded"),
        (
            reported(
                lambda one: (
                    one["arrivals"].update(started=39, lost=1),
                    one["gaps"].update(lost=[{"arrivals": 1}]),
                )
            ),
            "does not know that arrivals are lost",
        ),
    ],
)
def test_whatever_is_wrong_is_found(breaking: Callable[[Evidence], Evidence], says: str) -> None:
    """Broken if a test would not see a fault of this kind."""
    found = check(breaking(sound()), planned=PLANNED)
    assert any(says in one for one in found), found


def test_a_delta_twice_counts_once_and_a_hole_is_named() -> None:
    """Broken if a repeated delta counts as more load, or if a missing number is not seen."""
    twice = stored(lambda all_: all_.append(replace(all_[2], seq=3)))(sound())
    assert check(twice, planned=PLANNED, quiet=True) == []
    found = check(stored(lambda all_: all_.pop())(sound()), planned=PLANNED)
    assert any("numbered deltas [2]" in one for one in found), found


def test_what_superseded_holders_did_is_no_load() -> None:
    """Broken if rows of a generation that had ended are added to the load."""
    after = {"type": "ShardsReassigned", "generation": 2, "takeover_tick": 1}
    moved = Message("LP_CTL", 2, f"lp.local.run.{RUN}.ctl", {**after, "holdings": [holding("b")]})
    evidence = stored(lambda all_: all_.insert(1, moved))(sound())
    found = check(evidence, planned=PLANNED)
    assert "excess calls: the report says 0, the log 20" in found
    assert "started: the report says 40, the log 20" in found


def test_a_quiet_run_must_be_equal() -> None:
    """Broken if a run without an injected fault may lose a request by reporting it as lost."""

    def owned_up(one: dict[str, Any]) -> None:
        one["arrivals"].update(started=39, lost=1)
        one["calls"]["outcomes"].update(ok=39)
        one["calls"]["attempted"] = 39
        one["gaps"]["lost"].append({"arrivals": 1})
        one["certificate"].update(grade="INVALID", findings=[{"kind": "lost_interval"}])

    evidence = reported(owned_up)(received(lambda all_: all_.pop())(sound()))
    found = check(evidence, planned=PLANNED, quiet=True)
    assert "1 requests did not come, of which 0 are late; 0 were not planned" in found
    assert "39 of 40 arrivals were started" in found


def late(count: int) -> Callable[[Evidence], Evidence]:
    """Agent b dropped some of its arrivals of the last tick as late."""

    def breaking(evidence: Evidence) -> Evidence:
        row, sent = {"tick": 1, "generation": 1}, PLANNED // len(AGENTS) // TICKS - count
        last = evidence.messages[-1]
        assert last.event is not None
        rows = {
            "arrivals": [{**row, "task": 0, "started": sent, "dropped": {"late": count}}],
            "calls": [{**row, "call": 0, "outcome": "ok", "count": sent}],
        }
        messages = [*evidence.messages[:-1], replace(last, event={**last.event, **rows})]
        changed = copy.deepcopy(evidence.report)
        changed["arrivals"].update(started=PLANNED - count, dropped={"late": count})
        changed["calls"] = {"attempted": PLANNED - count, "outcomes": {"ok": PLANNED - count}}
        requests, table = evidence.requests[: PLANNED - count], evidence.table or []
        return Evidence(evidence.run, requests, messages, changed, table[: PLANNED - count])

    return breaking


def test_late_arrivals_of_a_quiet_run_are_exactly_those_that_are_missing() -> None:
    """Broken if a busy machine fails a case, or if a late arrival excuses another one."""
    few = late(3)(sound())

    def found(evidence: Evidence, late_max: int = 3) -> list[str]:
        return check(evidence, planned=PLANNED, quiet=True, late_max=late_max)

    assert found(few) == []
    assert found(few, 2) == ["3 of 40 arrivals were late, and 2 may be"]
    fewer, more = received(lambda all_: all_.pop()), received(lambda all_: all_.append(request(37)))
    assert "4 requests did not come, of which 3 are late; 0 were not planned" in found(fewer(few))
    assert "2 requests did not come, of which 3 are late; 0 were not planned" in found(more(few))
    lost = reported(lambda one: one["arrivals"].update(started=36, lost=1))
    assert "36 of 40 arrivals were started" in found(lost(few))
    twice = received(lambda all_: all_.append(request(7)))
    assert any("1 were not planned" in one for one in found(twice(few)))


def test_sets_are_distinguished() -> None:
    """Broken if an acknowledged value that is absent is put into another set than *lost*."""
    sets = Sets.of(attempted="abcd", acked="abc", there="bcdde")
    assert (sets.lost, sets.unexpected) == (frozenset("a"), frozenset("e"))
    assert (sets.duplicated, sets.recovered) == (frozenset("d"), frozenset("d"))
