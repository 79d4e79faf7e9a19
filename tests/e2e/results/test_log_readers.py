"""Commands that read one log at the same time."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING

from tests.e2e.support.command import SCENARIOS, Loadpilot

from loadpilot.local.log_readers import reading

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle


def test_a_command_that_reads_keeps_the_server_of_another(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the command that ends first takes the server from the other one. 6 s."""
    ran = loadpilot.run(SCENARIOS / "weighted.py", oracle.url, "--rps", "20", "--duration", "1s")
    (log,) = loadpilot.log.glob("log-*")
    with ExitStack() as owner, ExitStack() as guest:
        owner.enter_context(reading(log, lambda: False))
        session = guest.enter_context(reading(log, lambda: False))
        ends = Thread(target=owner.close)
        ends.start()
        # Time for an owner that does not wait to end its server.
        ends.join(1.0)
        assert ran.run in session.runs()
        guest.close()
        ends.join(20.0)
        assert not ends.is_alive(), "the owner waits for readers that are gone"
