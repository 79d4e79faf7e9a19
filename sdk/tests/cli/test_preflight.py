"""Warnings about this machine before a run: what will run out, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from loadpilot.cli.preflight import Machine, repeated_rows, warnings

SMALL = Machine(files=1_024, ports=28_232, has_time_wait=True)


def plan(rps: float = 100, steps: int = 1, **settings: Any) -> dict[str, Any]:
    top = {key: settings.pop(key) for key in ("users", "max_in_flight") if key in settings}
    pieces = [{"duration_us": 1, "from": 0, "to": int(rps * 1_000_000)}]
    return {
        "profile": {"pieces": pieces},
        "tasks": [{"weight": 1, "steps": [{}] * steps}],
        "connections": settings,
        **top,
    }


@pytest.mark.parametrize(
    ("planned", "agents", "warning"),
    [
        (plan(), 1, None),
        (plan(rps=1_000_000), 1, None),
        (plan(users=924), 1, None),
        (plan(users=925), 1, "an agent may need 925 connections, and a process may have 1,024"),
        (plan(users=925), 2, None),
        (plan(users=90_000, http="2"), 1, None),
        (plan(users=90_000, http="2", reuse="never"), 100, "90,000 connections at a time"),
        (plan(max_in_flight=2_000), 1, "an agent may need 2,000 connections"),
        (plan(max_in_flight=2_000, max=10), 1, None),
        (plan(max=10, open_first=5_000), 1, "an agent may need 5,000 connections"),
        (plan(max=900), 32, "28,800 connections at a time, and 28,232 ports"),
        (plan(max=900, sources=["10.0.0.5"]), 32, None),
        (plan(max=90_000, connect_to="unix:/x"), 32, None),
        (plan(rps=470, reuse="never"), 1, None),
        (plan(rps=471, reuse="never"), 1, "up to 471 new connections/s"),
        (plan(rps=471, steps=2, reuse={"share_ppm": 500_000}), 1, "up to 471 new connections/s"),
        (plan(rps=470, steps=2, reuse={"share_ppm": 500_001}), 1, None),
    ],
)
def test_what_runs_out_is_said(planned: dict[str, Any], agents: int, warning: str | None) -> None:
    """Broken if a predictable shortage shows only as errors of the run, or if a sound run gets a
    warning."""
    found = warnings(planned, agents, SMALL)
    if warning is None:
        assert found == []
    else:
        (line,) = found
        assert line.startswith(warning)


def test_a_machine_that_says_nothing_is_not_judged() -> None:
    """Broken if an unknown limit is taken for 0, also one of this machine."""
    unknown = Machine(files=None, ports=None, has_time_wait=True)
    assert warnings(plan(users=1_000_000, reuse="never"), 1, unknown) == []
    resting = Machine(files=None, ports=28_232, has_time_wait=False)
    assert warnings(plan(rps=10_000, reuse="never"), 1, resting) == []
    here = Machine.this("http://127.0.0.1:80")
    assert here.ports is None or here.ports > 0


@pytest.mark.parametrize(
    ("rows", "planned", "said"),
    [
        (100, [600, 499, 9_000], None),
        (100, [600, 500, 0], "each row of feed users is used about 11 times"),
        (3, [0, 0, 9_000], None),
        (1, [140_000, 0, 0], "each row of feed users is used about 140,000 times"),
    ],
)
def test_few_rows_for_many_arrivals_are_said(
    rows: int, planned: list[int], said: str | None
) -> None:
    """Broken if the run may measure a cache of the target without a warning, or if a feed of other
    tasks counts."""
    found = repeated_rows(
        {"code": {"feeds": [{"name": "users", "rows": rows, "tasks": [0, 1]}]}}, planned
    )
    assert len(found) == (said is not None)
    assert all(line.startswith(f"{said}, and") for line in found)
