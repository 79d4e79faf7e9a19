"""A ``loadpilot`` command in a process of its own, held by a Python program.

It works in every thread and beside every event loop, since nothing of the run is in this process.
Ctrl-C reaches the command only through here: its process has a session of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from ..control.exit_code import ExitCode
from ..control.signals import Interruptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CODE = "import sys; from loadpilot.library.child import main; sys.exit(main())"
POLL_SECS = 0.2
"""Maximum delay until an interruption is handed on."""
END_SECS = 20.0
"""Timeout of a command to end once its standard input is closed; then it is killed."""
LINES_MAX = 1_000
"""Maximum number of lines that are kept of its standard error, the last ones."""
READ_SECS = 5.0
"""Timeout for the output of a command that has ended."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    """Its exit code; negative: the signal that ended it."""
    product: str
    """Its standard output."""
    lines: tuple[str, ...]
    """The last lines of its standard error."""
    is_interrupted: bool
    """Whether Ctrl-C was handed on to it."""


def execute(arguments: Sequence[str], tell: Callable[[str], object] | None) -> Ended:
    """Run a command to its end; ``tell`` is called with each line of its standard error.

    Ctrl-C stops the run, again aborts it, and the third time raises KeyboardInterrupt. Nothing of
    the command is left running, also after an exception in this thread.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", CODE],
        env=_environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018, S101  (all are PIPE)
    product: list[bytes] = []
    lines: deque[str] = deque(maxlen=LINES_MAX)
    readers = [
        threading.Thread(target=_take, args=(process.stdout, product), daemon=True),
        threading.Thread(target=_relay, args=(process.stderr, lines, tell), daemon=True),
    ]
    try:
        for reader in readers:
            reader.start()
        request = {"path": sys.path, "arguments": list(arguments)}
        with suppress(OSError):  # it may have ended already: its exit code says why
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        is_interrupted = _wait(process)
    except KeyboardInterrupt:
        process.kill()  # the stack ends with it
        raise
    finally:
        _end(process)
        for reader in readers:
            reader.join(READ_SECS)
    text = b"".join(product).decode("utf-8", "replace")
    return Ended(process.returncode, text, tuple(lines), is_interrupted)


def _environ() -> dict[str, str]:
    """The environment without the variable of a GitHub workflow: the program reports there."""
    return {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end and hand on interruptions; returns whether there was any.

    Only the main thread can have a handler for Ctrl-C.
    """
    interruptions = Interruptions({signal.SIGINT: ExitCode.INTERRUPTED})
    is_main = threading.current_thread() is threading.main_thread()
    handed_on = 0
    with interruptions if is_main else nullcontext():
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECS)
                return handed_on > 0
            count = interruptions.count if is_main else int(_main_was_interrupted())
            while handed_on < count:
                process.send_signal(signal.SIGINT)
                handed_on += 1


def _main_was_interrupted() -> bool:
    """Whether Ctrl-C ended the main thread, which then waits for this one."""
    return not threading.main_thread().is_alive() and (
        getattr(sys, "last_type", None) is KeyboardInterrupt
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs: without its standard input it stops the run."""
    assert process.stdin is not None  # noqa: S101  (it is a PIPE)
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _take(stream: IO[bytes], product: list[bytes]) -> None:
    with stream:
        product.append(stream.read())


def _relay(stream: IO[bytes], lines: deque[str], tell: Callable[[str], object] | None) -> None:
    with stream:
        for line in stream:
            text = line.decode("utf-8", "replace").rstrip("\n")
            lines.append(text)
            if tell is not None:
                tell(text)
