"""Users that are issued, renewed and revoked from the keys of a server in operator mode.

The server reads its configuration once, and again only after a revocation.
"""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import time
from typing import TYPE_CHECKING

import pytest
from tests.deploy.roles.tenant_server import TenantServer, is_refused
from tests.e2e.cloud.operator_keys import Key, signed_again
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.fleet import NEAR
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Running

SCENE = SCENARIOS / "weighted.py"
RPS = 50
USAGE = 2
EXPIRED = "User Authentication Expired"
REVOKED = "User Authentication Revoked"
HOME = ("--tenant", "fleet")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TenantServer]:
    """A server in operator mode that two tenants share."""
    monkeypatch.setenv("AGENT_ALLOW_TARGET", NEAR)
    tables = "".join(f"[tenants.{one}]\n" for one in ("a", "b", "c"))
    (tmp_path / "tenants.toml").write_text(tables, encoding="utf-8")
    with TenantServer(tmp_path, passwords=False, jwts=True) as server:
        yield server


@pytest.fixture
def loadpilot(tmp_path: Path) -> Loadpilot:
    """The command."""
    return Loadpilot(tmp_path / "work")


def coordinator(server: TenantServer) -> Running:
    """Start the coordinator of all tenants."""
    tenants = ("--tenants", str(server.folder / "tenants.toml"))
    return server.member("deciding from now on", "fleet", "coordinator", *HOME, *tenants)


def user(server: TenantServer, loadpilot: Loadpilot, *flags: object) -> str:
    """Issue or renew a user; returns its public key."""
    argv = ("admin", "nats-user", "--keys", server.users, *flags)
    answer = loadpilot.call(*map(str, argv))
    assert answer.code == 0, answer.stderr
    return str(answer.stdout).strip()


def revoke(server: TenantServer, loadpilot: Loadpilot, *flags: object) -> None:
    """Revoke a user, and reload the server's configuration."""
    answer = loadpilot.call(*map(str, ("admin", "nats-revoke", "--keys", server.users, *flags)))
    assert answer.code == 0, answer.stderr
    server.reload()


def claims(text: str) -> dict[str, object]:
    """The claims of the JWT in a credentials file."""
    part = text.split(".")[1]
    found: dict[str, object] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


@pytest.mark.slow
def test_a_user_of_a_new_tenant_needs_no_server(
    server: TenantServer, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if an issued user cannot read, if a revoked one still can, or if a renewal restores
    it."""
    coordinator(server)
    creds = tmp_path / "c.creds"
    public = user(
        server, loadpilot, "--role", "watcher", "--tenant", "c", "--name", "anna", "--out", creds
    )
    assert stat.S_IMODE(creds.stat().st_mode) == 0o600
    assert claims(creds.read_text("utf-8"))["name"] == "anna"
    flags = ("--nats-url", server.url, "--creds", str(creds), "--tenant")
    assert loadpilot.call("runs", *flags, "c").code == 0
    assert loadpilot.call("runs", *flags, "a").code != 0
    before = creds.read_text("utf-8")
    assert user(server, loadpilot, "--renew", creds, "--expires", "1h") == public
    assert creds.read_text("utf-8") != before
    assert loadpilot.call("runs", *flags, "c").code == 0
    revoke(server, loadpilot, "--user", public)
    refused = loadpilot.call("runs", *flags, "c")
    assert refused.code != 0
    assert "does not accept these credentials" in refused.stderr
    argv = ("admin", "nats-user", "--keys", str(server.users), "--renew", str(creds))
    renewed = loadpilot.call(*argv)
    assert renewed.code == USAGE
    assert "must be of a user that is not revoked" in renewed.stderr
    # Another user of the same account can still read.
    other = ("--nats-url", server.url, "--creds", server.creds("a", "watcher"))
    assert loadpilot.call("runs", *other, "--tenant", "a").code == 0


@pytest.mark.slow
def test_a_forged_jwt_is_neither_accepted_nor_renewed(
    server: TenantServer, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a tenant becomes another tenant by editing its file."""
    creds = tmp_path / "a.creds"
    user(server, loadpilot, "--role", "submitter", "--tenant", "a", "--out", creds)
    text = creds.read_text("utf-8")
    own = Key.of("user", next(one for one in text.splitlines() if one.startswith("SU")))
    jwt = next(one for one in text.splitlines() if one.startswith("ey"))
    forged = signed_again(jwt, own, "tenant:a", "tenant:b")
    creds.write_text(text.replace(jwt, forged), "utf-8")
    flags = ("--nats-url", server.url, "--creds", str(creds), "--tenant", "b")
    assert loadpilot.call("runs", *flags).code != 0
    argv = ("admin", "nats-user", "--keys", str(server.users), "--renew", str(creds))
    refused = loadpilot.call(*argv)
    assert refused.code == USAGE
    assert "must hold a JWT that is signed" in refused.stderr
    assert forged in creds.read_text("utf-8")


@pytest.mark.slow
def test_jwts_that_expire_mid_run_cost_no_arrival(
    server: TenantServer, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a renewed file is not read, or an arrival is lost meanwhile."""
    members = [server.creds("fleet", one) for one in ("coordinator", "agent")]
    submitter = server.creds("a", "submitter")
    secs, planned = 15, RPS * 15
    ends = time.monotonic() + 15
    for creds in (*members, submitter):
        user(server, loadpilot, "--renew", creds, "--expires", f"{ends - time.monotonic():.1f}s")
    deciding = coordinator(server)
    agents = [
        server.member("coordinator found=true", "fleet", "agent", *HOME, "--id", one)
        for one in ("a-1", "a-2")
    ]
    flags = ("--nats-url", server.url, "--creds", submitter, "--tenant", "a")
    load = ("--rps", str(RPS), "--duration", f"{secs}s", "--external-agents", "2")
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        with loadpilot.start(SCENE, oracle.url, *load, *flags) as running:
            assert oracle.wait_count(1, 30)
            for creds in (*members, submitter):
                user(server, loadpilot, "--renew", creds)
            for one in (deciding, *agents):
                one.until(EXPIRED)
            assert oracle.counts().received < planned, "the JWT expired only after the run"
            finished = running.end()
        assert finished.judged == 0, finished.stderr
        sent = all_but_late(finished.report, RPS, secs)
        assert oracle.counts().received == sent
    assert finished.report["calls"]["outcomes"] == {"ok": sent}


@pytest.mark.long
def test_a_revoked_agent_is_cut_mid_run(
    server: TenantServer, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a revoked key keeps its connection, or if other users of its role lose theirs."""
    coordinator(server)
    stolen = tmp_path / "stolen.creds"
    user(server, loadpilot, "--role", "agent", *HOME, "--name", "a-2", "--out", stolen)
    first = server.member("coordinator found=true", "fleet", "agent", *HOME, "--id", "a-1")
    second = server.agent("a-2", stolen)
    submitter = server.creds("a", "submitter")
    flags = ("--nats-url", server.url, "--creds", submitter, "--tenant", "a")
    load = ("--rps", str(RPS), "--duration", "20s", "--external-agents", "2")
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        with loadpilot.start(SCENE, oracle.url, *load, *flags) as running:
            assert oracle.wait_count(RPS, 30)
            revoke(server, loadpilot, "--creds", stolen)
            second.until(REVOKED)
            finished = running.end()
        received = oracle.counts().received
    assert REVOKED not in first.output
    assert finished.report["calls"]["outcomes"].get("ok", 0) <= received, (
        "the revoked agent reported calls"
    )
    assert finished.judged != 0, "a run without the calls of the lost agent passes"
    operator = server.creds("fleet", "operator")
    agents = loadpilot.call("agents", "--nats-url", server.url, "--creds", operator, *HOME)
    assert "a-1" in agents.stdout
    assert "a-2" not in agents.stdout


def test_a_user_without_its_tenant_may_nothing(server: TenantServer) -> None:
    """Broken if the template of a signing key gives a user without a tenant tag the subjects of all
    tenants."""
    seed = (server.users / "signing" / "fleet" / "submitter.nk").read_text("utf-8")
    signer = Key.of("account", seed.strip())
    file = server.users / "a" / "submitter" / "user.creds"
    text = file.read_text("utf-8")
    jwt = next(one for one in text.splitlines() if one.startswith("ey"))
    file.write_text(text.replace(jwt, signed_again(jwt, signer, "tenant:a", "team:a")), "utf-8")
    assert asyncio.run(_allowed(server)) == []


async def _allowed(server: TenantServer) -> list[str]:
    refusals: list[str] = []
    connection = await server.connect("a", "submitter", refusals)
    tried = [f"lp.{one}.run.01forged.req" for one in ("a", "b", "{{tag(tenant)}}", "*", "fleet")]
    found = [one for one in tried if not await is_refused(connection, refusals, "publish", one)]
    await connection.close()
    return found
