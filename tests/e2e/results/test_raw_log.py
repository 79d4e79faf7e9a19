"""The stored log satisfies its invariants, and a plain sum over it equals the report."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.rawlog import Entry, decoded, merged, read
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterable

VARIED = SCENARIOS / "varied.py"
AGENTS = 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Entry]]:
    """A run with some errors: its report and all messages of its log."""
    folder = tmp_path_factory.mktemp("kept")
    loadpilot = Loadpilot(folder / "work")
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        oracle.status(503, path="/orders", fraction=0.25)
        oracle.status(404, path="/items", fraction=0.1)
        finished = loadpilot.run(VARIED, oracle.url, "--agents", str(AGENTS))
        assert finished.judged == 0, finished.stderr
        assert oracle.counts().received == finished.report["calls"]["attempted"]
    (log,) = loadpilot.log.iterdir()
    entries = [e for e in read(log, folder) if finished.run in e.subject]
    return finished.report, entries


def of(entries: Iterable[Entry], kind: str) -> list[Entry]:
    return [entry for entry in entries if entry.kind == kind]


def by_writer(entries: list[Entry]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The deltas of each process, in the order of their numbers."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for entry in of(entries, "delta"):
        found[entry.writer].append(entry.event)
    return {writer: sorted(all_, key=lambda d: d["seq"]) for writer, all_ in found.items()}


@pytest.mark.slow
def test_decisions_come_in_their_order(recorded: tuple[dict[str, Any], list[Entry]]) -> None:
    """Broken if the first decision is not the only creation, if a generation is missing, or if a
    decision follows the seal."""
    _, entries = recorded
    kinds = [entry.event["type"] for entry in of(entries, "ctl")]
    assert kinds[0] == "RunCreated"
    assert kinds[-1] == "RunSealed"
    assert max(Counter(kinds).values()) == 1
    generations = [e.event["generation"] for e in of(entries, "ctl") if "holdings" in e.event]
    assert generations == [1]
    assert [e.event["type"] for e in of(entries, "req")] == ["RunRequested"]


def test_deltas_are_numbered_and_add_up(recorded: tuple[dict[str, Any], list[Entry]]) -> None:
    """Broken if a delta is lost, sent twice or counted twice."""
    _, entries = recorded
    writers = by_writer(entries)
    assert len(writers) == AGENTS
    for deltas in writers.values():
        assert [delta["seq"] for delta in deltas] == list(range(1, len(deltas) + 1))
        started, calls = 0, Counter[str]()
        for delta in deltas:
            started += sum(row.get("started", 0) for row in delta["arrivals"])
            for row in delta["calls"]:
                calls[row["outcome"]] += row["count"]
                assert decoded(row["response"]).total == row["count"]
                assert decoded(row["service"]).total == row["count"]
                assert sum(row.get("status", {}).values()) == row["count"]
            assert delta["totals"]["started"] == started
            assert delta["totals"].get("calls", {}) == calls


def test_last_words_and_seal_close_the_count(recorded: tuple[dict[str, Any], list[Entry]]) -> None:
    """Broken if final reports or the seal are missing: a missing last delta could not be
    detected."""
    _, entries = recorded
    closing = {
        writer: (deltas[-1]["seq"], deltas[-1]["totals"])
        for writer, deltas in by_writer(entries).items()
    }
    last_words = {
        entry.writer: (entry.event["what"]["final_seq"], entry.event["what"]["totals"])
        for entry in of(entries, "evt")
        if entry.event["what"]["type"] == "ShardsFinished"
    }
    seal = of(entries, "ctl")[-1].event
    finals = {
        (final["holder"]["agent"], final["holder"]["boot_id"]): (
            final["final_seq"],
            final["totals"],
        )
        for final in seal["finals"]
    }
    assert closing == last_words == finals
    assert seal.get("missing", []) == []
    assert seal["data_seq"] == max(entry.seq for entry in of(entries, "delta"))


def test_the_report_is_the_sum_of_the_rows(recorded: tuple[dict[str, Any], list[Entry]]) -> None:
    """Broken if totals, statuses, bytes or percentiles of the report differ from the sums of the
    rows."""
    report, entries = recorded
    deltas = [delta for all_ in by_writer(entries).values() for delta in all_]
    rows = [row for delta in deltas for row in delta["calls"]]
    outcomes, status = Counter[str](), Counter[str]()
    for row in rows:
        outcomes[row["outcome"]] += row["count"]
        status.update(row.get("status", {}))
    assert {name: n for name, n in report["calls"]["outcomes"].items() if n} == outcomes
    assert report["calls"]["attempted"] == outcomes.total()
    assert set(outcomes) == {"ok", "http_4xx", "http_5xx"}
    assert report["status"] == status
    assert report["bytes"]["sent"] == sum(row["sent_bytes"] for row in rows)
    assert report["bytes"]["received"] == sum(row["received_bytes"] for row in rows)
    started = sum(row.get("started", 0) for delta in deltas for row in delta["arrivals"])
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] == started == 300
    for name in ("response", "service"):
        whole = merged([decoded(row[name]) for row in rows])
        ladder = report["latency"][name]
        assert whole.total == ladder["count"]
        assert decoded(report["latency"][f"{name}_histogram"]).counts == whole.counts
        for percent, rung in ((50, "p50_us"), (90, "p90_us"), (99, "p99_us"), (100, "max_us")):
            assert whole.percentile(percent) == ladder[rung]
