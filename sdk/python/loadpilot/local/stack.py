"""One local stack: started for a run or for reading, heard while it lives, ended with its owner.

The supervisor leads a session of its own, so that Ctrl-C reaches the command line only; it ends
everything when its standard input closes, also when this process is killed.
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
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Any, Self

from .._nats_server import NatsServerFault, NatsServerRefusal, find_nats_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

READY_SECS = 30.0
"""How long a stack may take to be ready; a healthy one takes a fraction of a second."""
STOP_SECS = 10.0
"""How long a stack may take to end by itself once it was asked to."""
POLL_SECS = 0.1
"""How soon an interruption is noticed while a stack starts."""
LAST_WORDS_SECS = 1.0
"""How long the code and the last lines of an ended supervisor are waited for."""
LOCAL_WAIT_US = 30_000_000
"""How long a run waits for agents that were started for it."""
LOCAL_LEAD_US = 500_000
"""From the decision to start to the start: on one machine this is plenty."""
STACK_FILE = "stack.json"
"""What tells others how to reach a stack, in the folder of its log, while it runs."""
OUTPUT = "; its output: "
"""What stands between the reason of a failed stack and what its part wrote."""
COMPLAINT_CHARS_MAX = 4_000
"""How much of what a dying supervisor said is shown."""


class StackFault(Exception):
    """The local stack could not be started or died; the message says why and where the logs are."""


class LogUnavailable(StackFault):
    """The disk of the log refuses writes: no run can be completed. What is stored stays stored."""


class Said(StrEnum):
    """What a supervisor may say."""

    READY = "ready"
    RESTARTED = "restarted"
    FAILED = "failed"
    LOG_UNAVAILABLE = "log_unavailable"
    BUSY = "busy"
    ENDED = "ended"
    """Not said: its output closed."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that the supervisor said."""

    said: Said
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
    """Whom to trust for the certificate of a stack that is open to other machines."""


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
        self._complaint = ""
        assert self._process.stdout and self._process.stderr  # noqa: PT018, S101  (both are PIPE)
        self._listeners = [
            threading.Thread(target=self._hear, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._overhear, args=(self._process.stderr,), daemon=True),
        ]
        for listener in self._listeners:
            listener.start()
        self._causes: set[tuple[object, object]] = set()
        self.log_dir: Path | None = None
        self.listening: dict[str, Any] | None = None
        """How other machines reach it, if they may."""

    @classmethod
    def for_run(
        cls, root: Path, agents: int, listen: Sequence[str] = (), opened: Sequence[str] = ()
    ) -> Self:
        """Start a stack that can run scenarios, on the first free log below ``root``.

        ``listen`` are the words that open it to other machines, ``opened`` those that open targets
        to its agents.
        """
        return cls(
            [
                *("--root", str(root), "--nats-server", _nats_server()),
                *("--agents", str(agents), "--coordinators", "1"),
                *("--agent-command", json.dumps(_agent(opened))),
                *("--coordinator-command", json.dumps([*entry("coordinator"), *opened])),
                *listen,
            ]
        )

    @classmethod
    def for_revival(cls, log_dir: Path, agents: int, run: str, opened: Sequence[str] = ()) -> Self:
        """Start a stack on the log of one that died, which goes on with one run of it."""
        spared = [*entry("coordinator"), *opened, "--spare", run]
        return cls(
            [
                *("--log-dir", str(log_dir), "--nats-server", _nats_server()),
                *("--agents", str(agents), "--coordinators", "1"),
                *("--agent-command", json.dumps(_agent(opened))),
                *("--coordinator-command", json.dumps(spared)),
            ]
        )

    @classmethod
    def for_reading(cls, log_dir: Path) -> Self:
        """Start the server of one log alone, to read what it holds."""
        return cls(["--log-dir", str(log_dir), "--nats-server", _nats_server(), "--reader"])

    def ready(self, interrupted: Callable[[], bool]) -> Address | None:
        """Wait until the stack is ready; None when the user interrupts. Raises StackFault."""
        deadline = monotonic() + READY_SECS
        while monotonic() < deadline:
            if interrupted():
                return None
            event = self.heard(POLL_SECS)
            match event:
                case None | Event(Said.RESTARTED):
                    continue
                case Event(Said.READY, facts):
                    self.log_dir = Path(facts["log_dir"])
                    self.listening = facts.get("listening")
                    return address(Path(facts["stack_file"]))
                case Event(Said.BUSY, facts):
                    return _address_of_other(Path(facts["stack_file"]), deadline, interrupted)
                case _:
                    raise self.fault(event)
        raise StackFault(f"the local stack was not ready within {READY_SECS:.0f} s{self._where()}")

    def heard(self, timeout_secs: float = 0) -> Event | None:
        """Take the next thing that the supervisor said; None when it said nothing in time."""
        try:
            return (
                self._events.get(timeout=timeout_secs)
                if timeout_secs
                else (self._events.get_nowait())
            )
        except queue.Empty:
            return None

    def is_news(self, restarted: dict[str, Any]) -> bool:
        """Whether a restart is to be told: one that cannot start ends again by the same cause."""
        one = restarted.get("child"), restarted.get("because")
        is_known = one in self._causes and str(one[1]).startswith("exit code")
        self._causes.add(one)
        return not is_known

    def fault(self, event: Event) -> StackFault:
        """Put into words why a stack ended that should not have."""
        if event.said is Said.LOG_UNAVAILABLE:
            reason = str(event.facts.get("reason", "no reason was given"))
            return LogUnavailable(f"log unavailable: {reason}")
        if event.said is Said.FAILED:
            reason = once(str(event.facts.get("reason", "no reason was given")))
        else:
            reason = self._last_words()
        return StackFault(f"the local stack failed: {reason}{self._where()}")

    def _last_words(self) -> str:
        """Describe the end of a supervisor that closed its output without a reason."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_SECS)
        for listener in self._listeners:
            listener.join(LAST_WORDS_SECS)
        said = self._complaint.strip()
        code = self._process.returncode
        return f"the supervisor ended with code {code}" + (f": {said}" if said else "")

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
            process.kill()  # everything below it has asked the kernel to end with it
            process.wait()
        for listener in self._listeners:
            listener.join(LAST_WORDS_SECS)

    def _hear(self, lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                event = parse(line)
                if event is not None:
                    self._events.put(event)
        self._events.put(Event(Said.ENDED, {}))

    def _overhear(self, lines: IO[bytes]) -> None:
        with lines:
            self._keep_end_of(lines)

    def _keep_end_of(self, lines: IO[bytes]) -> None:
        for line in lines:
            text = self._complaint + line.decode(errors="replace")
            self._complaint = text[-COMPLAINT_CHARS_MAX:]

    def _where(self) -> str:
        return f" (logs: {self.log_dir})" if self.log_dir is not None else ""


def once(text: str) -> str:
    """Drop lines that were there before: what cannot start says the same each time."""
    head, mark, output = text.partition(OUTPUT)
    lines = output.splitlines()
    return head + mark + "\n".join(dict.fromkeys(lines)) if mark else text


def parse(line: bytes) -> Event | None:
    """Read one line of a supervisor; None when it is not one of its events."""
    try:
        facts = json.loads(line)
        return Event(Said(facts.pop("event")), facts)
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
    """Whether the stack that uses a log lives."""
    try:
        facts = json.loads((log_dir / STACK_FILE).read_text(encoding="utf-8"))
        os.kill(int(facts["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def entry(part: str) -> list[str]:
    """Build the command that starts a part of ours; ``-P`` keeps the user's folder off its path."""
    code = f"import sys; from loadpilot._entry import {part}; sys.exit({part}())"
    return [sys.executable, "-P", "-c", code]


def _agent(opened: Sequence[str]) -> list[str]:
    """Build the command of an agent on its user's machine: private networks are open to it."""
    return [*entry("agent"), "--local-stack", *opened]


def _address_of_other(
    stack_file: Path, deadline: float, interrupted: Callable[[], bool]
) -> Address | None:
    """Read the file of a stack that another command runs; it may be about to write it."""
    while not stack_file.exists() and monotonic() < deadline:
        if interrupted():
            return None
        sleep(POLL_SECS)
    return address(stack_file)


def _nats_server() -> str:
    """Find the server to run; raises StackFault in the finder's words."""
    try:
        found = find_nats_server()
    except (NatsServerRefusal, NatsServerFault) as error:
        raise StackFault(str(error)) from error
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return str(found.path)


def hear(stack: LocalStack, tell: Callable[[str], None], wait_secs: float = 0) -> None:
    """Pass on what the supervisor said; raises StackFault when the stack is gone."""
    while (event := stack.heard(wait_secs)) is not None:
        match event:
            case Event(Said.RESTARTED, facts):
                if stack.is_news(facts):
                    tell(f"restarted {facts.get('child')}: {facts.get('because')}")
            case Event(Said.FAILED | Said.LOG_UNAVAILABLE | Said.ENDED):
                raise stack.fault(event)
            case _:
                pass
