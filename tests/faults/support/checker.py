"""Compares what the target received, what the log contains and what the report says.

    found = check(Evidence(run, requests, messages, report), planned=960)
    assert found == []

Sets are compared first, as checkers of databases do: acknowledged and absent is *lost*, present and
never requested is *unexpected*, present twice is *duplicated*, present without an acknowledgement
is *recovered*. Sums and inequalities follow. The functions are pure. They must never use code of
the product, and never excuse a difference that the report does not state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.oracle.oracle import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracle.oracle import Request

VERSION = 3
"""The newest version of events that this checker reads."""
RESPONSES_STARTED = frozenset({Outcome.ANSWERED, Outcome.ABORTED, Outcome.TRUNCATED})
ANSWERED_CALLS = ("ok", "http_4xx", "http_5xx", "check_failed")
UNSENT_CALLS = ("connect", "tls", "local")
UNREPORTED = frozenset({"stopped", "unowned"})
CUT_CALLS = ("indeterminate", "cancelled", "timeout", "io")
"""Outcomes of calls that the target may have answered nevertheless."""


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message; without an event when this version cannot read it."""

    stream: str
    seq: int
    subject: str
    event: dict[str, Any] | None

    @property
    def kind(self) -> str:
        """Kind of the message, from its subject: req, ctl, evt or delta."""
        return self.subject.split(".")[4]

    @property
    def place(self) -> tuple[str, int]:
        return self.subject, self.seq


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was observed of one run."""

    run: str
    requests: Sequence[Request]
    """The complete requests that the target received."""
    messages: Sequence[Message]
    """The messages of the run in the log."""
    report: dict[str, Any]
    table: Sequence[str] | None = None
    """The ids of the calls in the table of `--samples`, if one was asked for."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Differences between what was attempted, what was acknowledged and what is there."""

    lost: frozenset[Any]
    unexpected: frozenset[Any]
    duplicated: frozenset[Any]
    recovered: frozenset[Any]

    @classmethod
    def of(cls, attempted: Iterable[Any], acked: Iterable[Any], there: Iterable[Any]) -> Sets:
        counted = Counter(there)
        known, promised, found = frozenset(attempted), frozenset(acked), frozenset(counted)
        return cls(
            lost=promised - found,
            unexpected=found - known,
            duplicated=frozenset(one for one, times in counted.items() if times > 1),
            recovered=(found & known) - promised,
        )


@dataclass(slots=True)
class Folded:
    """The sums of a log, folded without code of the product."""

    started: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    excess_arrivals: int = 0
    excess_calls: int = 0
    late: int = 0
    deltas: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    set_aside: set[tuple[str, int]] = field(default_factory=set)
    sealed: dict[str, Any] | None = None


class Maps:
    """Which holders had shards in which tick."""

    def __init__(self, decisions: Sequence[dict[str, Any]]) -> None:
        self.assignments = [
            (event["generation"], event.get("takeover_tick", event.get("from_tick", 0)), holders)
            for event in decisions
            if (holders := _holders(event)) is not None
        ]

    def held(self, holder: tuple[str, str], generation: int) -> bool:
        return any(of == generation and holder in who for of, _, who in self.assignments)

    def ever(self, holder: tuple[str, str]) -> bool:
        return any(holder in who for _, _, who in self.assignments)

    def in_force(self, tick: int) -> int:
        begun = [of for of, from_tick, _ in self.assignments if from_tick <= tick]
        return begun[-1] if begun else 0


def _holders(event: dict[str, Any]) -> set[tuple[str, str]] | None:
    if "holdings" not in event:
        return None
    found = (one["holder"] for one in event["holdings"])
    return {(one["agent"], one["boot_id"]) for one in found}


def fold(messages: Sequence[Message]) -> Folded:
    """Adds up the events that count, each delta once, up to the sequence that the seal names."""
    folded = Folded()
    control = [one for one in messages if one.stream == "LP_CTL"]
    decisions = [one for one in control if one.kind == "ctl"]
    seals = [one for one in decisions if one.event and one.event["type"] == "RunSealed"]
    end = seals[0] if seals else None
    folded.sealed = end.event if end else None
    for one in control:
        until = None if end is None or end.event is None else end.seq
        if one.kind == "evt" and end is not None and end.event is not None:
            until = end.event["evt_seq"]
        if one.event is None and (until is None or one.seq <= until):
            folded.set_aside.add(one.place)
    maps = Maps([one.event for one in decisions if one.event is not None])
    until = None if folded.sealed is None else folded.sealed["data_seq"]
    for one in messages:
        if one.stream != "LP_DATA":
            continue
        if until is not None and one.seq > until:
            folded.late += 1
        elif not _delta(folded, maps, one):
            folded.set_aside.add(one.place)
    return folded


def _delta(folded: Folded, maps: Maps, message: Message) -> bool:
    """Adds one delta; returns whether it belongs to this run."""
    delta = message.event
    if delta is None:
        return False
    try:
        holder = message.subject.split(".")[5], str(delta["boot_id"])
        rows = [*delta.get("arrivals", []), *delta.get("calls", [])]
        if not maps.ever(holder) or not all(_may(maps, holder, row) for row in rows):
            return False
        seen = folded.deltas.setdefault(holder, set())
        if delta["seq"] in seen:
            return True
        seen.add(delta["seq"])
    except (KeyError, TypeError, AttributeError):
        return False
    for row in delta.get("arrivals", []):
        if maps.in_force(row["tick"]) > row["generation"]:
            folded.excess_arrivals += row.get("started", 0)
            continue
        folded.started += row.get("started", 0)
        folded.dropped.update(row.get("dropped", {}))
    for row in delta.get("calls", []):
        if maps.in_force(row["tick"]) > row["generation"]:
            folded.excess_calls += row["count"]
        else:
            folded.outcomes[row["outcome"]] += row["count"]
    return True


def _may(maps: Maps, holder: tuple[str, str], row: dict[str, Any]) -> bool:
    return maps.held(holder, row["generation"]) and row["generation"] <= maps.in_force(row["tick"])


def check(
    evidence: Evidence,
    *,
    planned: int,
    quiet: bool = False,
    late_max: int = 0,
    hidden: int | None = None,
) -> list[str]:
    """Lists every contradiction, each as a sentence.

    With `quiet`, no fault was injected: all counts must be equal, except for up to `late_max`
    arrivals that the report calls late, as a busy machine makes them. With `hidden`, a process
    could not report its counts, because its files or the log were gone: the target may have
    received as many more requests as the report calls lost, and `hidden` more.
    """
    folded = fold(evidence.messages)
    return [
        *_sums(evidence.report, planned),
        *_of_the_log(evidence.report, folded),
        *_of_the_target(evidence, planned, hidden=hidden),
        *_of_the_table(evidence),
        *(_as_planned(evidence, planned, late_max) if quiet else ()),
    ]


def _sums(report: dict[str, Any], planned: int) -> Iterable[str]:
    arrivals, gaps, calls = report["arrivals"], report["gaps"], report["calls"]
    dropped = sum(arrivals["dropped"].values())
    if arrivals["planned"] != planned:
        yield f"{arrivals['planned']} arrivals are said to be planned, {planned} were"
    there = arrivals["started"] + dropped + arrivals["lost"] + arrivals["waiting"]
    if there != arrivals["planned"]:
        yield f"of {arrivals['planned']} arrivals {there} are accounted for"
    named = sum(gap["arrivals"] for gap in gaps["lost"])
    if named != arrivals["lost"]:
        yield f"{arrivals['lost']} arrivals are lost, {named} of them are named"
    found = {one["kind"] for one in report["certificate"]["findings"]}
    if arrivals["lost"] and "lost_interval" not in found:
        yield "the certificate does not know that arrivals are lost"
    if gaps["quarantined"] and report["certificate"]["grade"] == "VALID":
        yield "the certificate does not know that events were set aside"
    if calls["attempted"] != sum(calls["outcomes"].values()):
        yield f"{calls['attempted']} calls, whose outcomes are {calls['outcomes']}"


def _of_the_log(report: dict[str, Any], folded: Folded) -> Iterable[str]:
    arrivals, calls, gaps = report["arrivals"], report["calls"], report["gaps"]
    pairs = [
        ("started", arrivals["started"], folded.started),
        ("dropped", _reported(arrivals["dropped"]), _reported(folded.dropped)),
        ("outcomes", _some(calls["outcomes"]), dict(+folded.outcomes)),
        ("excess arrivals", gaps["excess_arrivals"], folded.excess_arrivals),
        ("excess calls", gaps["excess_calls"], folded.excess_calls),
        ("late deltas", gaps["late_deltas"], folded.late),
        ("quarantined", {(q["subject"], q["seq"]) for q in gaps["quarantined"]}, folded.set_aside),
    ]
    for what, reported, found in pairs:
        if reported != found:
            yield f"{what}: the report says {reported}, the log {found}"
    deltas = {
        (one["holder"]["agent"], one["holder"]["boot_id"]): one["deltas"]
        for one in report["run"]["holders"]
        if one["deltas"]
    }
    stored = {holder: len(seqs) for holder, seqs in folded.deltas.items()}
    if deltas != stored:
        yield f"deltas: the report folded {deltas}, the log holds {stored}"
    for final in (folded.sealed or {}).get("finals", []):
        holder = final["holder"]["agent"], final["holder"]["boot_id"]
        gone = set(range(1, final["final_seq"] + 1)) - folded.deltas.get(holder, set())
        if gone and not gaps["lost"]:
            yield f"{holder} numbered deltas {sorted(gone)} that are not stored, and none is lost"


def _reported(dropped: dict[str, int]) -> dict[str, int]:
    """Drops that agents report. Drops of shards without a holder, or after a stop, are derived by
    the fold."""
    return {name: count for name, count in _some(dropped).items() if name not in UNREPORTED}


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _of_the_target(evidence: Evidence, planned: int, *, hidden: int | None) -> Iterable[str]:
    calls, gaps = evidence.report["calls"], evidence.report["gaps"]
    outcomes = Counter(calls["outcomes"])
    received = [request.id or "" for request in evidence.requests]
    strange = [one for one in received if not _is_of(one, evidence.run, planned)]
    if strange:
        yield f"the target received {len(strange)} requests that are not the run's: {strange[:3]}"
    twice = sum(times - 1 for times in Counter(received).values())
    if twice > gaps["excess_calls"]:
        yield f"{twice} requests came twice, {gaps['excess_calls']} are owned up to as excess"
    begun = sum(1 for request in evidence.requests if request.outcome in RESPONSES_STARTED)
    answered = sum(outcomes[name] for name in ANSWERED_CALLS)
    if answered > begun:
        yield f"{answered} calls are said to be answered, the target began {begun} answers"
    sent = outcomes.total() - sum(outcomes[name] for name in UNSENT_CALLS) + gaps["excess_calls"]
    untold = 0 if hidden is None else hidden + evidence.report["arrivals"]["lost"]
    if len(received) > sent + untold:
        yield f"the target received {len(received)} requests, at most {sent + untold} were sent"


def _is_of(identity: str, run: str, planned: int) -> bool:
    named, _, rest = identity.partition("/")
    arrival = rest.partition("/")[0]
    return named == run and arrival.isdigit() and int(arrival) < planned


def _of_the_table(evidence: Evidence) -> Iterable[str]:
    if evidence.table is None:
        return
    outcomes = Counter(evidence.report["calls"]["outcomes"])
    whole = [one.id for one in evidence.requests if one.outcome is Outcome.ANSWERED]
    sets = Sets.of((one.id for one in evidence.requests), whole, evidence.table)
    cut = sum(outcomes[name] for name in CUT_CALLS)
    if len(sets.lost) > cut:
        yield f"{len(sets.lost)} answered requests are not in the table, {cut} were cut off"
    unsent = sum(outcomes[name] for name in (*UNSENT_CALLS, *CUT_CALLS))
    if len(sets.unexpected) > unsent:
        yield f"{len(sets.unexpected)} calls of the table never reached the target"
    if len(sets.duplicated) > evidence.report["gaps"]["excess_calls"]:
        yield f"{sorted(sets.duplicated)[:3]} and more stand in the table twice"


def _as_planned(evidence: Evidence, planned: int, late_max: int) -> Iterable[str]:
    received = Counter(request.id or "" for request in evidence.requests)
    wanted = Counter(f"{evidence.run}/{arrival}/0" for arrival in range(planned))
    late = evidence.report["arrivals"]["dropped"].get("late", 0)
    if late > late_max:
        yield f"{late} of {planned} arrivals were late, and {late_max} may be"
    missing, more = wanted - received, received - wanted
    if more or missing.total() != late:
        yield (
            f"{missing.total()} requests did not come, of which {late} are late; "
            f"{more.total()} were not planned"
        )
    calls = evidence.report["calls"]
    if _some(calls["outcomes"]) != {"ok": planned - late}:
        yield f"{planned - late} calls were to be ok, and are {calls['outcomes']}"
    if evidence.report["arrivals"]["started"] != planned - late:
        yield f"{evidence.report['arrivals']['started']} of {planned} arrivals were started"
    gaps = evidence.report["gaps"]
    if gaps["lost"] or gaps["quarantined"] or gaps["late_deltas"] or gaps["excess_calls"]:
        yield f"nothing was done to the run, and it has gaps: {gaps}"
