"""A noisy neighbour: the losses of one tenant of a shared fleet while another one floods it.

Two tenants share a log, a coordinator, two agents and a gateway with keys, all on this machine. In
each run tenant B offers 200 arrivals/s on both agents and asks the gateway for its run and for its
list ten times a second. A round is one run of B alone and one beside tenant A, in an order that
rotates. A runs at its limit of 1,000 arrivals/s on both agents, holds 100 live views of its run,
and sends the gateway 500 requests/s, ten times its limit, also while they are refused: in turn a
request for a run above its limits, one with the largest plan, and a note about a run that is over,
which is written to the log. B's target counts B's requests; the schedule lag is that of B's report;
an answer is timed by its caller.

A's callers run here, too, and would take processor time that they do not take of a fleet. So they
are a process at idle priority, and their rate is fixed: callers that ask again as soon as they are
refused would use all that is left. A request that finds no caller free is late and not left out;
the table has the rate that was sent. Ratios are taken within a round, and their median is judged.
"""

from __future__ import annotations

import http.client
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pytest
from tests.e2e.support.command import COMMAND, Running
from tests.e2e.support.fleet import Fleet
from tests.oracle.oracle import Oracle, built_binary

from bench.measure import machine
from loadpilot.local.keys.key import Role, new_key
from loadpilot.local.keys.key_file import create_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Event

    from bench.install.build import Build

GATEWAY = Path(sys.executable).with_name("loadpilot-gateway")
SCENARIO = machine.ROOT / "bench" / "scenarios" / "five_tasks.py"
API = "/api/v1"
RATE, NOISE_RATE = 200, 1_000
MEASURED_SECS, QUICK_SECS = 20, 4
NOISE_SECS = 8
"""How much longer A's run is than B's, which starts after it."""
ASKING_SECS = 0.1
"""Interval of B's questions."""
FLOOD_RATE, FLOODING, VIEWS = 500, 16, 100
"""Requests/s of A to the gateway, the callers that send them, and its live views."""
QUIET_SECS = 1.0
"""Time before each request for a run that is measured."""
PADDING_BYTES = 400_000
"""Size of a plan of the flood; a plan may have 512 KiB."""
PATIENCE_SECS = 60.0
TENANTS = f"""
[tenants.a]
max_rate = {NOISE_RATE}
max_agents = 2

[tenants.b]
"""
HOME = ("--tenant", "fleet")
RATE_PCT_MAX, LAG_MAX, ANSWER_MAX = 2.0, 2.0, 2.0
"""Promises: percent by which B's offered rate moves, and factors of its lag and of its answers."""
COLUMNS = (
    *("repeat", "B", "CPU busy before", "offered, 1/s", "lag p99, µs", "answer p50, ms"),
    *("answer p99, ms", "A's requests, 1/s", "answered with 429", "A's arrivals"),
)


class Figures(NamedTuple):
    """One run of B."""

    offered: float
    lag_p99_us: int
    answer_p50_ms: float
    answer_p99_ms: float
    asked_per_sec: float
    limited: int
    arrivals: int


class Caller:
    """A caller of the gateway with one key, on a new connection for each request."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._open: list[http.client.HTTPConnection] = []
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request, and read the whole answer: its status and its JSON."""
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECS)
        with closing(connection):
            connection.request(method, f"{API}{path}", content, self._headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")

    def view(self, run: str) -> http.client.HTTPResponse:
        """Open a live view, until `close`; above the limit of requests, wait for Retry-After."""
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECS)
            self._open.append(connection)
            connection.request("GET", f"{API}/runs/{run}/live", headers=self._headers)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.TOO_MANY_REQUESTS:
                return answer
            time.sleep(int(answer.headers["Retry-After"]))

    def close(self) -> None:
        """Close the live views."""
        for connection in self._open:
            connection.close()


class BuiltFleet(Fleet):
    """A fleet whose members are those of a build."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch, build: Build) -> None:
        self._build = build
        super().__init__(folder, environ)

    def _start(self, *argv: str) -> Running:
        if argv[0] == str(COMMAND):
            argv = tuple(self._build.command(*argv[1:]))
        return super()._start(*argv)


class Bench:
    """The fleet, its gateway, and both tenants with their targets and plans."""

    def __init__(self, build: Build, folder: Path, stack: ExitStack) -> None:
        environ = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in build.environ.items():
            environ.setenv(name, value)
        fleet = stack.enter_context(BuiltFleet(folder, environ, build))
        file = folder / "tenants.toml"
        file.write_text(TENANTS, encoding="utf-8")
        fleet.coordinator(*HOME, "--tenants", str(file))
        for name in ("a-1", "a-2"):
            fleet.agent(name, *HOME)
        made = {one: new_key(one, one, Role.ADMIN, int(time.time()), None) for one in "ab"}
        create_file(folder / "keys.json", [key for key, _ in made.values()])
        self._texts = {tenant: text for tenant, (_, text) in made.items()}
        (folder / "links.toml").write_text("[tenants.a]\n[tenants.b]\n", encoding="utf-8")
        settings = {
            "NATS_URL": fleet.url,
            "PORT": "0",
            "KEYS_FILE": str(folder / "keys.json"),
            "TENANTS_FILE": str(folder / "links.toml"),
            "CACHE": str(folder / "cache"),
        }
        for name, value in settings.items():
            environ.setenv(f"LOADPILOT_GATEWAY_{name}", value)
        gateway = stack.enter_context(Running([str(GATEWAY)], folder, folder / "none.json"))
        self.port = int(gateway.until("listening on").split(":")[2].split(",")[0])
        self.targets = {
            one: stack.enter_context(Oracle(built_binary(), folder / f"{one}.jsonl"))
            for one in "ab"
        }
        self._build, self._folder = build, folder

    def caller(self, tenant: str) -> Caller:
        """A caller of a tenant."""
        return Caller(self.port, self._texts[tenant])

    def plan(self, tenant: str, rate: int, secs: int) -> dict[str, Any]:
        """A plan against the target of a tenant, as the command prints it."""
        argv = self._build.command(
            *("run", str(SCENARIO), "--target", self.targets[tenant].url, "--rps", str(rate)),
            *("--duration", f"{secs}s", "--dry-run"),
        )
        with Running(argv, self._folder, self._folder / "none.json") as running:
            found: dict[str, Any] = json.loads(running.end().stdout)
        return found

    def start(self, caller: Caller, plan: dict[str, Any]) -> str:
        """Start a run on both agents, once the limit admits a request after an earlier flood."""
        status, answer = http.HTTPStatus.TOO_MANY_REQUESTS, None
        while status == http.HTTPStatus.TOO_MANY_REQUESTS:
            time.sleep(QUIET_SECS)
            status, answer = caller.ask("POST", "/runs", {"plan": plan, "agents": {"want": 2}})
        if status != http.HTTPStatus.ACCEPTED:
            raise RuntimeError(f"the run was refused: {answer}")
        run: str = answer["run"]
        return run


def measure(build: Build, repeats: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure and write a table and whether the promises were kept."""
    secs = QUICK_SECS if quick else MEASURED_SECS
    about = f"B offers {RATE} arrivals/s for {secs} s a run."
    lines = [about, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    rounds: list[dict[str, Figures]] = []
    with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name, ExitStack() as stack:
        bench = Bench(build, Path(name), stack)
        for number in range(1, repeats + 1):
            found: dict[str, Figures] = {}
            order = ("alone", "beside A") if number % 2 else ("beside A", "alone")
            for which in order:
                busy = machine.quiet(patience_secs)
                found[which] = one = once(bench, secs, is_noisy=which != "alone")
                lines.append(
                    f"| {number} | {which} | {busy} | {one.offered:.1f} | {one.lag_p99_us:,} "
                    f"| {one.answer_p50_ms:.1f} | {one.answer_p99_ms:.1f} | "
                    f"{one.asked_per_sec:.0f} | {one.limited:,} | {one.arrivals:,} |"
                )
                print(lines[-1], flush=True)
            rounds.append(found)
    return [*lines, "", *promises(rounds)]


def promises(rounds: list[dict[str, Figures]]) -> Iterator[str]:
    """Judge the median of each ratio of a round."""

    def ratio(of: Callable[[Figures], float]) -> float:
        pairs = [(of(one["beside A"]), of(one["alone"])) for one in rounds]
        return statistics.median(noisy / max(alone, 1e-9) for noisy, alone in pairs)

    moved = abs(ratio(lambda one: one.offered) - 1) * 100
    for what, figure, limit in (
        ("offered rate moves by percent", moved, RATE_PCT_MAX),
        ("schedule lag p99, ratio", ratio(lambda one: one.lag_p99_us), LAG_MAX),
        ("answers p50, ratio", ratio(lambda one: one.answer_p50_ms), ANSWER_MAX),
        ("answers p99, ratio", ratio(lambda one: one.answer_p99_ms), ANSWER_MAX),
    ):
        kept = "kept" if figure < limit else "NOT kept"
        yield f"- {what}: {figure:.2f}, promised below {limit:g}: {kept}"


def once(bench: Bench, secs: int, *, is_noisy: bool) -> Figures:
    """Run B once, alone or beside A."""
    target, caller = bench.targets["b"], bench.caller("b")
    plan = bench.plan("b", RATE, secs)
    before = target.counts().received
    with ExitStack() as stack:
        noise = stack.enter_context(Noise(bench, secs)) if is_noisy else None
        run = bench.start(caller, plan)
        took = questions(bench, caller, run)
        offered = (target.counts().received - before) / secs
        _, report = caller.ask("GET", f"/runs/{run}")
    spread = statistics.quantiles(took, n=100)
    noise = noise or NoNoise()
    lag = report["generator"]["schedule_lag"]["p99_us"]
    caller.close()
    return Figures(
        *(offered, lag, spread[49] * 1e3, spread[98] * 1e3),
        *(noise.asked_per_sec, noise.limited, noise.arrivals),
    )


def questions(bench: Bench, caller: Caller, run: str) -> list[float]:
    """Request the run and the list until the run is over; return the seconds of each answer."""
    took: list[float] = []
    give_up = time.monotonic() + PATIENCE_SECS + MEASURED_SECS
    watching = bench.caller("b")
    ended = threading.Event()

    def follow() -> None:
        watching.view(run).read()
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    while not ended.wait(ASKING_SECS):
        for path in (f"/runs/{run}", "/runs"):
            begun = time.monotonic()
            status, answer = caller.ask("GET", path)
            took.append(time.monotonic() - begun)
            if status != http.HTTPStatus.OK or time.monotonic() > give_up:
                raise RuntimeError(f"{path}: {status} {answer}")
    thread.join()
    watching.close()
    return took


class NoNoise:
    """Takes the place of tenant A in a run of B alone."""

    asked_per_sec = 0.0
    limited = 0
    arrivals = 0


class Noise(NoNoise):
    """Tenant A at its limit, while the block lasts."""

    def __init__(self, bench: Bench, secs: int) -> None:
        self._bench, self._secs = bench, secs
        spawned = multiprocessing.get_context("spawn")
        self._ended = spawned.Event()
        self._sent, sending = spawned.Pipe(duplex=False)
        self._caller = bench.caller("a")
        self._flood = spawned.Process(
            target=flood,
            args=(bench.caller("a"), self._requests(), self._ended, sending),
            daemon=True,
        )

    def _requests(self) -> list[tuple[str, str]]:
        """Run A for a second, and build the requests of the flood: path and body of each."""
        bench = self._bench
        over = bench.start(self._caller, bench.plan("a", 1, 1))
        bench.caller("a").view(over).read()
        wrong = bench.plan("a", NOISE_RATE + 1, 1)
        wrong["tags"] = {}
        large = {"plan": {**wrong, "scenario": "x" * PADDING_BYTES}, "agents": {"want": 2}}
        above = {"plan": wrong, "agents": {"want": 2}}
        note = {"text": "noise"}
        asked = (("/runs", large), ("/runs", above), (f"/runs/{over}/annotations", note))
        return [(path, json.dumps(body)) for path, body in asked]

    def __enter__(self) -> Self:
        bench, target = self._bench, self._bench.targets["a"]
        self._before = target.counts().received
        self._run = bench.start(self._caller, bench.plan("a", NOISE_RATE, self._secs + NOISE_SECS))
        for _ in range(VIEWS):
            self._caller.view(self._run)
        self._flood.start()
        if not target.wait_count(self._before + NOISE_RATE, PATIENCE_SECS):
            raise RuntimeError("the run of A did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.asked_per_sec, self.limited = self._sent.recv()
        self._flood.join()
        self._caller.ask("POST", f"/runs/{self._run}/stop")
        self._caller.close()
        self.arrivals = self._bench.targets["a"].counts().received - self._before


def flood(caller: Caller, requests: list[tuple[str, str]], ended: Event, sent: Connection) -> None:
    """Send requests until the end, each at its time, or at once if it is late.

    Runs in a process of its own, at idle priority for the reason above. Sends back the number of
    requests per second, and how many were above the limit.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    numbers, limited = itertools.count(), itertools.count()
    begun = time.monotonic()

    def send() -> None:
        for number in numbers:
            if ended.wait(max(0.0, begun + number / FLOOD_RATE - time.monotonic())):
                return
            path, body = requests[number % len(requests)]
            status, _ = caller.ask("POST", path, body)
            if status == http.HTTPStatus.TOO_MANY_REQUESTS:
                next(limited)

    threads = [threading.Thread(target=send) for _ in range(FLOODING)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked = next(numbers) - FLOODING
    sent.send((asked / (time.monotonic() - begun), next(limited)))
