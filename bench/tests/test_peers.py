"""The peers of the bench: what is installed must start, and what cannot be there says why."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from bench import compare
from bench.install import newer_glibc, peers
from bench.install.peers import From, Peer
from bench.tools.peers import peer
from bench.tools.tool import Load

if TYPE_CHECKING:
    from pathlib import Path

PEER = Peer("tool", From.PYPI, "tool", "1.2.3", "--version")
MAKE = """
import pathlib, sys
path = pathlib.Path(sys.argv[1]) / "bin" / "tool"
path.parent.mkdir(parents=True)
path.write_text(f"#!{sys.executable}\\nprint('tool 1.2.3')\\n")
path.chmod(0o755)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for one peer, which a script installs instead of the network."""
    monkeypatch.setattr(peers, "HOME", tmp_path)
    monkeypatch.setattr(peers, "PEERS", (PEER,))
    argv = [sys.executable, "-c", MAKE, str(tmp_path / "tool-1.2.3")]
    monkeypatch.setattr(peers, "_steps", lambda _peer: [argv])
    return tmp_path / "tool-1.2.3"


@pytest.mark.parametrize(
    "damage",
    ["#!/nowhere/bin/python\n", "#!/bin/sh\nexit 3\n", "#!/bin/sh\nexec /nowhere/python\n"],
)
def test_a_peer_that_does_not_start_is_installed_again(home: Path, damage: str) -> None:
    """Broken if a moved environment passes for an installed tool, and fails in every round."""
    assert peers.install("tool").version == "tool 1.2.3"
    script = home / "bin" / "tool"
    script.write_text(damage)
    (home / "left over").touch()
    found = peers.find("tool")
    assert found.path is None
    assert found.version.startswith(f"broken: {script}")
    assert peers.install("tool").version == "tool 1.2.3"
    assert not (home / "left over").exists()


def test_a_peer_that_starts_is_left_alone(home: Path) -> None:
    """Broken if every run of the bench installs its peers anew."""
    peers.install("tool")
    (home / "left over").touch()
    assert peers.install("tool").path == home / "bin" / "tool"
    assert (home / "left over").exists()


def test_a_peer_that_this_machine_cannot_load_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if minutes of an installer end in an error without a way out."""
    monkeypatch.setattr(peers, "PEERS", (replace(PEER, glibc_min=(98, 1)),))
    found = peers.install("tool")
    assert found.path is None
    assert "linked with glibc 98.1, and this machine has" in found.version
    assert not home.exists()


def test_a_peer_that_is_too_new_for_this_machine_brings_its_own_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if pip chooses by the machine's library, or what it installed starts with that."""
    monkeypatch.setattr(peers, "HOME", tmp_path)
    monkeypatch.setattr(peers, "_glibc", lambda: (2, 36))
    newer = replace(PEER, glibc_min=(2, 38))
    words = [" ".join(argv) for argv in peers._steps(newer)]
    adopts = [place for place, said in enumerate(words) if "bench.install.newer_glibc" in said]
    package = next(place for place, said in enumerate(words) if "tool==1.2.3" in said)
    assert adopts == [package - 1, package + 1]
    assert not any("newer_glibc" in " ".join(argv) for argv in peers._steps(PEER))


def test_a_package_that_is_another_than_meant_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if whatever answers for Debian's server ends up in a program."""
    name = "libc6.deb"
    (tmp_path / name).write_bytes(b"another")
    monkeypatch.setattr(newer_glibc, "POOL", tmp_path.as_uri())
    monkeypatch.setattr(newer_glibc, "PACKAGES", {name: "00"})
    monkeypatch.setattr(newer_glibc.platform, "machine", lambda: "x86_64")
    with pytest.raises(ValueError, match=r"libc6\.deb is not the package"):
        newer_glibc.adopt(tmp_path / "peer")
    assert not (tmp_path / "peer").exists()


def test_the_original_is_a_peer_under_our_name() -> None:
    """Broken if its row asks for another package, or is named like ours."""
    assert compare.peer_of("original") == "loadpilot"
    assert compare.peer_of("Locust") == "locust"
    assert not peer("original", "x").ours


def test_the_original_gets_rate_and_length(tmp_path: Path) -> None:
    """Broken if it runs something else than what the other tools run, or our own package.

    It plays no callbacks, and says so only in its log, where it does not find its own.
    """
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)
    load = Load("http://127.0.0.1:1/", 7, 64, 500, checked=True)
    path = str(tmp_path / "bin" / "loadpilot")
    task = peer("original", path).command(load, tmp_path)
    assert task.argv[:2] == [path, "run"]
    assert "LookChecked" in task.argv
    assert "http://127.0.0.1:1" in task.argv
    assert (task.environ["BENCH_RPS"], task.environ["BENCH_SECS"]) == ("500", "7")
    assert task.environ["PYTHONPATH"] == str(packages)
    (tmp_path / "results.json").write_text(
        '{"requests_total": 9, "errors_total": 1, "p50_ms": 1.5, "p99_ms": 3, "max_ms": 4}'
    )
    figures = peer("original", "x").report(tmp_path, "")
    assert (figures.requests, figures.p50_us, figures.p99_us, figures.failed) == (
        9,
        1_500,
        3_000,
        1,
    )
