"""Fixtures of the end-to-end tests and of the fault tests."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.fleet import Fleet
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    """A target that counts and records its requests."""
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        yield oracle


@pytest.fixture
def loadpilot(tmp_path: Path) -> Loadpilot:
    """The command in a new folder without earlier runs."""
    return Loadpilot(tmp_path / "work")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on loopback that refuses connections: bound, so that no other process takes it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A fleet without members, whose token is in the environment."""
    with Fleet(tmp_path, monkeypatch) as fleet:
        yield fleet
