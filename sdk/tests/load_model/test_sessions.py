"""Sessions, think times and routes of a log, compared with other ways to compute them."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import pairwise
from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadpilot.scenario_file.load_model.routes import CHILDREN_MAX, PATHS_MAX, Routes
from loadpilot.scenario_file.load_model.sessions import P99, Sessions, Times, fit

IDLE_S = 60


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2_000)), min_size=1))
def test_sessions_are_those_of_a_sorted_list(requests: list[tuple[str, int]]) -> None:
    """Broken if a session is lost, or if the gap between sessions counts as a think time."""
    requests.sort(key=lambda one: one[1])
    found = Sessions(IDLE_S)
    for client, second in requests:
        found.add(client, second)
    found.end()
    gaps: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    count = 0
    for client in "abc":
        times = [second for of, second in requests if of == client]
        begins = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(times)) if b - a > IDLE_S)]
        for begin, end in pairwise([*begins, len(times)]):
            if session := times[begin:end]:
                count += 1
                gaps.update(b - a for a, b in pairwise(session))
                lengths.update([session[-1] - session[0]])
    del lengths[0]
    assert (found.count, found.gaps.counts, found.lengths.counts) == (count, gaps, lengths)


@pytest.mark.parametrize("name", ["lognormal", "exponential"])
def test_a_fit_has_the_parameters_of_what_was_drawn(name: str) -> None:
    """Broken if think times are fitted by another distribution, or by other parameters. 1 s."""
    random, times = Random(3), Times()  # noqa: S311
    at = 0.0
    for _ in range(50_000):
        if name == "lognormal":
            gap = random.lognormvariate(log(8), log(45 / 8) / P99)
        else:
            gap = random.expovariate(log(2) / 8)
        times.counts[int(at + gap) - int(at)] += 1
        at += gap
    found = fit(times)
    assert found.name == name
    assert found.distance < 0.05
    assert abs(found.median_s - 8) <= 0.5
    mean = at / times.total
    assert abs(found.mean_s - mean) / mean < 0.1


@pytest.mark.slow
def test_routes_are_bounded() -> None:
    """Broken if a log with any number of paths fills the memory, or loses requests. 2 s."""
    routes = Routes(Random(1))  # noqa: S311
    tracemalloc.start()
    for number in range(10_000):
        routes.add("GET", f"/items/{number}")
        routes.add("GET", f"/posts/post-{number}/{number % 70}-x")
        routes.add("GET", "/a" * (number % 40))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 4_000_000
    found = {path: route for _, path, route in routes.all()}
    assert found["/items/{id}"].count == found["/posts/{text}/{text}"].count == 10_000
    assert sum(route.count for route in found.values()) == 30_000
    assert all(len(route.paths) <= PATHS_MAX for route in found.values())
    assert len(found) < CHILDREN_MAX


def test_the_sample_keeps_what_is_frequent() -> None:
    """Broken if a path in half of all requests is a hundredth of the sample."""
    routes = Routes(Random(1))  # noqa: S311
    for number in range(20_000):
        routes.add("GET", f"/items/{7 if number % 2 else number}")
    [(_, _, route)] = routes.all()
    assert 30 <= route.paths.count("/items/7") <= 70


def test_secrets_of_a_query_are_left_out() -> None:
    """Broken if a model contains a token of a log."""
    routes = Routes(Random(1))  # noqa: S311
    routes.add("GET", "/a?q=1&access_token=t-1&page=2")
    routes.add("GET", "/a?token=t-1")
    [(_, _, route)] = routes.all()
    assert route.paths == ["/a?q=1&page=2", "/a"]
