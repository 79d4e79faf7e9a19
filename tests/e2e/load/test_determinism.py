"""The load is a function of plan and seed. The number of agents does not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot
from tests.e2e.support.short_run import rerun_until_punctual

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

VARIED = SCENARIOS / "varied.py"
ARRIVALS = 300

Content: TypeAlias = tuple[str, str, int, str]
"""Method, path with query, length and digest of the body."""


def offered(folder: Path, agents: int, seed: str) -> dict[str, Content]:
    """The requests that the target received, by arrival and step."""

    def run(loadpilot: Loadpilot, oracle: Oracle) -> Finished:
        return loadpilot.run(VARIED, oracle.url, "--agents", str(agents), "--seed", seed)

    with rerun_until_punctual(folder, run) as (_, finished, oracle):
        assert finished.judged == 0, finished.stderr
        assert finished.report["run"]["seed"] == int(seed)
        requests = oracle.requests()
    by_id = {
        (request.id or "").removeprefix(f"{finished.run}/"): (
            request.method,
            request.path,
            request.body_len,
            request.body_fnv1a,
        )
        for request in requests
    }
    assert len(by_id) == len(requests) == finished.report["calls"]["attempted"]
    assert {name.split("/")[0] for name in by_id} == {str(n) for n in range(ARRIVALS)}
    return by_id


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    """The load of one agent."""
    return offered(tmp_path_factory.mktemp("alone") / "run", 1, "7")


@pytest.mark.slow
@pytest.mark.parametrize("agents", [3, 7])
def test_any_number_of_agents_offers_the_same_load(
    tmp_path: Path, alone: dict[str, Content], agents: int
) -> None:
    """Broken if agents draw random numbers of their own: another request would be sent as arrival
    n."""
    assert len(set(alone.values())) == 5
    assert offered(tmp_path / "run", agents, "7") == alone


def test_another_seed_offers_the_same_weights_in_another_order(
    tmp_path: Path, alone: dict[str, Content]
) -> None:
    """Broken if the seed is not used: the order would be the same."""
    other = offered(tmp_path / "run", 3, "8")
    assert other != alone
    whole = ARRIVALS // 7 * 7
    assert sorted(first(other, whole)) == sorted(first(alone, whole))


def first(load: dict[str, Content], arrivals: int) -> list[Content]:
    """The requests of the first arrivals."""
    return [content for name, content in load.items() if int(name.split("/")[0]) < arrivals]
