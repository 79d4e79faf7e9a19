"""The logs of this machine, read while stacks start and end."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from loadpilot import _native
from loadpilot.local.log_readers import ReadersLock, opened
from loadpilot.local.stack import Address, LocalStack, StackFault, is_running

if TYPE_CHECKING:
    from pathlib import Path


class Stand:
    """A stack for reading: this command's own, or that of another command."""

    def __init__(self, log_dir: Path, *, has_other_owner: bool) -> None:
        self.log_dir = log_dir
        self.has_other_owner = has_other_owner
        self.is_stopped = False

    def ready(self, _interrupted: object) -> Address:
        return Address("nats://127.0.0.1:1", "t", self.log_dir, 1, 2)

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Stand]:
    """The stacks that a reader finds: two of other commands, then one of its own."""
    stacks = [Stand(tmp_path, has_other_owner=other) for other in (True, True, False)]
    left = iter(stacks)
    monkeypatch.setattr(LocalStack, "for_reading", lambda _log_dir: next(left))
    return stacks


@pytest.mark.parametrize("fault", [_native.Fault("refused"), StackFault("cannot be read")])
def test_a_stack_that_ends_meanwhile_is_replaced(
    stacks: list[Stand], tmp_path: Path, fault: Exception
) -> None:
    """Broken if a command fails because another command of the same log ends at that moment."""

    def join(stack: LocalStack, address: Address) -> str:
        if stack.has_other_owner:
            raise fault
        return address.token

    _, joined = opened(tmp_path, lambda: False, join)
    assert joined == "t"
    assert [one.is_stopped for one in stacks] == [True, True, False]


def test_a_fault_of_the_own_stack_is_raised_at_once(stacks: list[Stand], tmp_path: Path) -> None:
    """Broken if a command tries for 30 s what cannot succeed."""
    stacks[0].has_other_owner = False

    def join(_stack: LocalStack, _address: Address) -> None:
        raise _native.Fault("refused")

    with pytest.raises(_native.Fault, match="refused"):
        opened(tmp_path, lambda: False, join)
    assert [one.is_stopped for one in stacks] == [True, False, False]


def test_readers_keep_a_server_until_they_have_read(tmp_path: Path) -> None:
    """Broken if a server ends while another command reads, or if a reader joins a server that is
    ending."""
    with ReadersLock(tmp_path) as owner:
        with ReadersLock(tmp_path) as first:
            first.share()
            with ReadersLock(tmp_path) as second:
                second.share()
            assert owner.has_others()
        assert not owner.has_others()
        with ReadersLock(tmp_path) as late, pytest.raises(StackFault, match="about to end"):
            late.share()
    with ReadersLock(tmp_path) as late:
        late.share()


def test_a_stack_for_reading_runs_nothing(tmp_path: Path) -> None:
    """Broken if the reader of a killed run's log is taken for the stack of the run."""
    for facts, expected in (
        ({"pid": os.getpid()}, True),
        ({"pid": os.getpid(), "reader": False}, True),
        ({"pid": os.getpid(), "reader": True}, False),
        ({"reader": False}, False),
    ):
        (tmp_path / "stack.json").write_text(json.dumps(facts), encoding="utf-8")
        assert is_running(tmp_path) is expected, facts
