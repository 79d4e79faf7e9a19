"""The API answers any request as its OpenAPI document says."""

from __future__ import annotations

import json
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks
from services.gateway.tests.gateways import MANY_REQUESTS, Gateways, plan

from loadpilot.local.keys.key import Role, new_key
from loadpilot.local.keys.key_file import create_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy
    from schemathesis import Case
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

OPENAPI = Path(__file__).parents[1] / "openapi.json"
HELD = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
EXAMPLES = 12
RAW = ("/api/v1/runs", "/api/v1/plans/check")
"""Paths whose bodies the native module reads."""
OPEN = ("/healthz", "/readyz", "/api/v1/session")
"""Paths without authentication."""
ANSWER_S = 60.0
"""A hang fails instead of blocking."""


@pytest.mark.slow
def test_the_description_is_fresh(fleet: Fleet, gateways: Gateways) -> None:
    """Broken if the committed OpenAPI document is outdated."""
    fleet.coordinator()
    described = gateways.start().api("/openapi.json").json
    assert described == json.loads(OPENAPI.read_text(encoding="utf-8"))


def test_each_operation_names_its_answers_and_credentials() -> None:
    """Broken if a generated client gets an undescribed answer, or sends no key."""
    document = json.loads(OPENAPI.read_text(encoding="utf-8"))
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            needed = {"403", "429"}
            if any(one["name"] == "If-None-Match" for one in operation.get("parameters", [])):
                needed.add("304")
            if "requestBody" in operation:
                needed |= {"408", "413"}
                needed.add("415" if path in RAW and method == "post" else "400")
            assert operation["responses"].keys() >= needed, (method, path)
            assert ({"bearer": []} in operation["security"]) == (path not in OPEN), path


@pytest.mark.slow
def test_the_api_holds_what_it_describes(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an answer has an undocumented status, type or form."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start(**MANY_REQUESTS)
    base = f"http://127.0.0.1:{gateway.port}"
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 20, 1)}).json["run"]
    gateway.see_end(run)
    load_all_checks()
    held = [CHECKS.get_one(name) for name in HELD]
    schema = schemathesis.openapi.from_path(OPENAPI)
    calls: Counter[str] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        run_all(operation.as_strategy(), partial(holds, base, run, held, calls))
    assert len(calls) > 12
    assert oracle.counts().received == 20


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_a_key_of_any_role_gets_what_is_described(
    fleet: Fleet, gateways: Gateways, tmp_path: Path, role: Role
) -> None:
    """Broken if the answer to a caller with a role, or its refusal, has an undocumented form."""
    fleet.coordinator()
    key, text = new_key("a-key", "local", role, int(time.time()), None)
    create_file(tmp_path / "keys.json", [key])
    gateway = gateways.start(KEYS_FILE=str(tmp_path / "keys.json"), **MANY_REQUESTS)
    base, shown = f"http://127.0.0.1:{gateway.port}", {"Authorization": f"Bearer {text}"}
    load_all_checks()
    held = [CHECKS.get_one(name) for name in HELD]
    calls: Counter[str] = Counter()

    def held_by(case: Case) -> None:
        calls[case.operation.label] += 1
        case.call_and_validate(base_url=base, checks=held, timeout=ANSWER_S, headers=shown)

    for found in schemathesis.openapi.from_path(OPENAPI).get_all_operations():
        run_all(found.ok().as_strategy(), held_by)
    assert len(calls) > 12
    assert text.encode() not in gateways.processes[0].output.encode()


def run_all(cases: SearchStrategy[Case], hold: Callable[[Case], None]) -> None:
    """Draws the same cases each time."""
    settled = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def held(case: Case) -> None:
        hold(case)

    settled(given(case=cases)(held))()


def holds(base: str, run: str, held: list[Any], calls: Counter[str], case: Case) -> None:
    """Every other request about a run is about an existing one."""
    calls[case.operation.label] += 1
    if calls[case.operation.label] % 2 and "run" in (case.path_parameters or {}):
        case.path_parameters["run"] = run
    case.call_and_validate(base_url=base, checks=held, timeout=ANSWER_S)
