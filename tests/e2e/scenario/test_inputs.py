"""The inputs of arrivals, measured at the target: rows of feeds, random values, due times."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

RPS, SECS = 100, 3
PLANNED = RPS * SECS
TAKING = PLANNED * 3 // 5
"""Number of arrivals of the tasks that take rows."""
SCENE = f"""
from loadpilot import LoadClient, VUser, feed, now, rand, scenario, task


@scenario(rps={RPS}, duration="{SECS}s", mode="constant", users=6)
class Shop(VUser):
    users = feed("users.csv", order="shuffled")
    carts = feed([{{"id": n}} for n in range(10)], cycle=True)

    def on_start(self, client: LoadClient) -> None:
        self.name = next(self.users)["name"]
        client.get("/start", params={{"name": self.name, "draw": rand.int(0, 2**63)}})

    @task(weight=2)
    def browse(self, client: LoadClient) -> None:
        row = next(self.users)
        draws = [rand.int(0, 2**63), rand.uuid()]
        client.get("/one", params={{"name": row["name"], "draws": draws}})
        draws.append(rand.text(8))
        again = next(self.users)["name"]
        params = {{"name": again, "draws": draws, "now": now().isoformat()}}
        client.get("/two", params=params)

    @task
    async def pay(self, client: LoadClient) -> None:
        name = next(self.users)["name"]
        await client.get("/three", params={{"name": name, "cart": next(self.carts)["id"]}})

    @task(weight=2)
    def look(self, client: LoadClient) -> None:
        client.get("/look", params={{"of": rand.choice(["a", "b"])}})
"""


def given(
    loadpilot: Loadpilot, oracle: Oracle, rows: int, *flags: str
) -> tuple[Finished, dict[str, list[dict[str, list[str]]]]]:
    """Run the scenario with a number of rows; return the queries by path."""
    names = "".join(f"user{number}\n" for number in range(rows))
    (loadpilot.folder / "users.csv").write_text(f"name\n{names}", encoding="utf-8")
    before = len(oracle.requests())
    finished = loadpilot.run(SCENE, oracle.url, *flags)
    queries: dict[str, list[dict[str, list[str]]]] = {}
    for request in oracle.requests()[before:]:
        query = parse_qs(urlsplit(request.path).query)
        queries.setdefault(request.route, []).append(query)
    return finished, queries


def names(queries: list[dict[str, list[str]]]) -> Counter[str]:
    return Counter(query["name"][0] for query in queries)


@pytest.mark.slow
@pytest.mark.parametrize("agents", ["1", "3"])
def test_all_agents_together_take_each_row_once(
    loadpilot: Loadpilot, oracle: Oracle, agents: str
) -> None:
    """Broken if two arrivals take a row, if none does, or if it changes within an arrival."""
    finished, queries = given(loadpilot, oracle, TAKING, "--agents", agents)
    assert finished.judged == 0, finished.stderr
    one, two, three = (queries[path] for path in ("/one", "/two", "/three"))
    assert names(one) == names(two)
    assert names(one + three) == {f"user{number}": 1 for number in range(TAKING)}
    carts = Counter(query["cart"][0] for query in three)
    assert set(carts.values()) == {PLANNED // 5 // 10}
    assert len(names(queries["/start"])) == 6
    feeds = finished.report["run"]["feeds"]
    assert feeds[0] == {"name": "users", "rows": TAKING, "taken": TAKING, "cycles": False}
    assert "feeder_wrap_around" not in finished.stdout


@pytest.mark.slow
def test_rows_that_are_taken_again_are_reported(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if no message says that rows were used again, so that the load has fewer users than it
    seems."""
    finished, queries = given(loadpilot, oracle, TAKING // 3)
    taken = names(queries["/one"] + queries["/three"])
    assert taken == {f"user{number}": 3 for number in range(TAKING // 3)}
    found = [f for f in finished.report["certificate"]["findings"] if "feeder" in f["kind"]]
    (finding,) = found
    assert finding["grade"] == "DEGRADED"
    evidence = f"users has {TAKING // 3} rows and {TAKING} were taken: they were used again"
    assert finding["evidence"] == evidence


@pytest.mark.slow
@pytest.mark.parametrize("row", ['[f"name{n}"]', '(f"name{n}",)'], ids=["compiled", "Python"])
def test_unique_rows_are_never_taken_twice(loadpilot: Loadpilot, oracle: Oracle, row: str) -> None:
    """Broken if a run starts that needs more rows than there are, if a row is taken twice when the
    rate is raised beyond the rows, or if a task without a row sends a request. 10 s."""
    few, enough = (UNIQUE.replace("ROW", row).replace("COUNT", str(n)) for n in (99, 400))
    refused = loadpilot.run(few, oracle.url)
    assert refused.code == 2
    assert "must be at least 100, as many as the run takes: rows are unique" in refused.stderr
    assert oracle.requests() == []
    flags = ("--rps", "50", "--duration", "8s", "--agents", "2")
    with loadpilot.start(enough, oracle.url, *flags) as running:
        assert oracle.wait_count(50, 30)
        raised = loadpilot.call("rate", "last", "200")
        assert raised.code == 0, raised.stderr
        finished = running.end()
    assert finished.judged == 1
    taken = names([parse_qs(urlsplit(request.path).query) for request in oracle.requests()])
    assert taken == {f"name{number}": 1 for number in range(400)}
    (task,) = finished.report["tasks"]
    without_row = task["arrivals"]["started"] - 400
    assert without_row > 0
    (error,) = task["raised"]
    assert error["text"].startswith("FeedError: all rows of the feed are used, and they are unique")
    assert error["count"] == task["arrivals"]["task_errors"] == without_row


UNIQUE = """
from loadpilot import LoadClient, VUser, feed, scenario, task


@scenario(rps=50, duration="2s", mode="constant")
class Shop(VUser):
    names = feed([ROW for n in range(COUNT)], unique=True, order="shuffled")

    @task
    def take(self, client: LoadClient) -> None:
        client.get("/take", params={"name": next(self.names)[0]}, name="take")
"""


LOOP = """
from loadpilot import LoadClient, VUser, feed, rand, scenario, task


@scenario(users=4, duration="1s", thresholds={"error_rate": 100})
class Shop(VUser):
    names = feed([f"name{n}" for n in range(100_000)])

    @task(weight=3)
    def take(self, client: LoadClient) -> None:
        client.get("/take", params={"name": next(self.names), "draw": rand.uuid()}, name="take")

    @task
    def hide(self, client: LoadClient) -> None:
        client.get("/hide", params={"name": next(getattr(self, "na" + "mes"))})
"""


@pytest.mark.slow
def test_users_of_a_closed_loop_share_rows(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if two users take the same row while there are enough, or if a task takes rows that
    are not counted."""
    finished = loadpilot.run(LOOP, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    queries = [parse_qs(urlsplit(request.path).query) for request in oracle.requests()]
    taken = names(queries)
    assert len(taken) > 100
    assert set(taken.values()) == {1}
    assert len({query["draw"][0] for query in queries}) == len(queries)
    take, hide = finished.report["tasks"]
    assert "raised" not in take
    assert hide["arrivals"]["task_errors"] == hide["arrivals"]["started"] > 10
    error = "FeedError: feed('…'): this task takes a row, which could not be seen in its source"
    assert hide["raised"][0]["text"].startswith(error)


def test_rows_that_differ_on_an_agent_fail_the_run(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if agents take rows of other data than that of the command."""
    scene = LOOP.replace("range(100_000)", "range(__import__('os').getpid())")
    finished = loadpilot.run(scene, oracle.url)
    assert finished.code == 3
    assert oracle.requests() == []
    reason = finished.report["run"]["failure"]["reason"]
    assert "rows must not depend on where they are read" in reason


DRAWING = """
    is_begun = False

    def __init__(self) -> None:
        if Shop.is_begun:
            rand.float()

    def on_start(self, client: LoadClient) -> None:
        Shop.is_begun = True
        client.get("/start")

"""


@pytest.mark.slow
def test_a_user_cannot_draw_before_it_is_one(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a random value in `__init__` is that of the user that ran last."""
    scene = LOOP.replace("    @task\n", f"{DRAWING}    @task\n")
    finished = loadpilot.run(scene, oracle.url)
    assert finished.code == 3
    # `on_start` sets shared state, so that users are prepared before the run.
    assert "only on_start, tasks, checks and on_stop can draw" in finished.stderr


def drawn(queries: dict[str, list[dict[str, Any]]]) -> dict[str, Counter[str]]:
    """The values in the queries, without the time of day."""
    every = {path: [query | {"now": None} for query in found] for path, found in queries.items()}
    return {path: Counter(map(json.dumps, found)) for path, found in every.items()}


@pytest.mark.slow
def test_draws_are_those_of_the_seed_on_whatever_agent(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run cannot be repeated, or if two arrivals draw the same values."""
    first, one = given(loadpilot, oracle, TAKING, "--agents", "1")
    _, other = given(loadpilot, oracle, TAKING, "--agents", "3")
    assert drawn(one) == drawn(other)
    _, seeded = given(loadpilot, oracle, TAKING, "--seed", "7")
    assert drawn(one) != drawn(seeded)
    draws = Counter(draw for query in one["/one"] for draw in query["draws"])
    assert set(draws.values()) == {1}
    assert len(draws) == 2 * PLANNED * 2 // 5
    begun = datetime.fromtimestamp(first.report["run"]["start_at"] / 1e6, UTC)
    dues = sorted(datetime.fromisoformat(query["now"][0]) - begun for query in one["/two"])
    on_time = {timedelta(seconds=n / RPS) for n in range(PLANNED)}
    assert {round_to_ms(due) for due in dues} <= on_time


def round_to_ms(due: timedelta) -> timedelta:
    """Round to milliseconds, since a float loses digits of a timestamp."""
    return timedelta(milliseconds=round(due / timedelta(milliseconds=1)))
