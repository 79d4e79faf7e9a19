"""Several tenants, each with its own log: readiness and metrics cover all of them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import MANY_REQUESTS, Gateway, Gateways, plan
from tests.e2e.support.fleet import Fleet

from loadpilot.local.keys.key import Role, new_key
from loadpilot.local.keys.key_file import create_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

TOKEN = "0123456789abcdef"  # noqa: S105
HOME, BANK = "shop", "bank"
SAMPLE = re.compile(r"^(loadpilot_\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
DOWN_S = 30.0
"""Longest wait until a gateway has noticed that a server is gone or back."""


@pytest.fixture
def bank(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """The fleet of another tenant, with a server and a token of its own."""
    fleet.coordinator("--tenant", HOME)
    fleet.agent("a-shop", "--tenant", HOME)
    (tmp_path / "other").mkdir()
    with Fleet(tmp_path / "other", monkeypatch) as bank:
        bank.coordinator("--tenant", BANK)
        yield bank


def private_file(file: Path, text: str) -> Path:
    """A file that only its owner may read."""
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return file


def readiness(gateway: Gateway, wanted: int) -> str:
    """Sends requests until the gateway answers with this status, and returns the answer."""
    give_up = time.monotonic() + DOWN_S
    while (answer := gateway.ask("GET", "/readyz")).status != wanted:
        assert time.monotonic() < give_up, answer
    return answer.body.decode()


def samples(gateway: Gateway, token: str) -> dict[tuple[str, str | None], list[str]]:
    """Values of /metrics by name and the label `tenant`."""
    answer = gateway.ask("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 200, answer.body
    found: dict[tuple[str, str | None], list[str]] = {}
    for name, labels, value in SAMPLE.findall(answer.body.decode()):
        tenant = re.search(r'(?:^|,)tenant="([^"]*)"', labels)
        found.setdefault((name, tenant[1] if tenant else None), []).append(value)
    return found


@pytest.mark.slow
def test_readiness_and_metrics_are_of_all_tenants(
    fleet: Fleet,
    bank: Fleet,
    gateways: Gateways,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
) -> None:
    """Broken if a gateway is ready without one tenant's log, hides the runs of one tenant from a
    Prometheus, or shows a tenant, or any caller of /readyz, anything about another one. Costs 12 s.
    """
    (key, text), (theirs, their_text) = (
        new_key(tenant, tenant, Role.RUNNER, int(time.time()), None) for tenant in (HOME, BANK)
    )
    create_file(tmp_path / "keys.json", [key, theirs])
    tenants = tmp_path / "tenants.toml"
    links = {HOME: fleet, BANK: bank}
    tables = [
        f'[tenants.{name}]\nnats_url = "{one.url}"\n'
        f'token_file = "{private_file(tmp_path / name, one.token)}"\n'
        for name, one in links.items()
    ]
    tenants.write_text("".join(tables), encoding="utf-8")
    gateway = gateways.start(
        KEYS_FILE=str(tmp_path / "keys.json"),
        TENANTS_FILE=str(tenants),
        METRICS_TOKEN_FILE=str(private_file(tmp_path / "metrics-token", TOKEN)),
        **MANY_REQUESTS,
    )
    assert readiness(gateway, 200) == "ready\n"
    authorized = {"Authorization": f"Bearer {text}"}
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 20, 1)}, authorized).json["run"]
    with gateway.live(run, authorized) as live:
        assert list(live.events())[-1].kind == "sealed"

    of_all = samples(gateway, TOKEN)
    for tenant, exported in ((HOME, "1"), (BANK, "0")):
        assert of_all["loadpilot_gateway_nats_up", tenant] == ["1"]
        assert of_all["loadpilot_gateway_log_read", tenant] == ["1"]
        assert of_all["loadpilot_exporter_runs", tenant] == [exported]
    assert of_all["loadpilot_runs", HOME] == ["1"]
    calls = [int(count) for count in of_all["loadpilot_calls_total", HOME]]
    assert sum(calls) == oracle.counts().received == 20
    assert ("loadpilot_calls_total", BANK) not in of_all
    own, other = samples(gateway, text), samples(gateway, their_text)
    assert {tenant for _, tenant in own} == {HOME, None}
    assert {tenant for _, tenant in other} == {BANK, None}
    assert not any(name.startswith("loadpilot_calls") for name, _ in other)

    bank.server.kill()
    bank.server.end()
    problem = readiness(gateway, 503)
    assert "1 of 2 tenants" in problem
    assert BANK not in problem
    assert str(bank.port) not in problem
    (process,) = gateways.processes
    assert f"not ready: tenant {BANK}: " in process.until("not ready")
    # A scrape shows the last reading, and the log is read at an interval.
    give_up = time.monotonic() + DOWN_S
    while (without := samples(gateway, TOKEN))["loadpilot_gateway_nats_up", BANK] != ["0"]:
        assert time.monotonic() < give_up
    assert without["loadpilot_gateway_nats_up", HOME] == ["1"]
    assert [int(n) for n in without["loadpilot_calls_total", HOME]] == calls
    # The other tenant still works.
    assert gateway.api(f"/runs/{run}", authorized).status == 200
    bank.start_server()
    assert readiness(gateway, 200) == "ready\n"
    give_up = time.monotonic() + DOWN_S
    while samples(gateway, TOKEN)["loadpilot_gateway_nats_up", BANK] != ["1"]:
        assert time.monotonic() < give_up
