"""`loadpilot run --listen`: a local stack that agents of other machines join. Another loopback
address stands for the other machine. The printed invitation must be all that it needs."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import socket
import ssl
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.certificates import identity
from tests.e2e.support.command import COMMAND, SCENARIOS, Loadpilot, Running
from tests.e2e.support.fleet import NEAR, free_port
from tests.e2e.support.short_run import PLANNED, SHORT, assert_whole, holders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
PATIENCE_S = 30.0


class Invited:
    """The invitation that a command printed for another machine."""

    def __init__(self, running: Running) -> None:
        self.lines = [running.until("listening for agents of other machines at")]
        while not self.lines[-1].startswith("  NATS_TOKEN="):
            self.lines.append(running.until(""))
        self.text = "".join(self.lines)
        self.token_file = Path(re.findall(r"  token      (.+)", self.text)[0])
        found = re.findall(r"  authority  (.+?)(?:, SHA-256 ([0-9a-f]{64}))?\n", self.text)
        self.authority, self.fingerprint = (Path(found[0][0]), found[0][1]) if found else (None, "")
        self.words = shlex.split(self.lines[-1].strip().partition(" loadpilot ")[2])
        self.url = self.words[self.words.index("--nats-url") + 1]
        self.port = int(self.url.rpartition(":")[2])


@contextmanager
def guest(invited: Invited, folder: Path, environ: pytest.MonkeyPatch) -> Iterator[Running]:
    """Starts an agent as another machine does: with the files, by the printed command."""
    folder.mkdir()
    (folder / "token").write_bytes(invited.token_file.read_bytes())
    if invited.authority is not None:
        (folder / invited.authority.name).write_bytes(invited.authority.read_bytes())
    with environ.context() as there:
        there.setenv("NATS_TOKEN", (folder / "token").read_text(encoding="utf-8"))
        there.setenv("AGENT_ALLOW_TARGET", NEAR)
        words = [*invited.words, "--id", "guest", "--cores", "1"]
        with Running([str(COMMAND), *words], folder, folder / "none.json") as agent:
            yield agent


@pytest.mark.slow
def test_a_guest_takes_its_share(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the printed command does not work as it is, or if the guest's work is not
    counted."""
    place = f"127.0.0.2:{free_port()}"
    flags = (*SHORT, "-v", "--listen", place, "--external-agents", "1")
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        invited = Invited(running)
        running.until("waiting for agents: 1 of 2 ready")
        assert oracle.counts().received == 0
        with guest(invited, tmp_path / "there", monkeypatch) as agent:
            finished = running.end()
            assert_whole(finished, PLANNED)
            assert holders(finished) == {"agent-1", "guest"}
            agent.kill()
    assert invited.url == f"tls://{place}"
    assert oracle.counts().received == PLANNED
    token = invited.token_file.read_text(encoding="utf-8")
    assert len(token) == 64
    assert token not in finished.stderr + finished.stdout
    assert invited.token_file.stat().st_mode & 0o777 == 0o600

    again = loadpilot.start(WEIGHTED, oracle.url, *SHORT, "--listen", place)
    with again as running:
        second = Invited(running)
        assert_whole(running.end(), PLANNED)
    assert second.text == invited.text, (
        "the certificate changed: a guest would need new files for each run"
    )
    report = loadpilot.call("report", finished.run, "-v")
    assert report.stdout == finished.stdout


@pytest.mark.slow
def test_who_has_not_both_is_kept_out(
    loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the stack accepts connections without its token or without TLS."""
    place = f"127.0.0.2:{free_port()}"
    flags = ("--rps", "20", "--duration", "60s", "--listen", place)
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        invited = Invited(running)
        assert invited.authority is not None
        assert oracle.wait_count(20, PATIENCE_S)
        assert_closed_to_the_uninvited(invited)
        stranger = loadpilot.call("runs", "--nats-url", invited.url)
        assert stranger.code == 4
        assert "cannot connect to NATS" in stranger.stderr
        known = ("--nats-url", invited.url, "--nats-cacert", str(invited.authority))
        anonymous = loadpilot.call("runs", *known)
        assert anonymous.code == 4
        assert "requires credentials" in anonymous.stderr
        wrong = loadpilot.call("agent", *known, "--nats-token", "wr0ng")
        assert wrong.code == 4
        plain = invited.url.replace("tls://", "nats://")
        unlocked = loadpilot.call("runs", "--nats-url", plain)
        assert unlocked.code == 4
        with monkeypatch.context() as there:
            there.setenv("NATS_TOKEN", invited.token_file.read_text(encoding="utf-8"))
            listed = loadpilot.call("runs", *known)
        assert (listed.code, len(listed.stdout.splitlines())) == (0, 2)
        readers = loadpilot.call("runs")
        assert readers.code == 0, "the owner of the folder cannot read it"


def assert_closed_to_the_uninvited(invited: Invited) -> None:
    """Asserts that the port requires TLS first, and presents the certificate whose fingerprint was
    printed."""
    host = invited.url.removeprefix("tls://").rpartition(":")[0]
    with socket.create_connection((host, invited.port), PATIENCE_S) as raw:
        assert b'"tls_required":true' in raw.recv(4096)
        raw.sendall(b'CONNECT {"verbose":true}\r\nPING\r\n')
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
        assert b"PONG" not in answer
    context = ssl.create_default_context(cafile=invited.authority)
    with socket.create_connection((host, invited.port), PATIENCE_S) as raw:
        raw.recv(4096)
        with context.wrap_socket(raw, server_hostname=host) as locked:
            locked.sendall(b'CONNECT {"verbose":true}\r\nPING\r\n')
            assert b"Authorization Violation" in b"".join(iter(lambda: locked.recv(4096), b""))
    pem = Path(str(invited.authority)).read_text(encoding="utf-8")
    assert hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest() == invited.fingerprint
    own = [one for one in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in one]
    listening = {int(one.split()[1].partition(":")[2], 16): one.split()[1] for one in own}
    assert listening[invited.port].startswith("0200007F"), (
        "the server does not listen at the address of the flag only"
    )


@pytest.mark.slow
def test_a_certificate_of_ones_own(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the stack cannot use a certificate of a company's own authority."""
    own = identity(tmp_path / "own", "IP:127.0.0.3")
    place = f"127.0.0.3:{free_port()}"
    flags = (
        *(*SHORT, "-v", "--listen", place, "--agents", "0", "--external-agents", "1"),
        *("--listen-cert", os.path.relpath(own.cert, loadpilot.folder)),
        *("--listen-key", str(own.key), "--listen-cacert", str(own.authority)),
    )
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        invited = Invited(running)
        assert (invited.authority, invited.fingerprint) == (own.authority, "")
        with guest(invited, tmp_path / "there", monkeypatch) as agent:
            finished = running.end()
            agent.kill()
    assert_whole(finished, PLANNED)
    assert holders(finished) == {"guest"}


def test_what_cannot_be_opened_is_named(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a stack listens at another address than requested, or silently at none."""
    with socket.create_server(("127.0.0.2", 0)) as taken:
        place = f"127.0.0.2:{taken.getsockname()[1]}"
        ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--listen", place)
    assert ended.code == 4
    assert f"cannot listen at {place}" in ended.stderr
    own = identity(tmp_path / "own", "DNS:lab")
    flags = ("--listen-cert", str(own.cert), "--listen-key", str(own.key))
    ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--listen", "0.0.0.0:0", *flags)
    assert ended.code == 4
    assert "must name the host of --listen-cert instead of 0.0.0.0" in ended.stderr
    ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--listen", "4222")
    assert ended.code == 2
    assert "--listen: must be HOST:PORT of this machine, such as 0.0.0.0:4222" in ended.stderr
    assert oracle.counts().received == 0
