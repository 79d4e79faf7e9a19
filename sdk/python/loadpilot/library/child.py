"""The process of a command that a Python program runs. It reads its arguments from standard input.

Arguments are not on the command line, where other users could read them. The command ends when
standard input closes, that is with the program, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from time import sleep

from ..cli import main as command
from ..control.signals import NOW

STDIN = 0
CHUNK_BYTES = 65_536
AGAIN_SECS = 5.0
"""Time for the command to obey a signal before it gets the next one."""


def main() -> int:
    """Run the command that the program requests; returns its exit code."""
    request = json.loads(_line())
    sys.path[:] = request["path"]
    threading.Thread(target=_end_with_program, daemon=True).start()
    return command(request["arguments"])


def _line() -> bytes:
    """Read the only line of standard input, unbuffered: a daemon thread reads the rest."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(STDIN, CHUNK_BYTES)
        if not chunk:
            sys.exit(f"error: the program ended before it asked for anything ({line!r})")
        line += chunk
    return line


def _end_with_program() -> None:
    """Send SIGTERM once the program is gone, NOW times: the last one ends without a report."""
    while os.read(STDIN, CHUNK_BYTES):
        pass
    for _ in range(NOW):
        os.kill(os.getpid(), signal.SIGTERM)
        sleep(AGAIN_SECS)
