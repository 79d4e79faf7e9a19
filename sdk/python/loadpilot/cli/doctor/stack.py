"""A local stack in a temporary folder, started and ended: nats-server, coordinator, one agent."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ... import _native
from ...local.log_readers import connect
from ...local.stack import LocalStack, StackFault
from .finding import ok, problem

if TYPE_CHECKING:
    from .finding import Finding

START_SECS = 15.0
"""Timeout of the start; a healthy stack takes a fraction of a second."""
AGENT_SECS = 1.0
"""Timeout of one request for the agents that are there."""
MEND = "see the reason above; processes that the machine forbids, or a virus scanner, are common"


def local_stack() -> Finding:
    """Start a stack as a run does, wait for its agent, end it."""
    began = monotonic()
    deadline = began + START_SECS
    with tempfile.TemporaryDirectory(prefix="loadpilot-doctor-") as folder:
        try:
            stack = LocalStack.for_run(Path(folder), 1)
        except StackFault as fault:
            return problem("local stack", str(fault), MEND)
        try:
            address = stack.ready(lambda: monotonic() > deadline)
            if address is None:
                what = f"nats-server was not ready within {START_SECS:.0f} s"
                return problem("local stack", what, MEND)
            session = connect(address)
            try:
                while not json.loads(session.agents(AGENT_SECS)):
                    if monotonic() > deadline:
                        what = f"its agent did not join within {START_SECS:.0f} s"
                        return problem("local stack", what, MEND)
            finally:
                session.close()
        except (StackFault, _native.Fault, _native.Refused, OSError) as fault:
            return problem("local stack", str(fault), MEND)
        finally:
            stack.stop()
    took = round(monotonic() - began, 1)
    return ok("local stack", f"nats-server, coordinator and agent started and ended in {took} s")
