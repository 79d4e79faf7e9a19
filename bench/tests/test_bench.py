"""The bench's arithmetic: a wrong one would praise or blame a tool for nothing."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree as ET

import pytest
from bench import compare
from bench.families import freezing_target, generator_cost, memory_growth
from bench.families.family import Column, Result
from bench.install import peers
from bench.install.build import Build
from bench.measure import (
    machine,
    perf_profile,
    process_tree,
    rounds,
    schedule_fit,
    spread,
    usage_series,
)
from bench.measure.procfs import Look
from bench.measure.rounds import Figures, Setting, Table
from bench.pages import goals
from bench.pages.distribution_plot import Chart
from bench.pages.family_page import Page
from bench.pages.goals import Judged
from bench.servers import oracle
from bench.tools.loadpilot import LoadPilot, parts
from bench.tools.peers import peer
from bench.tools.tool import Command, Load, Report

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.rounds import Run
    from bench.tools.tool import Tool

WRK = """
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   597.91us  410.02us   5.30ms   96.86%
    Req/Sec    93.90k     2.56k   97.72k    50.00%
  Latency Distribution
     50%  571.00us
     75%  613.00us
     90%    1.10ms
     99%    2.89s
  93338 requests in 1.00s, 15.93MB read
  Socket errors: connect 0, read 1, write 0, timeout 2
"""
HEY = """
  Slowest:\t0.0381 secs
  50%% in 0.0036 secs
  90%% in 0.0065 secs
  99%% in 0.0094 secs
  [200]\t17004 responses
  [503]\t6 responses
"""


class Named:
    """A tool that is only a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ours = name == "LoadPilot"

    def command(self, load: Load, folder: Path) -> Command:
        raise NotImplementedError

    def report(self, folder: Path, stdout: str) -> Report:
        raise NotImplementedError


@pytest.mark.parametrize("secs", [5, 10, 20])
def test_the_answer_of_the_freezing_server_is_its_closed_form(secs: int) -> None:
    """Broken if tools are judged by a wrong truth: of five requests one waits, 0 … 1 s evenly."""
    found = freezing_target.answer(1_000, secs)
    for key, q in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0)):
        assert found[key] == pytest.approx(max(0.0, (q - 0.8) / 0.2) * 1_000, abs=1.5)


def test_every_freeze_ends_within_the_run() -> None:
    """Broken if the last freeze outlives the load: its waits would end early."""
    for secs in (5, 10, 20):
        begins = freezing_target.freezes_ms(secs)
        assert len(begins) == secs // 5
        assert begins[-1] + freezing_target.FROZEN_MS < secs * 1_000


@pytest.mark.parametrize("rps", [500, 1_000, 20_000])
def test_a_constant_delay_is_no_distance_from_the_grid(rps: int) -> None:
    """Broken if a tool pays for the way to the target, which all have."""
    found = schedule_fit.fit([10**15 + 777 + round(n * 1e6 / rps) for n in range(1_000)], rps)
    assert found is not None
    assert found.planned.max_us <= 1
    assert found.kept_rps == pytest.approx(rps, rel=1e-3)


def test_one_late_request_is_the_greatest_distance_and_moves_no_other() -> None:
    """Broken if one outlier shifts the whole grid, or is lost."""
    arrivals = [n * 1_000 for n in range(1_000)]
    arrivals[500] += 900
    found = schedule_fit.fit(arrivals, 1_000)
    assert found is not None
    assert (found.planned.p50_us, found.planned.p99_us, found.planned.max_us) == (0, 0, 900)


def test_a_drift_counts_against_the_plan_and_not_against_the_own_rate() -> None:
    """Broken if a tool that is too slow looks precise, or unrest looks like drift."""
    found = schedule_fit.fit([n * 1_010 for n in range(1_001)], 1_000)
    assert found is not None
    assert found.planned.max_us == pytest.approx(5_000, abs=10)
    assert found.own.max_us == pytest.approx(0, abs=1)
    assert found.kept_rps == pytest.approx(1e6 / 1_010, rel=1e-6)


def test_the_interval_is_the_one_of_the_sign_test() -> None:
    """Broken if an interval promises more than it holds; ranks 2 and 8 of 9 are in every table."""
    nine = spread.of([float(n) for n in range(9, 0, -1)])
    assert (nine.low, nine.median, nine.high) == (2, 5, 8)
    assert nine.covers == pytest.approx(1 - 2 * (1 + 9) / 512)
    three = spread.of([3.0, 1.0, 2.0])
    assert (three.low, three.median, three.high, three.covers) == (1, 2, 3, 0.75)


def test_a_goal_without_figures_is_not_kept() -> None:
    """Broken if a peer that is missing makes a promise come true."""
    assert goals.at_least("x", None, 1).judged is Judged.NOT_JUDGED
    assert goals.exactly("x", None, 1).judged is Judged.NOT_JUDGED
    assert goals.at_least("x", spread.of([0.9, 0.9, 5.0]), 1).judged is Judged.MISSED
    assert goals.at_most("x", spread.of([0.9, 1.0, 5.0]), 1).judged is Judged.KEPT
    assert goals.below("x", spread.of([1.0]), 1).judged is Judged.MISSED
    assert goals.exactly("x", spread.of([5.0, 5.0, 6.0]), 5).judged is Judged.MISSED


def played(order: list[str]) -> Table:
    tools = [Named(name) for name in ("LoadPilot", "other", "broken")]

    def once(tool: Tool, table: Table, _folder: Path) -> Figures:
        order.append(tool.name)
        if tool.name == "broken" or (tool.name == "other" and len(table.busy) == 2):
            raise process_tree.ToolFault("it fell over")
        number = len(table.busy)
        return {"figure": float(number) if tool.name == "LoadPilot" else 2.0}

    return rounds.play("a table", tools, Setting(3, 1, 0, None, None), once)


@pytest.fixture(autouse=True)
def machine_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at no real machine: that takes a second each time."""
    monkeypatch.setattr(machine, "quiet", lambda _patience_secs: "0 %")


def test_each_round_begins_with_another_tool() -> None:
    """Broken if one tool always meets the machine that another one has warmed up."""
    order: list[str] = []
    played(order)
    assert order == [
        *("LoadPilot", "other", "broken"),
        *("other", "broken", "LoadPilot"),
        *("broken", "LoadPilot", "other"),
    ]


def test_a_ratio_is_taken_within_its_round() -> None:
    """Broken if a failed run makes the figures of two different rounds meet."""
    found = played([]).ratio("LoadPilot", "other", "figure")
    assert found is not None
    assert (found.low, found.high, found.rounds) == (0.5, 1.5, 2)


def test_the_page_shows_what_failed_and_what_is_missing() -> None:
    """Broken if a page is silent about a tool."""
    table = played([])
    missed = goals.at_least("promise", spread.of([0.5]), 1)
    columns = (Column("figure", "a figure"),)
    result = Result("x", "X", "How.", columns, [table], [missed], {"absent": "no network"}, [])
    page = Page(result, "today", "./dev bench", 3, [("CPU", "one")])
    for text in (page.markdown(), page.html(), page.json()):
        assert "it fell over" in text
        assert "MISSED" in text
    for text in (page.markdown(), page.html()):
        assert "broken failed in 3 of 3 rounds" in text
        assert "absent (no network)" in text
        assert re.search(r"(\| |<td>)broken", text)


def test_reports_of_tools_are_read_in_their_units(tmp_path: Path) -> None:
    """Broken if ms are taken for µs, or errors are not counted."""
    assert peer("wrk", "wrk").report(tmp_path, WRK) == Report(93338, 571, 1_100, 2.89e6, 5_300, 3)
    hey = peer("hey", "hey").report(tmp_path, HEY)
    assert (hey.requests, hey.p50_us, hey.p99_us, hey.failed) == (17010, 3_600, 9_400, 6)
    with pytest.raises(ValueError, match="no summary"):
        peer("wrk", "wrk").report(tmp_path, "unable to connect")


BURN = "import time; end = time.process_time() + {secs}\nwhile time.process_time() < end: pass\n"
TREE = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {child!r}], check=True)
if os.fork() == 0:
    if os.fork() == 0:
        exec({orphan!r})
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
def test_the_whole_tree_is_paid_for(tmp_path: Path) -> None:
    """Broken if a tool gets away with what its children, or orphans, spend."""
    code = TREE.format(child=BURN.format(secs=0.4), orphan=BURN.format(secs=0.4))
    ran = process_tree.run([sys.executable, "-c", code], None, tmp_path, dict(os.environ), 30)
    assert ran.exit_code == 0, ran.stderr
    assert ran.cpu_secs >= 0.75


def test_memory_is_the_tools_and_not_ours(tmp_path: Path) -> None:
    """Broken if the bench's own pages count, which a fork hands to its child."""
    ballast = bytearray(os.urandom(1)) * 200_000_000
    argv = ["sleep", "0.4"]
    ran = process_tree.run(argv, None, tmp_path, dict(os.environ), 30)
    assert ran.rss_max_bytes < len(ballast) / 10


def test_a_tool_that_hangs_is_ended(tmp_path: Path) -> None:
    """Broken if one tool stops the bench for good."""
    with pytest.raises(process_tree.ToolFault, match="did not end"):
        process_tree.run(["sleep", "60"], None, tmp_path, dict(os.environ), 0.3)


def test_peers_are_pinned() -> None:
    """Broken if two machines compare with different peers."""
    assert all(re.fullmatch(r"v?\d+\.\d+\.\d+", peer.pin) for peer in peers.PEERS)


def test_what_an_agent_spends_is_what_is_read_of_it(tmp_path: Path) -> None:
    """Broken if a row of the agent alone flatters it: the looks must add up to wait4's total."""
    idle = "import time; time.sleep(0.5)\n"
    child = f"# import agent;\n{BURN.format(secs=0.5)}{idle}"
    start = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    code = f"# import supervisor;\n{start}"
    ran = process_tree.run([sys.executable, "-c", code], None, tmp_path, dict(os.environ), 30)
    found = parts(ran, 1_000)
    assert found["agent_cpu_secs"] == pytest.approx(0.5, abs=0.1)
    assert found["agent_per_cpu_sec"] == pytest.approx(1_000 / (found["agent_cpu_secs"] or 0))
    seen = sum(process.cpu_secs for process in ran.processes.values())
    assert seen + (found["unseen_cpu_secs"] or 0) == pytest.approx(ran.cpu_secs)
    assert abs(found["unseen_cpu_secs"] or 0) <= 0.1


def test_the_agent_has_a_row_below_the_whole_command() -> None:
    """Broken if the generator's own cost and the whole command's are mixed, or one is hidden."""
    table = Table("a table", busy=["0 %"])
    table.add("other", {"cpu_secs": 1.0, "round": 0.0})
    table.add("LoadPilot", {"cpu_secs": 2.0, "agent_cpu_secs": 0.5, "round": 0.0})
    ratio = table.ratio("LoadPilot's agent", "other", "cpu_secs")
    whole = table.ratio("LoadPilot", "other", "cpu_secs")
    assert ratio is not None
    assert whole is not None
    goal = goals.at_most("promise", ratio, 1, beside=whole)
    assert (goal.judged, goal.found, goal.beside) == (Judged.KEPT, "0.5 x", "2 x")
    columns = (Column("cpu_secs", "CPU s"),)
    result = Result("x", "X", "How.", columns, [table], [goal], {}, [])
    text = Page(result, "today", "./dev bench", 1, []).markdown()
    assert "| the whole command |" in text
    order = ["| other | 1 |", "| LoadPilot | 2 |", "| LoadPilot's agent | 0.5 |"]
    assert [line for line in text.splitlines() if line in order] == order


H2LOAD = """
finished in 1.01s, 81330.00 req/s, 5.93MB/s
requests: 162660 total, 162920 started, 162660 done, 162650 succeeded, 10 failed, 0 errored
status codes: 162650 2xx, 0 3xx, 0 4xx, 10 5xx
                     min         max         mean         sd        +/- sd
time for request:      151us     21.40ms      3.12ms      1.01ms    83.00%
"""
LOCUST = json.dumps(
    [
        {
            "response_times": {"1": 98, "7": 1},
            "num_requests": 99,
            "num_failures": 1,
            "max_response_time": 7.4,
        },
        {
            "response_times": {"30": 1},
            "num_requests": 1,
            "num_failures": 0,
            "max_response_time": 31.5,
        },
    ]
)


def test_reports_of_several_routes_and_streams_are_read(tmp_path: Path) -> None:
    """Broken if failed streams count as answers, or a tool's second route is lost."""
    assert peer("h2load", "h2load").report(tmp_path, H2LOAD) == Report(
        162660, max_us=21_400, failed=10
    )
    locust = peer("Locust", "locust").report(tmp_path, LOCUST)
    assert (locust.requests, locust.failed, locust.max_us) == (100, 1, 31_500)
    assert (locust.p50_us, locust.p99_us) == (1_000, 7_000)


def test_every_tool_is_asked_for_the_same_streams_and_trust(tmp_path: Path) -> None:
    """Broken if a tool of a table is asked for another load than the rest."""
    streams = Load("http://t/", 1, 4, streams=64)
    made = Build("b", {})
    ours = LoadPilot(made).command(streams, tmp_path)
    assert "--users 256" in " ".join(ours.argv)
    assert ours.environ["BENCH_STREAMS"] == "64"
    assert {"-m64", "-c4"} < set(peer("h2load", "h2load").command(streams, tmp_path).argv)
    assert "-c 4 --http2 -p 64" in " ".join(peer("oha", "oha").command(streams, tmp_path).argv)
    trusting = Load("https://t/", 1, 4, cacert=tmp_path / "ca")
    assert f"--cacert {tmp_path}/ca" in " ".join(LoadPilot(made).command(trusting, tmp_path).argv)
    assert f"--cacert {tmp_path}/ca" in " ".join(
        peer("oha", "oha").command(trusting, tmp_path).argv
    )


def a_tree(cpu_secs: dict[int, float], rss: int = 0) -> dict[int, Look]:
    return {pid: Look(f"p{pid}", secs, 0.0, rss, rss) for pid, secs in cpu_secs.items()}


def test_a_second_is_what_was_used_between_two_samples() -> None:
    """Broken if a peak is an average, or a process that ended keeps its memory."""
    samples = [
        process_tree.Sample(1_000_000, a_tree({1: 1.0, 2: 5.0}, 10), frozenset({1, 2})),
        process_tree.Sample(2_000_000, a_tree({1: 1.5, 2: 5.9}, 10), frozenset({1, 2})),
        process_tree.Sample(4_000_000, a_tree({1: 2.5, 2: 5.9}, 10), frozenset({1})),
    ]
    assert usage_series.core_pct(samples, usage_series.everything) == pytest.approx([140, 50])
    assert usage_series.core_pct(samples, lambda _looks: [1]) == pytest.approx([50, 50])
    assert usage_series.rss_bytes(samples, usage_series.everything) == [20, 20, 10]


def test_growth_is_the_last_tenth_against_the_one_after_the_warm_up() -> None:
    """Broken if the warm-up hides a leak, or is taken for one."""
    warm_then_flat = [(float(s), 10.0 if s < 60 else 40.0) for s in range(-5, 605)]
    found = memory_growth.course(warm_then_flat, 600)
    assert (found.tenths[0], found.tenths[1], found.tenths[9]) == (10, 40, 40)
    assert found.slope_per_sec == pytest.approx(0)
    leak = memory_growth.course([(float(s), 20 + s / 100) for s in range(600)], 600)
    assert (leak.tenths[9] or 0) - (leak.tenths[1] or 0) == pytest.approx(4.8)
    assert leak.slope_per_sec == pytest.approx(0.01)
    nothing = memory_growth.course([], 600)
    assert (nothing.tenths[1], nothing.slope_per_sec) == (None, None)


def test_scaling_counts_only_what_lies_between_two_readings() -> None:
    """Broken if start-up is in the cost of a request, or control hides in it."""
    before = generator_cost.Reading(
        10, 1_000, 5, fire_secs=3, control_secs=1, tree_secs=9, agent_rss_bytes=0
    )
    after = generator_cost.Reading(
        12, 5_000, 7, fire_secs=3.1, control_secs=1.01, tree_secs=9.2, agent_rss_bytes=1 << 20
    )
    found = generator_cost.between(before, after)
    assert found["rps"] == 2_000
    assert found["open"] == 7
    assert found["gen_us"] == pytest.approx(1e6 * 0.11 / 4_000)
    assert found["tree_us"] == pytest.approx(50)
    assert found["control_pct"] == pytest.approx(0.5)
    assert found["control_share_pct"] == pytest.approx(100 / 11)
    table = Table("a table")
    table.add("first", found | {"round": 0.0})
    table.add("second", found | {"gen_us": 55.0, "round": 0.0})
    generator_cost.add_ratios(table, "first")
    assert table.figures["second"][0]["gen_ratio"] == pytest.approx(2)
    assert table.figures["second"][0]["tree_ratio"] == 1


def test_a_slow_target_holds_as_many_connections_as_the_row_says() -> None:
    """Broken if a row of 10,000 connections is one of fewer, or needs more than an agent has."""
    for connections in generator_cost.CONNECTIONS:
        under_way = generator_cost.RPS * generator_cost.held_secs(connections)
        assert under_way <= connections
        assert under_way >= min(connections - 0.5, 0.99 * connections)


@pytest.mark.parametrize("tasks", [1, 200])
def test_a_scenario_of_many_tasks_compiles(tasks: int, tmp_path: Path) -> None:
    """Broken if a row fails for its own scenario."""
    text = generator_cost.scenario_of(tasks)
    compile(text, str(tmp_path), "exec")
    assert text.count("@task") == tasks
    assert f"client.get('/t{tasks - 1}')" in text


def test_rows_without_figures_are_in_the_page() -> None:
    """Broken if what was not measured is left out, or is given figures."""
    table = Table("a table", busy=["0 %"])
    table.add("LoadPilot", {"cpu_secs": 2.0, "round": 0.0})
    table.absent["another"] = "no network"
    columns = (Column("cpu_secs", "CPU s"),)
    page = Page(Result("x", "X", "How.", columns, [table], [], {}, []), "today", "./dev", 1, [])
    assert "| another: *no network* | - |" in page.markdown()
    assert "another" in page.html()
    assert "no network" in page.json()


def test_a_miss_without_a_profile_is_said_aloud() -> None:
    """Broken if the page of a missed goal does not say how to find the cause."""
    missed = goals.at_least("promise", spread.of([0.5]), 1)
    table = Table("a table", busy=["0 %"])
    result = Result("x", "X", "How.", (), [table], [missed], {}, [])
    page = Page(result, "today", "./dev bench", 1, [])
    for text in (page.markdown(), page.html()):
        assert "has no profile" in text
    table.profile = "42 %  a_symbol"
    for text in (page.markdown(), page.html()):
        assert "has no profile" not in text
        assert "a_symbol" in text


def test_a_missing_perf_is_said_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a page that was to have a profile is silent about having none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with perf_profile.Recorder(tmp_path) as recorder:
        pass
    assert recorder.result == perf_profile.MISSING


def test_a_profile_is_its_hottest_lines() -> None:
    """Broken if the list is drowned in what perf says around it."""
    report = "# Samples: 9\n#\n\n    12.50%  [k] copy      libc.so\n     1.00%  [.] f  x.so\n"
    assert perf_profile.top(report) == "12.50%  [k] copy  libc.so\n1.00%  [.] f  x.so"
    assert len(perf_profile.top("1% f\n" * 99).splitlines()) == perf_profile.LINES_MAX


def test_drawings_are_files_beside_the_markdown(tmp_path: Path) -> None:
    """Broken if a page shows a drawing that is not there, or that is no XML."""
    table = Table("a table", busy=["0 %"])
    chart = Chart("gaps", "a <caption>", ideal_us=100.0)
    table.draw(chart, "a & b", schedule_fit.gaps_us([0, 90, 200, 300]))
    table.draw(chart, "a & b", [1.0])
    assert table.charts[chart]["a & b"] == [90, 100, 110]
    page = Page(Result("x", "X", "How.", (), [table], [], {}, []), "today", "./dev", 1, [])
    written = [path.name for path in page.write(tmp_path)]
    assert "x-1-gaps.svg" in written
    assert "(x-1-gaps.svg)" in page.markdown()
    drawing = ET.parse(tmp_path / "x-1-gaps.svg").getroot()  # noqa: S314  (our own)
    assert drawing.tag.endswith("svg")
    assert "<svg" in page.html()


def test_an_installers_reason_is_the_line_with_the_error() -> None:
    """Broken if a row says only that there is a hint somewhere."""
    said = "  FileNotFoundError: no engine\nnote: not pip\nhint: see above"
    assert peers.reason(said) == "FileNotFoundError: no engine"
    assert peers.reason("a\nb\nc") == "b c"
    assert peers.reason("") == ""


def test_the_kernels_times_are_used_only_when_all_are_there() -> None:
    """Broken if half of the arrivals pass for all of them."""
    run = cast("Run", None)
    assert oracle.Logged(run, [5, 9], [4, 8], 1, 0).arrivals_us == [4, 8]
    assert oracle.Logged(run, [5, 9], [4], 1, 0).arrivals_us == [5, 9]


def test_every_family_has_its_sizes_and_members() -> None:
    """Broken if a family that can be asked for cannot be run, or quick is as long as full."""
    for family in compare.FAMILIES.values():
        assert family.tools[0] == "LoadPilot"
        full, quick = family.full, family.quick
        assert quick.rounds * quick.secs < full.rounds * full.secs
        assert set(family.excluded).isdisjoint(family.tools)
