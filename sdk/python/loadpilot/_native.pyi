"""What Python may know of Rust: plans, logs and the processes of a run."""

# ruff: noqa: PYI021  (this is the only place where Python people can read what Rust offers)

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self, Unpack, final

from .client import Answers, Extras, InBatch
from .play.reading import Event, Headers

class Refused(ValueError):
    """A request was refused; the user can fix it."""

    problems: str
    """JSON: a list of ``{"field", "rule", "value"}``."""

class Fault(RuntimeError):
    """The world failed: a connection, a file, a process."""

def check_plan(plan_json: str) -> str:
    """Check a plan; JSON: a list of ``{"field", "rule", "value"}``, empty when it is sound."""

def check_target(plan_json: str, allow_targets: list[str]) -> str:
    """Check where a sound plan connects to, on this machine; JSON as that of check_plan.

    Raises Refused for what ``allow_targets`` must not say.
    """

def plan_facts(plan_json: str, seed: int) -> str:
    """Work out what a sound plan amounts to.

    JSON: ``{"hash", "canonical", "users", "planned", "duration_us", "peak_rps",
    "planned_per_task"}``; ``users`` is null unless it is a closed loop, which plans nothing.
    """

def check_asked(body: bytes, given: tuple[int, int, int]) -> str:
    """Check what a caller posted, a plan or a request for a run.

    ``given`` holds where it says nothing: agents, how long they are waited for and the lead, in µs.
    JSON: ``{"problems", "facts"}``; facts as plan_facts, null when the plan is not sound.
    """

def ask(
    session: Session,
    body: bytes,
    given: tuple[int, int, int],
    seed: int,
    key: str | None = None,
    caller: str = "",
) -> str:
    """Ask for the run that was posted; once for each ``key`` of ``caller``, whose seed then holds.

    Nobody owns it. JSON: ``{"run", "is_new"}``. Raises Refused, Fault.
    """

def parse_duration_us(field: str, text: str) -> int:
    """Read a duration in µs; raises ValueError that names field, rule and value."""

def parse_rate_urps(field: str, text: str) -> int:
    """Read a rate in millionths per second; raises ValueError that names field, rule and value."""

def new_run_id() -> str:
    """Make up what the next run is called."""

def seal_states(key: str, shared: str, users: list[str] | None) -> bytes:
    """Seal what was prepared, each as JSON, with a key of 64 hex digits that serves once."""

def open_states(sealed: bytes, key: str) -> tuple[str, list[str] | None]:
    """Open what was sealed: what all share and each user, as JSON; ValueError with another key."""

def shown_address(url: str) -> str:
    """Show an address of NATS without its user and password."""

def token_exposed_to(url: str, has_token: bool) -> str | None:
    """Name the first host to which a token would travel unencrypted."""

def metric_keys() -> list[str]:
    """List the keys of all metrics that a threshold can name."""

def figure_keys() -> list[str]:
    """List the figures of a scenario's own metrics that a threshold can name."""

def measure(kind: str, name: str, value: float) -> None:
    """Add to a metric for the user whose turn it is on this thread, if it is doing a task."""

def coordinator_main(argv: list[str]) -> int:
    """Run a coordinator; returns the exit code."""

def agent_main(argv: list[str]) -> int:
    """Run an agent; returns the exit code."""

def supervisor_main(argv: list[str]) -> int:
    """Run a local stack; returns the exit code."""

def drawn() -> int:
    """Draw the next value of the part that a user is in, uniform over 64 bits."""

def due_us() -> int:
    """Tell when that part is due, in µs since 1970."""

def row(feed: int) -> int:
    """Tell which row of a feed that part takes, from 0; ``feed`` is its place in the plan.

    Raises LookupError when its task takes none.
    """

@final
class Request:
    """A request that a task made up, ready to be sent."""

    def __new__(
        cls,
        method: str,
        path: str,
        headers: list[tuple[str, str]],
        body: bytes | None = None,
        timeout_us: int | None = None,
        name: str | None = None,
        *,
        stream: str | None = None,
        tokens_max: int | None = None,
        listen_us: int | None = None,
    ) -> Self: ...
    def led_to(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes | None
    ) -> Request:
        """Make the request that an answer leads to; how it is listened to stays."""
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes | None: ...

@final
class Turn:
    """One user's turn: what is drawn, taken or added meanwhile is that user's."""

    def begin(self) -> None:
        """It is this user's turn now."""

    def end(self) -> None:
        """It is nobody's."""

def whose_turn() -> Turn | None:
    """Tell whose turn it is, if it is anybody's."""

def moves() -> int:
    """Tell a number that is odd while a user's code runs, and another one each time."""

def note_blocking(words: str) -> None:
    """Say of the code that runs right now that it keeps everybody waiting."""

def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in the code that runs on a thread, as soon as that is Python's own."""

@final
class Response:
    """The answer to one request of a task."""

    @property
    def status_code(self) -> int:
        """Its status code."""

    @property
    def ok(self) -> bool:
        """Whether that is below 400."""

    @property
    def content(self) -> bytes:
        """Its body, decoded when it came as gzip or deflate; ValueError for other codings."""

    @property
    def text(self) -> str:
        """Its body as text, by the charset of its content type, else UTF-8."""

    @property
    def headers(self) -> Headers:
        """Its headers; names in any case."""

    @property
    def elapsed_ms(self) -> float:
        """From dispatch to the last byte, in ms."""

    def json(self) -> Any:
        """Read its body as JSON; raises ValueError when it is none."""

    def events(self) -> Iterator[Event]:
        """Read the server-sent events of a stream that has ended."""

    def iter_lines(self) -> Iterator[str]:
        """Read its body line by line."""

    def raise_for_status(self) -> None:
        """Raise HTTPStatusError when the status is 400 or more."""

    def __await__(self) -> Generator[Any, Any, Response]:
        """In an ``async def``, a request is sent when it is awaited."""

@final
class Player:
    """Plays parts of a scenario aside of its load, one at a time, on a thread of its own."""

    def __new__(
        cls,
        plan_json: str,
        run: str,
        secrets: dict[str, str],
        scenario: object,
        users: int,
        seed: int,
        allow_targets: list[str],
    ) -> Self:
        """Take a sound plan and what ``loadpilot.play.at_hand`` has; raises ValueError."""

    def once(self, place: int) -> None:
        """Begin what happens once per run, by its place in the scenario's list."""

    def prepare(self) -> None:
        """Begin to prepare all users."""

    def retire(self) -> None:
        """Begin to let those clean up that are prepared."""

    def told(self, timeout_secs: float) -> str | None:
        """Wait for the end of what was begun: None when it is not over; empty when all was well."""

    def call_off(self) -> None:
        """End what was begun, as soon as it waits for something."""

    def close(self, timeout_secs: float) -> bool:
        """End the thread; False when it has not ended in time."""

@final
class Client:
    """One user's view of the target, while its scenario runs: see ``loadpilot.LoadClient``."""

    def get(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def post(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def put(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def patch(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def delete(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def head(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def options(self, path: str, **extras: Unpack[Extras]) -> Response: ...
    def request(self, method: str, path: str, **extras: Unpack[Extras]) -> Response: ...
    def stream(self, method: str, path: str, **extras: Unpack[Extras]) -> Response: ...
    def batch(self, requests: Sequence[InBatch]) -> Answers: ...
    def step(self, name: str) -> AbstractContextManager[None]: ...
    def send(self, wish: Request | list[Request]) -> Any:
        """Send what is made already; returns the answer, or what is to be awaited for it."""

    is_in_step: bool
    """Whether the user is in a step, so that its requests are named after it."""

    def stir(self) -> None:
        """Let the engine look at what the user's part on the event loop wants."""

@final
class Session:
    """One connection to a log."""

    def __new__(
        cls,
        url: str,
        token: str | None,
        *,
        tenant: str = ...,
        ctl_bytes: int | None = None,
        data_bytes: int | None = None,
        cacert: Path | None = None,
    ) -> Self: ...
    @staticmethod
    def join(
        url: str, token: str | None, creds: Path | None, tenant: str, cacert: Path | None = None
    ) -> Session:
        """Connect to the log of a fleet that can be asked for runs.

        Raises Fault with what to do when there is none, Refused for a wrong tenant.
        """

    @staticmethod
    def visit(
        url: str, token: str | None, creds: Path | None, tenant: str, cacert: Path | None = None
    ) -> Session:
        """Connect to the log of a fleet, to read it; raises Refused when there is none."""

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes] = ...,
        run: str | None = None,
    ) -> str:
        """Store a RunRequested and hand its secrets and bodies over; returns the run id.

        ``run`` is its id when that is known already, from :func:`new_run_id`.

        ``bodies`` holds what the plan keeps beside itself, by SHA-256 in hex.
        Ownership is renewed in the background while the session is open. Raises Refused, Fault.
        """

    def watch(self, run: str) -> Watch:
        """Follow a run."""

    def stop(self, run: str, by: str) -> None:
        """Ask for a stop: no further arrival starts, what is in flight finishes."""

    def steer(
        self, run: str, wish: str, by: str, patience_secs: float, rate_urps: int | None = None
    ) -> str:
        """Ask for ``stop``, ``rate`` (then ``rate_urps``), ``pause`` or ``resume`` and wait.

        JSON of what became of it: ``{"answer": …}``, as in `client/steer.rs` of the coordinator.
        Raises Refused when there is no such run, Fault.
        """

    def agents(self, patience_secs: float) -> str:
        """Listen for agents; JSON: a list, as in `client/roll.rs` there. Raises Fault."""

    def unfinished(self, run: str) -> str:
        """Tell what a run is that is not over; JSON: ``{"plan", "agents": {"want", …}}``.

        Raises Refused when there is no such run, or it is over.
        """

    def adopt(self, run: str) -> None:
        """Keep a run owned in place of the command that asked for it; raises as unfinished."""

    def halt(self, run: str) -> None:
        """Abort a run: what is in flight is cancelled."""

    def report(self, run: str) -> str:
        """Fold a run's log; JSON of its report."""

    def plan(self, run: str) -> str:
        """Tell what a run is; JSON of its plan. Raises Refused when there is no such run."""

    def verify(self, run: str, known_json: str | None = None) -> str:
        """Check every invariant of a run's log; JSON of what was found.

        ``known_json`` is the report of a results file: its digest must be the log's. Raises
        ValueError when it is none.
        """

    def samples(self, run: str, path: Path) -> str:
        """Write every call that a run's plan asked for one by one to a CSV file.

        JSON: ``{"rows", "dropped", "unreadable"}``. Raises Refused when it asked for none, Fault,
        OSError.
        """

    def runs(self) -> str:
        """List the runs of this log, newest last; JSON."""

    def prune(self, runs: list[str], *, forgets: bool = False) -> int:
        """Delete runs from the log; returns how many there were.

        Raises Refused, also when one owes its teardown, unless ``forgets``.
        """

    def read(self, run: str, cache: Path | None = None) -> Reading:
        """Read a run's log and index it.

        ``cache`` is a folder for what makes that quicker the next time; it may be deleted at any
        time. Raises Refused when there is no such run, Fault.
        """

    def log_state(self) -> str:
        """Tell how far the streams were written; JSON: ``{"ctl_seq", "data_seq"}``."""

    def ledger(self, run: str, claimant: str) -> Ledger:
        """Open what a run owes, for a command of this name."""

    def close(self) -> None:
        """End the connection and the renewal of ownership."""

@final
class Ledger:
    """What one run owes, as the command of a name sees it."""

    def owed(self) -> str:
        """Tell what is owed, and of what run.

        JSON: ``{"setup", "is_owed", "asked", "over", "holder"}``.
        """

    def claim_setup(self, claim_json: str, bundle: bytes, secrets: dict[str, str]) -> None:
        """Take setup and teardown upon this command; raises Refused when somebody was first."""

    def keep(self, sealed: bytes, key: str) -> None:
        """Keep what the setup has left so far, for whoever plays the teardown."""

    def claim_teardown(self, by: str, is_gone: bool) -> str:
        """Take the teardown upon this command.

        JSON: ``{"claim"}``: taken, settled, not_over or held. Unless ``is_gone`` whoever owed it
        is listened for, 10 s.
        """

    def finish(self, names: list[str]) -> None:
        """Say that it was played, which of it failed, and shred what it needed."""

    def means(self) -> str:
        """Read secrets and key. JSON: ``{"secrets", "left", "key"}``, null for what has ended."""

    def kept(self, states: bool) -> bytes:
        """Read the archive of the files, or the states; raises Refused when it is not there."""

@final
class Reading:
    """One run's log, indexed: many questions, answered from any thread.

    Answers are JSON of the types in ``proto/schema``. What is asked for as JSON is checked: Refused
    names field, rule and value. ``as_of_us`` is an instant of the run, in µs after its start: the
    answer is what the log told of it then.
    """

    def refresh(self) -> bool:
        """Read what was appended since; whether anything of this run was."""

    def position(self) -> str:
        """Tell how far it was read; JSON: ``{"ctl_seq", "evt_seq", "data_seq", "over"}``."""

    def report(self, as_of_us: int | None = None) -> str:
        """Close the fold; JSON of a report, the same as that of :meth:`Session.report`."""

    def series(self, slice_json: str) -> str:
        """Tell the figures of a slice over time; JSON of a series."""

    def heat(self, slice_json: str) -> str:
        """Tell how response times of a slice are spread over time; JSON of a heat."""

    def errors(self, slice_json: str) -> str:
        """Tell what went wrong in a slice, call by call; JSON of errors."""

    def agents(self, as_of_us: int | None = None) -> str:
        """Tell who generated the load and how each fared over time; JSON of an attendance."""

    def story(self, after: int, limit: int) -> str:
        """Tell at most ``limit`` lines after a sequence; JSON: ``{"lines", "next"}``."""

    def verdict(self, question_json: str) -> str:
        """Judge the run by other gates or another part of it; JSON: what-if to what-if-answer."""

@final
class Watch:
    """A run as it goes on."""

    def next(self, timeout_secs: float) -> str | None:
        """Wait for the next change; None when nothing changed in time.

        JSON: ``{"snapshot": …}``, ``{"story": …}`` or ``{"sealed": true}``.
        """

@final
class Wanted:
    """What a rehearsed user wants next; the first that is not None says it, else it has ended."""

    sends: tuple[str, str, list[tuple[str, str]], bytes | None, int | None, str | None] | None
    """Method, path, headers, body, time-out in µs, name."""
    batch: list[tuple[str, str, list[tuple[str, str]], bytes | None, int | None, str | None]] | None
    """The same of several requests at a time."""
    rests_us: int | None
    """How long, in µs."""
    check: tuple[bool, str] | None
    """Whether its check was passed, and what it said; None when none was asked."""
    raised: str | None
    """What the part itself raised."""
    measured: list[str]
    """What it added to metrics, in words, when it has ended."""

@final
class RehearsedUser:
    """One user without a run; what a test tells it is all that it hears."""

    def begin(self, part: int, arrival: int = 0, due_us: int = 0) -> Wanted:
        """Begin its preparation (-1), its clean-up (-2) or a task, by its place.

        A task is done for the arrival of a number, which is due so many µs after 1970.
        """

    def all_answered(self, told: list[tuple[int, bytes, bytes] | str]) -> Wanted:
        """Hear what became of a batch: answers, or "timed out", "stopped", why it was not sent."""

    def answered(self, status: int, head: bytes, body: bytes) -> Wanted:
        """Get an answer."""

    def timed_out(self) -> Wanted:
        """Get no answer."""

    def unsendable(self, why: str) -> Wanted:
        """Hear why its request cannot be sent."""

    def rested(self) -> Wanted:
        """Come to the end of a rest."""

    def stopped(self) -> Wanted:
        """Hear that the run is over."""

@final
class Rehearsal:
    """A scenario without a run: for tests, which hold code against Python."""

    @staticmethod
    def in_python(bundle: bytes, file: str, plan: str, seed: int = 0) -> Rehearsal:
        """Load the scenario of a plan as agents do that play it in Python."""

    @staticmethod
    def in_code(plan: str, rows: bytes | None = None, seed: int = 0) -> Rehearsal:
        """Take the code of a plan, and the rows of its feeds."""

    def user(self) -> RehearsedUser:
        """Make a user that has done nothing yet."""
