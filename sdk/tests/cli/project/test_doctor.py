"""Checks of the machine and of a fleet: which problems they find, and that they never hang."""

from __future__ import annotations

import json
import socket
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from loadpilot import _native
from loadpilot.cli import main
from loadpilot.cli.commands.project import doctor
from loadpilot.cli.doctor import fleet, installation, limits
from loadpilot.cli.doctor.finding import State, ok, problem, warning
from loadpilot.control.nats_settings import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1 << 20


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"nats://bob:hunter2@127.0.0.1:{listener.getsockname()[1]}"


def test_a_silent_server_is_given_up(silent_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if the doctor hangs where a run would, or shows a password."""
    monkeypatch.setattr(fleet, "ANSWER_SECS", 0.2)
    began = monotonic()
    found = list(fleet.fleet(Server(silent_server, "s3cret", None, "shop")))
    assert monotonic() - began < 5
    assert [one.state for one in found] == [State.OK, State.PROBLEM]
    assert "no answer within" in found[1].what
    assert "hunter2" not in str(found)
    assert "s3cret" not in str(found)


def test_a_dead_address_is_named_and_nothing_after_it_is_tried() -> None:
    """Broken if a refused connection is reported as wrong credentials."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (found,) = fleet.fleet(Server(f"nats://127.0.0.1:{port}", None, None, "shop"))
    assert (found.check, found.state) == ("fleet address", State.PROBLEM)
    assert found.what == f"127.0.0.1:{port}: Connection refused"


@pytest.mark.parametrize(
    ("free", "state"), [(99, State.PROBLEM), (101, State.WARNING), (3000, State.OK)]
)
def test_a_disk_is_judged_by_what_a_log_needs(
    free: int, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a disk passes on which no run can start."""
    usage = type("Usage", (), {"free": free * MIB})
    monkeypatch.setattr(limits.shutil, "disk_usage", lambda _: usage)
    assert limits._disk(tmp_path).state is state


@pytest.mark.parametrize(
    ("most", "used", "wanted"),
    [("max", "5", 2048), ("1073741824", "536870912", 512), ("9999999999999", "0", 2048)],
)
def test_the_memory_of_a_container_counts(
    most: str, used: str, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a container's limit is overlooked, or if an absent limit is read as one."""
    texts = {"meminfo": "MemTotal: 9 kB\nMemAvailable: 2097152 kB\n", "max": most, "now": used}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    monkeypatch.setattr(limits, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(limits, "CGROUP_MEMORY", (tmp_path / "max", tmp_path / "now"))
    assert limits.free_memory() == wanted * MIB


def test_versions_and_servers_that_do_not_match_are_problems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Broken if half an upgrade passes, or a server of a version that no stack may run."""
    monkeypatch.setattr(_native, "VERSION", "9.9.9")
    first, *_ = installation.versions()
    assert first.state is State.PROBLEM
    assert "the native module is 9.9.9" in first.what
    monkeypatch.setenv("LOADPILOT_NATS_SERVER", str(tmp_path / "none"))
    found = installation.nats_server()
    assert found.state is State.PROBLEM
    assert f"{tmp_path / 'none'} is not an executable file" in found.what


def test_certificates_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Broken if a machine without trusted certificates passes."""
    file = tmp_path / "roots.pem"
    file.write_text("-----BEGIN CERTIFICATE-----\n" * 3, encoding="ascii")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert installation.certificates().what == f"3 certificates in {file}"
    file.write_text("", encoding="ascii")
    assert installation.certificates().state is State.WARNING
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    assert installation.certificates().state is State.PROBLEM
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setattr(installation, "ROOTS", ())
    assert installation.certificates().state is State.WARNING


@pytest.mark.parametrize(
    ("found", "code", "says"),
    [
        ([ok("disk", "fine")], 0, "nothing is wrong"),
        ([ok("disk", "fine"), warning("tls", "none", "mend")], 0, "0 problems, 1 warning"),
        ([problem("disk", "full\x1b[2J", "delete")], 4, "1 problem, 0 warnings"),
    ],
)
def test_the_exit_code_is_that_of_the_worst(
    found: list[object],
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Broken if a script continues on a machine on which nothing works."""
    monkeypatch.setattr(doctor, "checks", lambda _: iter(found))
    assert main(["doctor"]) == code
    out, err = capsys.readouterr()
    assert says in err
    assert "\x1b" not in out
    assert main(["doctor", "--json"]) == code
    result = json.loads(capsys.readouterr().out)
    assert (result["ok"], len(result["findings"])) == (code == 0, len(found))


def test_a_wrong_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if a mistake in the address is reported as an unreachable fleet."""
    assert main(["doctor", "--nats-url", "http://host"]) == 2
    assert "--nats-url: must be nats://host:port" in capsys.readouterr().err
