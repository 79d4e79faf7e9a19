"""The live view at a pseudo-terminal, compared with the log and the target.

About 90 s one after the other; each run takes one to twelve seconds.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from contextlib import ExitStack
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support import live_figures
from tests.e2e.support.command import COMMAND, ID_HEADER, SCENARIOS, Loadpilot
from tests.e2e.support.fleet import free_port
from tests.e2e.support.processes import Part, children
from tests.e2e.support.terminal import CTRL_C, Terminal
from tests.e2e.support.token_server import Sent, model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
# On a machine that also runs other tests, the measurement may be degraded or invalid.
COMPLETED = {0, 3, 4}
LOOSE = ("--threshold", "p99_ms=60000", "--threshold", "error_rate=1")
REQUESTS = re.compile(r"^requests +([\d,]+) in the whole run", re.MULTILINE)
IN_FLIGHT = re.compile(r"In flight +(\d+) ")
BEHIND_S = 1.0
"""Maximum delay of a frame behind the reports of agents."""
CHAT = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="3s", mode="constant", thresholds={"p99_first_token_ms": 60_000})
class Chat(VUser):
    @task
    def ask(self, client: LoadClient) -> None:
        client.post("/v1/chat", json={"prompt": "hello"}, stream="sse")
"""
ORDERS = """
from loadpilot import LoadClient, VUser, metrics, scenario, task

@scenario(
    rps=50, duration="3s", mode="constant", users=8, compile=False,
    thresholds={"orders.count": ">= 1000", "basket.p95": "<= 90", "checks": 99},
)
class Orders(VUser):
    @task
    def buy(self, client: LoadClient) -> None:
        client.post("/orders")
        metrics.counter("orders").add(2)
        metrics.trend("basket").add(40.0)

    def check_buy(self, status_code: int, body: object) -> None:
        assert status_code == 200, "no order"
"""


def started(
    loadpilot: Loadpilot, scenario: Path | str, target: str, *flags: str, **how: Any
) -> Terminal:
    """Starts the command at a terminal, as a person does."""
    if isinstance(scenario, str):
        path = loadpilot.folder / "scene.py"
        path.write_text(scenario, encoding="utf-8")
        scenario = path
    argv = [str(COMMAND), "run", str(scenario), "--target", target, "--id-header", ID_HEADER]
    return Terminal([*argv, *flags], loadpilot.folder, **how)


def run_of(terminal: Terminal) -> str:
    found = re.search(r"^run (0\w+)", terminal.all, re.MULTILINE)
    assert found is not None, terminal.all
    return found[1]


def assert_left_as_it_was(terminal: Terminal) -> None:
    """Asserts that the block is gone, and that the terminal works."""
    screen = terminal.screen
    assert screen.wraps
    assert screen.cursor_is_visible
    assert screen.shown[-1].text == ""
    assert not re.search("^(Failed requests|Gates so far|Tasks) ", terminal.all, re.MULTILINE)


def compared(loadpilot: Loadpilot, tmp_path: Path, *terminals: Terminal) -> list[Any]:
    """Asserts that each frame of each terminal is the sum of the first n deltas of the log, and the
    last one that of all. Returns the frames of the first terminal, with those sums."""
    (log,) = loadpilot.log.iterdir()
    entries = live_figures.of_run(log, tmp_path / "copy", run_of(terminals[0]))
    sums = live_figures.prefixes(entries)
    found = []
    for terminal in terminals:
        matched = live_figures.matched(terminal.frames, sums)
        assert max(number for _, _, number in matched) > 0, "only frames without figures"
        for _, figures, number in matched:
            for name, latency in figures.latency.items():
                assert latency == sums[number].latency(name.lower()), (name, number)
            gate = figures.gates.get("error_rate")
            if gate is not None and gate[0] != "No data":
                assert_judged(gate, sums[: number + 3])
        assert_whole(matched[-1][1], sums[-1], terminal)
        found.append([(frame, figures, sums[number]) for frame, figures, number in matched])
    return found[0]


def assert_whole(last: live_figures.Shown, whole: live_figures.Prefix, terminal: Terminal) -> None:
    """Asserts that the last frame has the figures of the whole log, as the summary below it."""
    assert last.counts == whole.counts
    for name, latency in last.latency.items():
        assert latency == whole.latency(name.lower()), name
    requests = REQUESTS.search(terminal.all)
    assert requests is not None, terminal.all
    assert int(requests[1].replace(",", "")) == last.counts[2]


def assert_judged(gate: tuple[str, str, str, str], sums: list[live_figures.Prefix]) -> None:
    """Asserts that the error rate is that of the first n deltas, which may be a second older than
    those of the frame, or newer by the time between two snapshots, and that it was judged by its
    limit."""
    word, actual, operator, limit = gate
    assert operator == "<="
    known = [prefix.error_rate for prefix in sums]
    assert any(float(actual) == pytest.approx(rate, abs=0.006) for rate in known), (actual, known)
    assert word == ("Passed" if float(actual) <= float(limit) else "Failing")


def assert_failed(terminal: Terminal, code: int) -> None:
    """Asserts that a gate failed. On a busy machine the code is 3 and the verdict the same."""
    assert code in {1, 3}, terminal.all
    assert "verdict      FAIL" in terminal.all


def assert_mostly(frames: list[Any], words: str, name: str) -> None:
    """Asserts that frames with failures name the most frequent one, with its count."""
    mostly = [(figures.mostly, prefix) for _, figures, prefix in frames if figures.counts[3]]
    assert mostly
    for found, prefix in mostly:
        assert found == (words, prefix.failures[name])
        assert prefix.failures.most_common(1)[0][0] == name


def good(_: Oracle) -> None:
    """The target answers every request at once."""


def failing(oracle: Oracle) -> None:
    oracle.status(503, path="/rarely")


def stalling(oracle: Oracle) -> None:
    oracle.freeze(after_first_ms=700, for_ms=1500)


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [good, failing, stalling])
def test_what_it_shows_is_in_the_log(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, behaviour: Callable[[Oracle], None]
) -> None:
    """Broken if a frame shows other figures than the sum of the reports of agents, lacks the state
    of the gates, or does not say why requests fail."""
    behaviour(oracle)
    flags = ("--rps", "60", "--duration", "4s", "--agents", "2", *LOOSE)
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        code = terminal.end()
        assert_left_as_it_was(terminal)
        assert terminal.screen.overflows == 0
    assert oracle.counts().received == 240
    frames = compared(loadpilot, tmp_path, terminal)
    _, last, _ = frames[-1]
    assert last.counts[0] >= (120 if behaviour is stalling else 180)
    assert max(figures.counts[2] for _, figures, _ in frames) <= 240
    assert last.tasks.keys() == {"often", "rarely"}
    assert last.counts[2] == sum(requests for requests, _ in last.tasks.values())
    assert last.gates["p99_ms"][0] == "Passed"
    if behaviour is failing:
        assert_failed(terminal, code)
        assert_mostly(frames, "HTTP 503", "503")
        assert last.gates["error_rate"][0] == "Failing"
        assert last.tasks["rarely"][0] == last.tasks["rarely"][1] == last.counts[3] > 0
        assert {"31", "32", "1"} <= terminal.screen.styles, (
            "failures are not red, or passed gates not green"
        )
    else:
        assert code in {0, 3}, "3: the machine was busy"
        assert last.gates["error_rate"][:2] == ("Passed", "0")
        assert {"32", "1"} <= terminal.screen.styles
        assert "31" not in terminal.screen.styles or code == 3
    if behaviour is stalling:
        texts = ("\n".join(frame.block) for frame, *_ in frames)
        in_flight = [int(found[1]) for text in texts if (found := IN_FLIGHT.search(text))]
        assert max(in_flight) >= 30, "the view does not show that the target stalls"


@pytest.mark.timed
def test_frames_come_four_times_a_second_and_are_up_to_date(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if the view is slow, or if its figures are more than a second old."""
    flags = ("--rps", "100", "--duration", "4s", "--agents", "2", *LOOSE)
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        terminal.end()
    (log,) = loadpilot.log.iterdir()
    entries = live_figures.of_run(log, tmp_path / "copy", run_of(terminal))
    sums = live_figures.prefixes(entries)
    (start,) = [e.event["start_at"] for e in entries if e.event.get("type") == "StartScheduled"]
    matched = live_figures.matched(terminal.frames, sums)
    running = [frame for frame, *_ in matched if " of 00:04" in frame.block[1]]
    gaps = sorted(after.at - before.at for before, after in pairwise(running))
    assert gaps[len(gaps) // 2] == pytest.approx(0.25, abs=0.05)
    behind = []
    after_start = [found for found in matched if found[0].wall_us > start]
    for frame, _, number in after_start:
        known = [prefix for prefix in sums if start + prefix.until_us <= frame.wall_us]
        missing = known[-1].until_us - sums[number].until_us
        behind.append(missing and frame.wall_us - start - sums[number + 1].until_us)
    assert max(behind) < BEHIND_S * 1e6, behind


@pytest.mark.slow
def test_a_target_that_is_down(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if only the report says that nothing listens at the target."""
    flags = ("--rps", "50", "--duration", "3s", *LOOSE)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: refused, and the port is taken
        target = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with started(loadpilot, WEIGHTED, target, *flags) as terminal:
            assert terminal.end() != 0
            assert_left_as_it_was(terminal)
    frames = compared(loadpilot, tmp_path, terminal)
    assert_mostly(frames, "connection refused", "refused")
    assert frames[-1][1].gates["error_rate"][:2] == ("Failing", "100")
    assert frames[-1][1].latency == {}, "a latency is shown although no request reached a server"
    assert "no call has reached the target: connection refused" in terminal.all


@pytest.mark.slow
def test_a_closed_loop(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if the view of a closed loop, which has no schedule, shows a shortfall."""
    oracle.delay(20)
    flags = ("--users", "4", "--duration", "3s", "--agents", "2")
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert terminal.end() in COMPLETED
    frames = compared(loadpilot, tmp_path, terminal)
    text = "\n".join(frames[-1][0].block)
    assert "/s, closed loop, 4 users" in text
    assert "planned" not in text
    assert frames[-1][1].latency.keys() == {"Response"}


@pytest.mark.slow
def test_streamed_answers(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if the view lacks a gate on tokens."""
    with model(Sent()) as url, started(loadpilot, CHAT, url) as terminal:
        assert terminal.end() in COMPLETED
    frames = compared(loadpilot, tmp_path, terminal)
    word, actual, *_ = frames[-1][1].gates["p99_first_token_ms"]
    assert word == "Passed"
    assert float(actual) >= 50


@pytest.mark.slow
def test_metrics_and_checks(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if the view lacks a gate on an own metric or on checks."""
    oracle.status(404, path="/orders", fraction=0.5)
    with started(loadpilot, ORDERS, oracle.url) as terminal:
        assert_failed(terminal, terminal.end())
    frames = compared(loadpilot, tmp_path, terminal)
    assert_mostly(frames, "check failed", "check_failed")
    judged = [(figures.gates, prefix) for _, figures, prefix in frames if figures.gates]
    gates, prefix = judged[-1]
    assert gates["checks"][0] == gates["orders.count"][0] == "Failing"
    assert gates["basket.p95"][:2] == ("Passed", "40")
    assert float(gates["checks"][1]) == pytest.approx(50, abs=2)
    assert 0 < int(gates["orders.count"][1]) <= 2 * prefix.counts[0]


@pytest.mark.slow
def test_an_agent_that_is_killed(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if the view loses the reports of a killed agent, or does not mention the loss."""
    flags = ("--rps", "60", "--duration", "6s", "--agents", "2")
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert oracle.wait_count(60, 30)
        os.kill(agents_of(terminal)[0], signal.SIGKILL)
        terminal.until("restarted")
        terminal.end()
        assert_left_as_it_was(terminal)
    compared(loadpilot, tmp_path, terminal)
    assert terminal.all.count("restarted") >= 1, "a line of the timeline is lost"


@pytest.mark.slow
def test_an_agent_that_is_frozen(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if the view stops with an agent, or hides that an agent reports nothing any more."""
    flags = ("--rps", "60", "--duration", "12s", "--agents", "2", *LOOSE)
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert oracle.wait_count(60, 30)
        frozen = agents_of(terminal)[0]
        os.kill(frozen, signal.SIGSTOP)
        terminal.until_frame("steady · 1 load generator$")
        os.kill(frozen, signal.SIGCONT)
        terminal.end()
        assert_left_as_it_was(terminal)
    compared(loadpilot, tmp_path, terminal)


def agents_of(terminal: Terminal) -> list[int]:
    (supervisor,) = [one for one in children(terminal.pid) if one.part is Part.SUPERVISOR]
    return [one.pid for one in children(supervisor.pid) if one.part is Part.AGENT]


@pytest.mark.slow
def test_a_run_that_is_steered(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if the view does not show a pause or a rate that another command requested."""
    flags = ("--rps", "50", "--duration", "60s", "--agents", "2")
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert oracle.wait_count(50, 30)
        assert loadpilot.call("rate", "last", "200").code == 0
        assert loadpilot.call("pause", "last").code == 0
        terminal.until_frame("paused · ")
        assert loadpilot.call("resume", "last").code == 0
        terminal.until_frame(r"of (199|200)[.\d]* planned/s")
        terminal.until_frame(r"\b[1-9][\d,]* dropped")  # before the stop drops anything
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    frames = compared(loadpilot, tmp_path, terminal)
    assert frames[-1][1].counts[1] > 0, "arrivals due in the pause were not dropped"
    assert "rate 50 -> 200" in terminal.all


@pytest.mark.timed
def test_ctrl_c_stops(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if Ctrl-C of the terminal does not stop the run, cuts requests in flight, or leaves
    the block on the screen."""
    oracle.delay(400)
    flags = ("--rps", "50", "--duration", "60s", "--agents", "2", *LOOSE)
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert oracle.wait_count(80, 30)
        terminal.press(CTRL_C)
        terminal.until_frame("stopping · ")
        assert terminal.end(20) == 130
        assert_left_as_it_was(terminal)
    assert "stopping: what is in flight finishes; again to abort" in terminal.all
    assert "ended        stopped" in terminal.all
    assert f"ok {oracle.counts().received:,}" in terminal.all, "requests in flight were cut"
    compared(loadpilot, tmp_path, terminal)


@pytest.mark.timed
def test_ctrl_c_twice_aborts(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the second Ctrl-C does not reach the command, or if an abort leaves the terminal
    broken."""
    oracle.silent()
    flags = ("--rps", "50", "--duration", "60s")
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        assert oracle.wait_count(50, 30)
        terminal.press(CTRL_C)
        terminal.until("stopping: what is in flight")
        terminal.press(CTRL_C)
        terminal.until("aborting; again to leave at once")
        assert terminal.end(15) == 130
        assert_left_as_it_was(terminal)


@pytest.mark.slow
def test_the_view_is_the_same_wherever_the_run_is(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the bar does not show the elapsed time, or if a run of a fleet, over NATS or over
    HTTP, has other lines than a local run. 13 s: three runs of 4 s at a time."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    flags = ("--rps", "40", "--mode", "ramp", "--ramp-up", "2s", "--duration", "2s")
    places = (
        ("--agents", "2"),
        ("--external-agents", "2", "--nats-url", fleet.url),
        ("--external-agents", "2", "--coordinator-url", f"http://127.0.0.1:{port}"),
    )
    with ExitStack() as stack:
        terminals = [
            stack.enter_context(started(loadpilot, WEIGHTED, oracle.url, *flags, *place))
            for place in places
        ]
        for terminal in terminals:
            assert terminal.end() in COMPLETED, terminal.all
            assert_left_as_it_was(terminal)
    assert oracle.counts().received == 3 * (40 + 80)
    last = []
    for terminal in terminals:
        heads = [head for frame in terminal.frames if (head := live_figures.head(frame))]
        assert {head.title for head in heads} == {f"Weighted → {oracle.url}"}
        assert [phase for phase, _ in groupby(head.phase for head in heads)][-3:] == [
            *("ramp-up", "steady", "done")
        ]
        assert all(head.whole_secs == 4 for head in heads)
        assert [head.percent for head in heads] == sorted(head.percent for head in heads)
        for head in heads:
            begun, ended = (round(100 * secs / 4) for secs in (head.secs, head.secs + 1))
            assert begun <= head.percent <= min(ended, 100), head
            assert head.bar_percent == pytest.approx(head.percent, abs=2), head
        words = ["".join(filter(str.isalpha, row)) for row in terminal.frames[-1].block]
        last.append((heads[-1].percent, words))
    assert last[0][0] == 100
    assert last[0] == last[1] == last[2]


def test_a_command_that_is_killed_leaves_a_terminal_that_works(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a user must reset the terminal after a kill -9: no cursor, no line breaks."""
    flags = ("--rps", "50", "--duration", "60s")
    with started(loadpilot, WEIGHTED, oracle.url, *flags) as terminal:
        terminal.until_frame("steady · ")
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.end(20) == -signal.SIGKILL
        assert terminal.screen.wraps
        assert terminal.screen.cursor_is_visible
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not quiet(oracle):
        pass
    assert quiet(oracle), "the load goes on"


def quiet(oracle: Oracle) -> bool:
    """Whether no request arrives for a fifth of a second."""
    count = oracle.counts().received
    return not oracle.wait_count(count + 1, 0.2)
