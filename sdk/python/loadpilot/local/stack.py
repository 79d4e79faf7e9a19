"""Client of one local stack: started for a run or for reading, stopped with this process.

The supervisor leads its own session, so that Ctrl-C reaches the command line only. It ends the
whole stack when its standard input closes, also when this process is killed.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Self

from ..control.terminal import note
from .nats_server import NatsServerFault, NatsServerRefusal, find_nats_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

READY_SECS = 30.0
"""Timeout of a stack to be ready; a healthy one takes a fraction of a second."""
STOP_SECS = 10.0
"""Timeout of a stack to end by itself after the request to stop."""
POLL_SECS = 0.1
"""Interval at which interruptions are noticed while a stack starts."""
LAST_WORDS_SECS = 1.0
"""Timeout of the wait for the exit code and last lines of an ended supervisor."""
LOCAL_WAIT_US = 30_000_000
"""Timeout of a run for the agents that were started for it."""
LOCAL_LEAD_US = 100_000
"""Time from the decision to start to the start: agents on one machine learn of it in a few ms."""
STACK_FILE = "stack.json"
"""File in the folder of a log with the address of its stack, while that runs."""
OUTPUT = "; its output: "
"""Separator between the reason of a failed stack and the output of the failed part."""
STDERR_CHARS_MAX = 4_000
"""Maximum number of shown characters of the supervisor's standard error, the last ones."""


class StackFault(Exception):
    """The local stack could not be started or died; the message has the reason and the logs."""


class LogUnavailable(StackFault):
    """The disk of the log refuses writes: no run can be completed. Stored events stay."""


class EventKind(StrEnum):
    """The kinds of events of a supervisor."""

    READY = "ready"
    RESTARTED = "restarted"
    FAILED = "failed"
    LOG_UNAVAILABLE = "log_unavailable"
    BUSY = "busy"
    ENDED = "ended"
    """Its output closed; never sent."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the supervisor."""

    kind: EventKind
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach a log."""

    url: str
    token: str
    log_dir: Path
    ctl_bytes: int
    data_bytes: int
    cacert: Path | None = None
    """Certificates to trust for a stack that is open to other machines."""


class LocalStack:
    """A supervisor and everything below it."""

    def __init__(self, argv: list[str]) -> None:
        """Start a supervisor; raises :class:`StackFault` when it cannot even be started."""
        try:
            self._process = subprocess.Popen(
                [*entry("supervisor"), *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise StackFault(f"the supervisor could not be started: {error}") from error
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._stderr_tail = ""
        assert self._process.stdout and self._process.stderr  # noqa: PT018, S101  (both are PIPE)
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._causes: set[tuple[object, object]] = set()
        self.log_dir: Path | None = None
        self.has_other_owner = False
        """Whether `ready` returned the address of a stack that another command owns."""
        self.listening: dict[str, Any] | None = None
        """Address and token for other machines, if the stack is open to them."""

    @classmethod
    def for_run(
        cls,
        root: Path,
        agents: int,
        listen: Sequence[str] = (),
        opened: Sequence[str] = (),
        further: Sequence[str] = (),
    ) -> Self:
        """Start a stack that can run scenarios, on the first free log below ``root``.

        ``listen`` are the arguments that open it to other machines, ``opened`` those that open
        targets to its agents, ``further`` those of its agents for proxies and files of rows.
        """
        return cls(
            [
                *("--root", str(root), "--nats-server", _nats_server()),
                *("--agents", str(agents), "--coordinators", "1"),
                *("--agent-command", json.dumps(_agent([*opened, *further]))),
                *("--coordinator-command", json.dumps([*entry("coordinator"), *opened])),
                *listen,
            ]
        )

    @classmethod
    def for_resume(
        cls,
        log_dir: Path,
        agents: int,
        run: str,
        opened: Sequence[str] = (),
        proxies: Sequence[str] = (),
    ) -> Self:
        """Start a stack on the log of one that died, to go on with one run of it."""
        spared = [*entry("coordinator"), *opened, "--spare", run]
        return cls(
            [
                *("--log-dir", str(log_dir), "--nats-server", _nats_server()),
                *("--agents", str(agents), "--coordinators", "1"),
                *("--agent-command", json.dumps(_agent([*opened, *proxies]))),
                *("--coordinator-command", json.dumps(spared)),
            ]
        )

    @classmethod
    def for_reading(cls, log_dir: Path) -> Self:
        """Start only the server of a log, for reading."""
        return cls(["--log-dir", str(log_dir), "--nats-server", _nats_server(), "--reader"])

    def ready(self, interrupted: Callable[[], bool]) -> Address | None:
        """Wait until the stack is ready; None when the user interrupts. Raises StackFault."""
        deadline = monotonic() + READY_SECS
        while monotonic() < deadline:
            if interrupted():
                return None
            event = self.next_event(POLL_SECS)
            match event:
                case None | Event(EventKind.RESTARTED):
                    continue
                case Event(EventKind.READY, facts):
                    self.log_dir = Path(facts["log_dir"])
                    self.listening = facts.get("listening")
                    return address(Path(facts["stack_file"]))
                case Event(EventKind.BUSY, facts):
                    self.has_other_owner = True
                    return address(Path(facts["stack_file"]))
                case _:
                    raise self.fault(event)
        raise StackFault(f"the local stack was not ready within {READY_SECS:.0f} s{self._where()}")

    def next_event(self, timeout_secs: float = 0) -> Event | None:
        """Take the next event of the supervisor; None after the timeout."""
        try:
            return (
                self._events.get(timeout=timeout_secs)
                if timeout_secs
                else (self._events.get_nowait())
            )
        except queue.Empty:
            return None

    def is_new(self, restarted: dict[str, Any]) -> bool:
        """Whether a restart has a new cause; a part that cannot start repeats its exit code."""
        cause = restarted.get("child"), restarted.get("because")
        is_known = cause in self._causes and str(cause[1]).startswith("exit code")
        self._causes.add(cause)
        return not is_known

    def fault(self, event: Event) -> StackFault:
        """Build the error of a stack that ended unexpectedly."""
        if event.kind is EventKind.LOG_UNAVAILABLE:
            reason = str(event.facts.get("reason", "no reason was given"))
            return LogUnavailable(f"log unavailable: {reason}")
        if event.kind is EventKind.FAILED:
            reason = without_repetition(str(event.facts.get("reason", "no reason was given")))
        else:
            reason = self._last_words()
        return StackFault(f"the local stack failed: {reason}{self._where()}")

    def _last_words(self) -> str:
        """Describe the end of a supervisor that closed its output without a reason."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_SECS)
        for reader in self._readers:
            reader.join(LAST_WORDS_SECS)
        stderr = self._stderr_tail.strip()
        code = self._process.returncode
        return f"the supervisor ended with code {code}" + (f": {stderr}" if stderr else "")

    def stop(self) -> None:
        """End the stack and wait for it; a stack that does not end in time is killed."""
        process = self._process
        assert process.stdin is not None  # noqa: S101  (it is a PIPE)
        with suppress(OSError):  # it may have ended already
            process.stdin.write(b"stop\n")
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(STOP_SECS)
        except subprocess.TimeoutExpired:
            process.kill()  # its children have asked the kernel to end with it
            process.wait()
        for reader in self._readers:
            reader.join(LAST_WORDS_SECS)

    def _read_events(self, lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                event = parse(line)
                if event is not None:
                    self._events.put(event)
        self._events.put(Event(EventKind.ENDED, {}))

    def _read_stderr(self, lines: IO[bytes]) -> None:
        with lines:
            self._keep_tail(lines)

    def _keep_tail(self, lines: IO[bytes]) -> None:
        for line in lines:
            text = self._stderr_tail + line.decode(errors="replace")
            self._stderr_tail = text[-STDERR_CHARS_MAX:]

    def _where(self) -> str:
        return f" (logs: {self.log_dir})" if self.log_dir is not None else ""


def without_repetition(text: str) -> str:
    """Drop repeated lines: a part that cannot start writes the same each time."""
    head, mark, output = text.partition(OUTPUT)
    lines = output.splitlines()
    return head + mark + "\n".join(dict.fromkeys(lines)) if mark else text


def parse(line: bytes) -> Event | None:
    """Read one line of a supervisor; None when it is not one of its events."""
    try:
        facts = json.loads(line)
        return Event(EventKind(facts.pop("event")), facts)
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def address(stack_file: Path) -> Address:
    """Read how to reach a stack from its file; raises StackFault."""
    try:
        facts = json.loads(stack_file.read_text(encoding="utf-8"))
        return Address(
            facts["url"],
            facts["token"],
            Path(facts["log_dir"]),
            facts["ctl_bytes"],
            facts["data_bytes"],
            Path(facts["cacert"]) if "cacert" in facts else None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackFault(f"{stack_file}: cannot be read: {error!r}") from error


def is_running(log_dir: Path) -> bool:
    """Whether a stack that runs scenarios on a log lives; one for reading does not count."""
    facts = living_stack(log_dir)
    return facts is not None and not facts.get("reader")


def living_stack(log_dir: Path) -> dict[str, Any] | None:
    """Read the stack file of a log; None without one, or when its stack was killed."""
    try:
        facts: dict[str, Any] = json.loads((log_dir / STACK_FILE).read_text(encoding="utf-8"))
        os.kill(int(facts["pid"]), 0)
    except PermissionError:
        return facts
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return facts


def entry(part: str) -> list[str]:
    """Build the command of a part of LoadPilot; ``-P`` keeps the user's folder off its path."""
    code = f"import sys; from loadpilot._entry import {part}; sys.exit({part}())"
    return [sys.executable, "-P", "-c", code]


def _agent(opened: Sequence[str]) -> list[str]:
    """Build the command of an agent on its user's machine, which may use private networks."""
    return [*entry("agent"), "--local-stack", *opened]


def _nats_server() -> str:
    """Find the server to run; raises StackFault with the message of the search."""
    try:
        found = find_nats_server()
    except (NatsServerRefusal, NatsServerFault) as error:
        raise StackFault(str(error)) from error
    for text in found.notes:
        note(f"note: {text}")
    return str(found.path)


def relay_events(stack: LocalStack, tell: Callable[[str], None], wait_secs: float = 0) -> None:
    """Print restarts through ``tell``; raises StackFault when the stack is gone."""
    while (event := stack.next_event(wait_secs)) is not None:
        match event:
            case Event(EventKind.RESTARTED, facts):
                if stack.is_new(facts):
                    tell(f"restarted {facts.get('child')}: {facts.get('because')}")
            case Event(EventKind.FAILED | EventKind.LOG_UNAVAILABLE | EventKind.ENDED):
                raise stack.fault(event)
            case _:
                pass
