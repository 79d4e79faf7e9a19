"""A server that requires a client certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.deploy.local_processes import PROGRAMS
from tests.e2e.cloud.cloud_server import HostedFleet, account, user
from tests.e2e.support.certificates import identity
from tests.e2e.support.command import SCENARIOS, Running
from tests.e2e.support.http_calls import Caller

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = SCENARIOS / "weighted.py"
LOAD = ("--rps", "50", "--duration", "2s", "--external-agents", "1")


@pytest.mark.slow
def test_every_program_presents_its_certificate(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a program cannot present a certificate, or an absent one is not explained.

    Coordinator and agent read it from the environment, the command from its flags and from
    loadpilot.toml, the gateway from its own variables."""
    own = identity(tmp_path / "tls", "IP:127.0.0.1")
    fleet = HostedFleet(tmp_path, monkeypatch, account(user("made-up")), identity=own)
    token = tmp_path / "token"
    token.write_text("fleet:made-up\n", encoding="utf-8")
    token.chmod(0o600)
    with fleet:
        with monkeypatch.context() as here:
            for name, file in {
                "NATS_CACERT": own.authority,
                "NATS_CERT": own.cert,
                "NATS_KEY": own.key,
                "NATS_TOKEN_FILE": token,
            }.items():
                here.setenv(name, str(file))
            fleet.coordinator()
            fleet.agent("a-1")
        trust = ("--nats-cacert", str(own.authority), "--nats-token-file", str(token))
        pair = ("--nats-cert", str(own.cert), "--nats-key", str(own.key))
        finished = fleet.run(loadpilot, SCENE, oracle.url, *LOAD, *trust, *pair)
        assert finished.judged == 0, finished.stderr
        assert oracle.counts().received == 100

        lacking = fleet.run(loadpilot, SCENE, oracle.url, *LOAD, *trust)
        assert lacking.code == 4, lacking.stderr
        assert "--nats-cert" in lacking.stderr
        assert oracle.counts().received == 100

        (loadpilot.folder / "loadpilot.toml").write_text(
            f'nats_url = "{fleet.url}"\nnats_cacert = "{own.authority}"\n'
            f'nats_cert = "{own.cert}"\nnats_key = "{own.key}"\nnats_token_file = "{token}"\n',
            encoding="utf-8",
        )
        listed = loadpilot.call("runs")
        assert finished.run in listed.stdout, listed.stderr

        for name, value in {
            "NATS_URL": fleet.url,
            "NATS_CACERT": own.authority,
            "NATS_CERT": own.cert,
            "NATS_KEY": own.key,
            "NATS_TOKEN_FILE": token,
            "PORT": "0",
        }.items():
            monkeypatch.setenv(f"LOADPILOT_GATEWAY_{name}", str(value))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        with Running([str(PROGRAMS["loadpilot-gateway"])], tmp_path, tmp_path / "no") as gateway:
            port = int(gateway.until("listening on").split(":")[2].split(",")[0])
            answer = Caller(port).ask("GET", "/api/v1/runs")
            assert [one["run"] for one in answer.json["runs"]] == [finished.run]
