"""The pods of the chart with an external nats-server, in operator mode and with mutual TLS."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.deploy.catalogue import __file__ as catalogue
from tests.deploy.chart.manifests import RELEASE, Files
from tests.deploy.chart.pod_processes import Pods
from tests.e2e.support.certificates import Identity, identity
from tests.e2e.support.command import Running
from tests.e2e.support.fleet import free_port, nats_server

from loadpilot.local.fleet_server.user_files import write
from loadpilot.local.fleet_server.user_folder import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
"""Helm and kubeconform are built from their sources, once."""

CATALOGUE = Path(catalogue)
TENANT = "local"
ROLES = ("coordinator", "agent", "gateway", "watcher")
SERVER = """
listen: "127.0.0.1:{port}"
include "users/operator.conf"
jetstream {{ store_dir: "{folder}/store", sync_interval: always, max_file: 64G }}
tls {{ cert_file: "{own.cert}", key_file: "{own.key}", ca_file: "{own.authority}", verify: true }}
"""


@contextmanager
def server(folder: Path, own: Identity) -> Iterator[str]:
    """Starts a server whose operator signed an account of the tenant; yields its address."""
    port = free_port()
    url = f"tls://localhost:{port}"
    write(
        Request(
            folder / "users",
            [TENANT],
            url,
            has_accounts=True,
            has_jwts=True,
            max_stored={TENANT: 3 << 30},
        )
    )
    conf = folder / "server.conf"
    conf.write_text(SERVER.format(port=port, folder=folder, own=own), encoding="utf-8")
    with Running([nats_server(), "--config", str(conf)], folder, folder / "no") as started:
        started.until("Server is ready")
        yield url


def test_pods_log_in_by_jwt_and_certificate(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if a part does not present its certificate or its JWT, or if the test pod reports
    so."""
    rps, secs = 50, 2
    own = identity(tmp_path / "tls", "DNS:localhost")
    with server(tmp_path, own) as url:
        users = tmp_path / "users" / TENANT
        secrets: Files = {
            "nats-users": {
                role: (users / role / "user.creds").read_text("utf-8") for role in ROLES
            },
            "nats-tls": {
                "tls.crt": own.cert.read_text("utf-8"),
                "tls.key": own.key.read_text("utf-8"),
            },
            "nats-ca": {"ca.pem": own.authority.read_text("utf-8")},
        }
        external = {
            "url": url,
            "credsSecret": "nats-users",
            "credsKeys": {role: role for role in ROLES},
            "tlsSecret": "nats-tls",
            "caSecret": "nats-ca",
            "connections": 9,
        }
        values: dict[str, Any] = {
            "nats": {"external": external},
            "coordinator": {"replicas": 1},
            "agent": {"replicas": 2},
            "targets": {"networks": ["127.0.0.0/8", "::1/128"]},
            "monitoring": {"enabled": False},
        }
        with Pods(tmp_path, values, secrets) as pods:
            for part in ("coordinator", "agent", "gateway"):
                for number in range(pods.replicas(part)):
                    pods.start(part, number)
            run = pods.gateway().submit(CATALOGUE, oracle.url, rps, secs, 2)
            report = pods.gateway().report(run)
            test = Running(pods.pod(f"{RELEASE}-test-agents").command(), tmp_path, tmp_path / "no")
            with test as asked:
                ended = asked.end()
            assert ended.code == 0, ended.stderr
    assert oracle.counts().received == rps * secs
    assert report["calls"]["outcomes"] == {"ok": rps * secs}
