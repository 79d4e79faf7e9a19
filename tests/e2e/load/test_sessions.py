"""Sessions of a closed loop, measured at the target: users stay as long as the distribution says,
then others take their places."""

from __future__ import annotations

import math
import os
import signal
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from statistics import NormalDist
from threading import Lock, Thread
from typing import TYPE_CHECKING, ClassVar

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.processes import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle, Request

WEIGHTED = SCENARIOS / "weighted.py"
SECOND_US = 1_000_000
USERS = 240
SECS = 14
MEDIAN_US = 1_500_000
P99_US = 4_000_000
SESSION = "lognormal:median=1.5s,p99=4s"
JUDGED_US = 7_000_000
"""Sessions that begin until then are judged: one of 10,000 of the others may outlast the run."""
STALL_US = 1_200_000
"""A busy machine may begin a session later by this time, and skip a shorter one."""
SLACK = 0.02
"""Maximum distance that the tasks at both ends of a session, and the times of requests, add."""


def lognormal(us: float) -> float:
    sigma = math.log(P99_US / MEDIAN_US) / NormalDist().inv_cdf(0.99)
    return NormalDist(math.log(MEDIAN_US), sigma).cdf(math.log(us)) if us > 0 else 0.0


def exponential(us: float) -> float:
    return float(1 - 2 ** (-us / MEDIAN_US))


def distance(lengths: Sequence[int], share_below: Callable[[float], float]) -> float:
    """The largest distance between lengths and a distribution (Kolmogorov, Smirnov)."""
    places = enumerate(sorted(lengths))
    pairs = [(share_below(us), place / len(lengths)) for place, us in places]
    step = 1 / len(lengths)
    return max(max(expected - below, below + step - expected) for expected, below in pairs)


def begins(finished: Finished, requests: Sequence[Request]) -> dict[tuple[int, int], int]:
    """When each session sent its first request, in µs after the start, by place and number."""
    start_at = finished.report["run"]["start_at"]
    found: dict[tuple[int, int], int] = {}
    for request in sorted(requests, key=lambda one: one.arrival_us):
        run, who, _ = (request.id or "").split("/")
        if run == finished.run:
            user, _, _, session = map(int, who.split("."))
            found.setdefault((user, session), request.arrival_us - start_at)
    return found


def certain(found: dict[tuple[int, int], int], secs: int) -> set[tuple[int, int]]:
    """Sessions that any other run of the same seed has, too. A first session may be shorter than
    the first task of its place; any other session may be shorter than a stall."""
    end_us = secs * SECOND_US
    until_us = {key: found.get((key[0], key[1] + 1), end_us) for key in found if key[1] > 0}
    return {key for key, us in until_us.items() if us - found[key] > STALL_US}


def assert_counted(finished: Finished, found: dict[tuple[int, int], int]) -> None:
    """Asserts that the report has as many sessions as the target saw."""
    sessions = finished.report["arrivals"]["sessions"]
    places = {user for user, _ in found}
    assert sessions == {"started": len(found), "ended": len(found) - len(places)}


@pytest.mark.long
def test_sessions_last_as_the_distribution_says_for_any_number_of_agents(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the lengths of sessions have another distribution, if the count of sessions is
    wrong, or if four agents have other sessions than one. 40 s."""
    load = ("--users", str(USERS), "--duration", f"{SECS}s", "--wait", "0.1s,0.3s")
    found = []
    for agents in ("1", "4"):
        before = len(oracle.requests())
        flags = (*load, "--session", SESSION, "--agents", agents, "--seed", "7")
        finished = loadpilot.run(WEIGHTED, oracle.url, *flags)
        assert finished.judged == 0, finished.stderr
        for text in (finished.stderr, finished.stdout):
            assert "sessions of 1.5 s in the median, 4 s at p99 (lognormal)" in text
        requests = oracle.requests()[before:]
        assert finished.report["arrivals"]["started"] == len(requests)
        found.append(begins(finished, requests))
        assert_counted(finished, found[-1])
        assert {user for user, _ in found[-1]} == set(range(USERS))
        # Each new user opens a connection of its own.
        connections = len({request.connection for request in requests})
        assert connections >= len(found[-1]) - USERS
        started = f"in {len(found[-1]):,} sessions, of which {len(found[-1]) - USERS:,} are over"
        assert started in finished.stdout

    alone, together = found
    lengths = [
        alone[user, session + 1] - at_us
        for (user, session), at_us in alone.items()
        if session > 0 and at_us < JUDGED_US and (user, session + 1) in alone
    ]
    limit = 2.7 / math.sqrt(len(lengths)) + SLACK
    assert distance(lengths, lognormal) < limit
    assert distance(lengths, exponential) > limit

    for one, other in ((alone, together), (together, alone)):
        sure = certain(one, SECS)
        assert sure <= other.keys()
        assert len(sure) > len(one) // 4
    both = [key for key in alone.keys() & together.keys() if key[1] > 0]
    near = sum(abs(alone[key] - together[key]) < 50_000 for key in both)
    assert near / len(both) > 0.7

    # The run begins in the middle of sessions: as many begin in the first seconds as later.
    early, late = (
        sum(first <= us < first + 4 * SECOND_US for us in alone.values())
        for first in (SECOND_US, 8 * SECOND_US)
    )
    assert abs(early - late) < 5 * math.sqrt(early + late)


STATE = """
from loadpilot import LoadClient, VUser, feed, rand, scenario, task

@scenario(users=12, duration="6s", wait="50ms", session=("1s", "2s"){how})
class Shop(VUser):
    accounts = feed([{{"n": n}} for n in range(5_000)], cycle=True)

    def on_start(self, client: LoadClient) -> None:
        account = next(self.accounts)
        self.path = f"/of/{{account['n']}}/{{rand.int(0, 999_999)}}"
        client.get(self.path + "/start")

    @task
    def use(self, client: LoadClient) -> None:
        client.get(self.path + "/use", name="use")

    def on_stop(self, client: LoadClient) -> None:
        client.get(self.path + "/stop")
"""
HOW = {"compiled": "", "in Python": ", compile=False"}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_each_session_is_of_a_user_of_its_own(
    loadpilot: Loadpilot, oracle: Oracle, how: str
) -> None:
    """Broken if a new user has rows, values or state of the one before, if its `on_start` does not
    run, or if `on_stop` of the one that leaves does not. 12 s for each."""
    seen: list[set[str]] = []
    for agents in ("1", "4"):
        before = len(oracle.requests())
        scene = STATE.format(how=HOW[how])
        finished = loadpilot.run(scene, oracle.url, "--agents", agents, "--seed", "3")
        assert finished.judged == 0, finished.stderr
        assert ("Python:" in finished.stderr) == (how == "in Python")
        requests = oracle.requests()[before:]
        by_user: dict[str, list[str]] = defaultdict(list)
        for request in sorted(requests, key=lambda one: one.arrival_us):
            _, _, account, value, what = request.path.split("/")
            by_user[f"{account}/{value}"].append(what)
        # A user that was prepared before the start may leave before its first task.
        idle = [user for user, parts in by_user.items() if parts == ["start", "stop"]]
        assert len(idle) <= 3
        for user in idle:
            del by_user[user]
        sessions = finished.report["arrivals"]["sessions"]
        assert sessions["started"] == len(by_user) > 36
        assert sessions["ended"] == sessions["started"] - 12
        for parts in by_user.values():
            assert (parts[0], parts[-1]) == ("start", "stop")
            assert set(parts[1:-1]) == {"use"}
        accounts = {user.partition("/")[0] for user in by_user}
        assert len(accounts) == len(by_user), "two users have the same row"
        uses = sum(parts.count("use") for parts in by_user.values())
        assert finished.report["arrivals"]["started"] == uses
        seen.append(set(by_user))
    # A session that would begin at the end of the run may begin in only one of both.
    assert len(seen[0] ^ seen[1]) <= 3, seen[0] ^ seen[1]


class Cookies(BaseHTTPRequestHandler):
    """A target that gives each client without a cookie one of its own."""

    protocol_version = "HTTP/1.1"
    given: ClassVar[list[int]] = []
    """The connection on which each cookie was issued."""
    came: ClassVar[Counter[str]] = Counter()
    lock: ClassVar[Lock] = Lock()

    def do_GET(self) -> None:
        cookie = self.headers.get("Cookie")
        self.send_response(200)
        with Cookies.lock:
            if cookie is None:
                Cookies.given.append(self.client_address[1])
                self.send_header("Set-Cookie", f"sid=c-{len(Cookies.given)}; Path=/")
            else:
                Cookies.came[cookie] += 1
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


COOKIES = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=5, duration="5s", wait="20ms", session="1s"{how})
class Shop(VUser):
    @task
    def use(self, client: LoadClient) -> None:
        client.get("/", name="use").raise_for_status()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_a_new_user_is_a_stranger_to_the_target(loadpilot: Loadpilot, how: str) -> None:
    """Broken if a new user sends the cookies of the one before, or on its connection. 7 s each."""
    Cookies.given.clear()
    Cookies.came.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Cookies) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        finished = loadpilot.run(COOKIES.format(how=HOW[how]), url)
        server.shutdown()
    assert finished.judged == 0, finished.stderr
    sessions = finished.report["arrivals"]["sessions"]
    assert sessions["started"] == len(Cookies.given) >= 5 * 4
    assert len(set(Cookies.given[5:])) == len(Cookies.given) - 5
    assert set(Cookies.came) <= {f"sid=c-{n + 1}" for n in range(len(Cookies.given))}
    assert (
        sum(Cookies.came.values()) + len(Cookies.given) == (finished.report["arrivals"]["started"])
    )


@pytest.mark.long
def test_a_killed_agent_s_sessions_go_on_elsewhere(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the successor of a killed agent plays other sessions, or if a session of the killed
    agent is not counted. 20 s."""
    load = ("--users", "40", "--duration", f"{SECS}s", "--wait", "50ms")
    flags = (*load, "--session", SESSION)
    with loadpilot.start(WEIGHTED, oracle.url, *flags, "--agents", "2", "--seed", "5") as running:
        assert oracle.wait_count(1_000, 30)
        os.kill(running.parts(Part.AGENT)[0].pid, signal.SIGKILL)
        running.until("restarted agent-")
        finished = running.end()
    verified = loadpilot.call("verify", finished.run)
    assert verified.code == 0, verified.stdout
    requests = oracle.requests()
    killed = begins(finished, requests)
    played = {
        (user, generation, session)
        for user, generation, _, session in (
            map(int, (request.id or "").split("/")[1].split(".")) for request in requests
        )
    }
    generations = {generation for _, generation, _ in played}
    assert len(generations) > 1, "no session was taken over"
    alone = loadpilot.run(WEIGHTED, oracle.url, *flags, "--seed", "5")
    assert alone.judged == 0, alone.stderr
    expected = begins(alone, oracle.requests()[len(requests) :])
    # Only sessions in the gap after the kill are missing, and there are no additional ones.
    assert certain(killed, SECS) <= expected.keys()
    late_us = SECS * SECOND_US - STALL_US
    missing = [key for key in expected.keys() - killed.keys() if expected[key] < late_us]
    assert len(missing) < len(expected) // 3
    for user in range(40):
        of_user = sorted((us, session) for (one, session), us in killed.items() if one == user)
        assert all(a < b for (_, a), (_, b) in pairwise(of_user)), of_user
    # A session that another agent continues is one more at the target. The session in which the
    # agent was killed may or may not have begun.
    started = finished.report["arrivals"]["sessions"]["started"]
    assert len(killed) - 20 <= started <= len(played) + 20


MIX = """
from loadpilot import LoadClient, VUser, lognormal, scenario, task

@scenario(users=30, duration="6s", share=2, wait="50ms", session="1s")
class Visitor(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")

@scenario(share=1, wait="50ms")
class Clerk(VUser):
    @task
    def work(self, client: LoadClient) -> None:
        client.get("/work")
"""


@pytest.mark.slow
def test_each_type_of_a_mix_has_its_sessions(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if users of a type have the sessions of another type, or are counted there. 8 s."""
    finished = loadpilot.run(MIX, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    types = {one["name"]: one for one in finished.report["types"]}
    seen: dict[str, set[str]] = defaultdict(set)
    for request in oracle.requests():
        user, _, _, *session = (request.id or "").split("/")[1].split(".")
        seen[request.route].add(f"{user}/{session}")
    assert len(seen["/work"]) == 10
    assert "sessions" not in types["Clerk"]["arrivals"]
    started = types["Visitor"]["arrivals"]["sessions"]["started"]
    assert started == len(seen["/look"]) >= 20 * 5
    assert finished.report["arrivals"]["sessions"]["started"] == started
    assert "sessions" not in finished.report["tasks"][0]["arrivals"]
    assert "sessions of 1 s" in finished.stderr


REFUSED = {
    (): "session: is for users= without a rate: arrivals on schedule have no sessions",
    ("--session", "1m"): "--session: is for a closed loop: arrivals of a rate have no sessions",
    ("--users", "5", "--session", "10ms"): "--session: must last at least 1 s in the median",
    ("--users", "5", "--session", "lognormal:median=9s,p99=5s"): "must have a p99 above the median",
    ("--users", "5", "--session", "gamma:median=9s"): "must be one of exponential, lognormal",
}


@pytest.mark.parametrize("flags", REFUSED)
def test_sessions_that_cannot_be_start_nothing(
    loadpilot: Loadpilot, oracle: Oracle, flags: tuple[str, ...]
) -> None:
    """Broken if sessions are ignored in a load that has none, or if a run starts in spite of a
    mistake. 1 s each."""
    scene = MIX.partition("@scenario(share=1")[0].replace("users=30, ", "").replace("share=2, ", "")
    scene = scene.replace('wait="50ms", ', "")
    finished = loadpilot.run(scene, oracle.url, *flags, "--duration", "1s")
    assert finished.code == 2, finished.stderr
    assert REFUSED[flags] in finished.stderr
    assert oracle.requests() == []
