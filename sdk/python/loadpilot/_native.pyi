"""The interface of the native module: plans, logs, users and the processes of a run."""

# ruff: noqa: PYI021  (the native module has no other Python documentation)

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack, final

from .client import Answers, Extras, InBatch
from .control.nats_settings import Server
from .play.response_text import Event, Headers

DEVELOPMENT_BUILD: bool
"""Whether this is a development build, which runs slower than a release."""

VERSION: str
"""Version of the native module."""

COMMIT: str | None
"""Commit that the native module was built from; None where the builder did not set it."""

class Refused(ValueError):
    """A request is refused; the user can fix it."""

    problems: str
    """JSON: a list of ``{"field", "rule", "value"}``."""

class Fault(RuntimeError):
    """A connection, a file or a process failed."""

@final
class MetricFigures:
    """The figures of a run at one instant, for a scrape."""

def exposition(
    accept: str, runs: Sequence[MetricFigures], gateway_json: str | None = None
) -> tuple[str, bytes]:
    """Write the figures of runs for a scrape with this header Accept: media type and body.

    ``gateway_json`` has the figures of a gateway itself.
    """

def otlp_rejected(body: bytes) -> tuple[int, str] | None:
    """Read how many points an OTLP server did not take, and why; None when it took all."""

def percentile_of(stored: Sequence[str], percent: float) -> int | None:
    """Read a percentile of stored histograms together, in µs; None when all are empty.

    Raises ValueError for a text that is no histogram and a percentage outside of 0 to 100.
    """

def check_plan(plan_json: str, seed: int | None = None) -> str:
    """Check a plan; JSON: a list of ``{"field", "rule", "value"}``, empty for a valid plan.

    With a seed also what depends on it.
    """

def check_target(plan_json: str, allow_targets: list[str]) -> str:
    """Check, on this machine, where a valid plan connects to; JSON as that of check_plan.

    Raises Refused for an invalid entry of ``allow_targets``.
    """

def ownership_token(key_file: Path | str, tenant: str, host: str) -> str:
    """Give the line by which a host shows that a tenant may load it.

    ``host`` is a name, an address or a URL. Raises Refused for an unusable key or tenant.
    """

def paired_plan(plan_json: str, sides: tuple[tuple[str, str], tuple[str, str]]) -> str:
    """Make the plan that compares two targets with the load of a valid plan; JSON.

    ``sides`` are the name and the URL of each. Raises Refused for a plan that knows one target.
    """

def plan_facts(plan_json: str, seed: int) -> str:
    """Compute the figures of a valid plan.

    JSON: ``{"hash", "canonical", "users", "planned", "duration_us", "peak_rps",
    "planned_per_task"}``; ``users`` is null except for a closed loop, which plans no arrivals.
    """

def check_asked(body: bytes, defaults: tuple[int, int, int]) -> str:
    """Check the body that a caller posted: a plan or a request for a run.

    ``defaults``: number of agents, time-out for them and lead, both in µs. JSON: ``{"problems",
    "facts"}``; facts as in plan_facts, null for an invalid plan.
    """

def adjust_asked(body: bytes, changes: str, defaults: tuple[int, int, int]) -> str:
    """Change the plan of a posted body; fields beside ``plan`` are not read.

    ``changes``: JSON with ``target``, ``rate``, ``duration``, ``users``, ``warm_up``, ``agents``,
    ``min_agents``, ``wait``, ``seed`` as text and ``thresholds`` as in a plan; absent: as it is.
    JSON: ``{"plan", "agents", "seed", "problems", "facts", "form"}``; plan as text, facts as in
    plan_facts, null with any problem; all null where the body has no plan.
    """

def ask(
    session: Session,
    body: bytes,
    defaults: tuple[int, int, int],
    seed: int,
    key: str | None = None,
    caller: str = "",
    bodies: dict[str, bytes] | None = None,
) -> str:
    """Request the run that was posted; one run per ``key`` of ``caller``, with its first seed.

    The run has no owner. ``bodies``, by SHA-256, are used where the caller posted none. JSON:
    ``{"run", "is_new"}``. Raises Refused, Fault.
    """

def parse_duration_us(field: str, text: str) -> int:
    """Read a duration in µs; raises ValueError that names field, rule and value."""

def parse_rate_urps(field: str, text: str) -> int:
    """Read a rate in millionths per second; raises ValueError that names field, rule and value."""

def read_curve(path: str) -> list[int]:
    """Read a recorded load: the arrivals of each second, in millionths.

    Raises Refused that names file, line and column of what cannot be read; Fault for a file that
    cannot be read at all.
    """

def replay_profile(counts: list[int], scale_ppm: int) -> str:
    """Build the profile of recorded arrivals, in millionths, at a scale in millionths; JSON."""

def profile_peak(profile_json: str) -> int:
    """Return the peak of a profile, in millionths per second.

    Raises ValueError for another text.
    """

def search_settings(settings_json: str) -> str:
    """Write the settings of a search as the value of the tag of its probes.

    JSON: ``{"start_urps", "limit_urps", "precision_ppm", "confirm"}``.
    """

def search_probe(report_json: str) -> str:
    """Read the probe that a run is; JSON. Raises Refused for a run that belongs to no search.

    JSON: ``{"id", "scenario", "target_url", "settings", "plan_hash", "probe"}``.
    """

def search_state(search_json: str) -> str:
    """Judge a search by its probes; JSON, as ``proto/schema/search.json`` describes it.

    ``search_json``: ``{"id", "scenario", "target_url", "settings", "probes"}``.
    """

def compare_max_rates(current_json: str, baseline_json: str, threshold_pct: float) -> str:
    """Compare the results of two searches; JSON. Raises Refused for an invalid threshold."""

def parts_of_report(report_json: str) -> str:
    """Take a report for comparisons, as one part without tasks; JSON.

    Raises Refused for another text.
    """

def compare(current_json: str, baseline_json: str, threshold_pct: float) -> str:
    """Compare the parts of a run with a JSON list of those of others.

    JSON: proto/schema/comparison.json. Raises Refused for what are no parts, for an empty list and
    a negative threshold.
    """

@final
class RowFile:
    """A file of rows; all of them are well formed."""

    bytes: int
    """Size of the file."""
    sha256: str
    """Hash of the file in hex."""
    python_only: str | None
    """Why compiled code has no form for one of its rows: the predicate of a sentence about it."""

    def __new__(cls, path: Path, form: Literal["csv", "json_lines"]) -> Self:
        """Check all rows in one pass, which takes memory for a few rows only.

        Raises OSError for a file that cannot be read, ValueError that names line and column.
        """

    def __len__(self) -> int:
        """Return the number of rows."""

    def row(self, place: int) -> dict[str, str] | str:
        """Read a row, from 0: of CSV a dict, of JSON lines the text of its line.

        Raises OSError when the file was changed since it was checked.
        """

def new_run_id() -> str:
    """Create the id of a run."""

def run_file_signer(path: Path) -> str | None:
    """Return the public key that signed a run file; None without a signature.

    Raises Refused for a damaged file or a signature that is not that of its key.
    """

def seal_states(key: str, shared: str, users: list[str] | None) -> bytes:
    """Encrypt prepared states, each as JSON, with a key of 64 hex digits, used only once."""

def open_states(sealed: bytes, key: str) -> tuple[str, list[str] | None]:
    """Decrypt the shared state and that of each user, as JSON; ValueError for a wrong key."""

def shown_address(url: str) -> str:
    """Return an address of NATS without user and password."""

def new_nats_key(kind: Literal["operator", "account", "user"] = "user") -> tuple[str, str]:
    """Return seed and public half of a new key of NATS."""

def nats_key(seed: str) -> tuple[Literal["operator", "account", "user"], str]:
    """Return kind and public half of the key with this seed; ValueError for another text."""

def sign_with_nats_key(seed: str, text: bytes) -> bytes:
    """Return the Ed25519 signature of a text, 64 bytes; ValueError for a text that is no seed."""

def token_exposed_to(url: str, has_token: bool) -> str | None:
    """Return the first host to which a token would travel unencrypted; None if there is none."""

def account(server: Server) -> str:
    """Return what the account of a server allows and uses, as JSON; creates nothing.

    Raises Fault when the server cannot be reached or has no JetStream.
    """

def wrong_api_prefix(domain: str | None, prefix: str | None) -> tuple[str, str, str] | None:
    """Return flag, rule and value of a wrong domain or prefix of JetStream; None if it is fine."""

def use_one_malloc_arena() -> None:
    """Keep all threads of this process to one arena of glibc's malloc, which takes less memory."""

def plan_gates(plan_json: str) -> str:
    """List the gates of a plan; JSON: ``[{"key", "operator", "limit"}]``.

    Raises ValueError when it is not a plan.
    """

def metric_keys() -> list[str]:
    """List the keys of all built-in metrics of thresholds."""

def figure_keys() -> list[str]:
    """List the figures of custom metrics that a threshold can name."""

def measure(kind: str, name: str, value: float) -> None:
    """Add a value to a metric of this thread's current user; ignored outside of tasks."""

def build_text(commit: str | None = None) -> str:
    """Write version, commit and build profile, as all programs say them."""

def coordinator_main(argv: list[str], commit: str | None = None) -> int:
    """Run a coordinator; returns the exit code. ``commit`` is what ``--version`` says."""

def agent_main(argv: list[str], commit: str | None = None) -> int:
    """Run an agent; returns the exit code. ``commit`` is what ``--version`` says."""

def supervisor_main(argv: list[str]) -> int:
    """Run a local stack; returns the exit code."""

def drawn() -> int:
    """Draw the next random value of the current part, uniform over 64 bits."""

def due_us() -> int:
    """Return the due time of the current part, in µs since 1970."""

def row(feed: int) -> int:
    """Return the row of a feed that the current part takes; ``feed`` is its index in the plan.

    Rows count from 0. Raises LookupError when the task takes no rows.
    """

@final
class Request:
    """An encoded request of a task, ready to be sent."""

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
        """Return the request that follows a redirect; name, time-out and stream options stay."""
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes | None: ...

@final
class CurrentUser:
    """One user: random values, rows and metric values between begin and end are its own."""

    def begin(self) -> None:
        """Make this user the current one."""

    def end(self) -> None:
        """Leave the thread without a current user."""

def get_current_user() -> CurrentUser | None:
    """Return the current user of this thread; None if there is none."""

def moves() -> int:
    """Return a counter that is odd while a user's code runs, and changes at each switch."""

def note_blocking(message: str) -> None:
    """Report that the code that runs right now blocks all users of the thread."""

def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in the code of a thread, as soon as it executes Python."""

@final
class Response:
    """The response to one request of a task."""

    @property
    def status_code(self) -> int:
        """HTTP status."""

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""

    @property
    def content(self) -> bytes:
        """Body, with gzip, deflate, br and zstd decoded; ValueError for a broken or other one."""

    @property
    def text(self) -> str:
        """Body as text, by the charset of the content type; default UTF-8."""

    @property
    def headers(self) -> Headers:
        """Headers; names in any case."""

    @property
    def elapsed_ms(self) -> float:
        """Time from dispatch to the last byte, in ms."""

    def json(self) -> Any:
        """Parse the body as JSON; raises ValueError for invalid JSON."""

    def events(self) -> Iterator[Event]:
        """Parse the server-sent events of a stream that has ended."""

    def iter_lines(self) -> Iterator[str]:
        """Return the body line by line."""

    def raise_for_status(self) -> None:
        """Raise HTTPStatusError for a status of 400 or more."""

    def __await__(self) -> Generator[Any, Any, Response]:
        """In an ``async def`` a request is sent when it is awaited."""

@final
class Player:
    """Plays hooks of a scenario on the submitter, one at a time, on a thread of its own."""

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
        """Take a valid plan and a ``loadpilot.play.local_runner.LocalScenario``.

        Raises ValueError.
        """

    def once(self, place: int) -> None:
        """Start a setup or teardown, by its index in the scenario's list ``once``."""

    def prepare(self) -> None:
        """Start ``on_start`` of all users."""

    def retire(self) -> None:
        """Start ``on_stop`` of the prepared users."""

    def wait(self, timeout_secs: float) -> str | None:
        """Wait for the hook to end; None while it runs, else its error, empty without one."""

    def call_off(self) -> None:
        """Cancel the hook as soon as it waits for a response or a sleep."""

    def close(self, timeout_secs: float) -> bool:
        """End the thread; False if it has not ended in time."""

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
    def send(self, requests: Request | list[Request]) -> Any:
        """Send encoded requests; returns the response, or an awaitable of it."""

    is_in_step: bool
    """Whether the user is in a step, which becomes part of the names of its requests."""

    def stir(self) -> None:
        """Make the engine read the requests of the user's part on the event loop."""

@final
class Session:
    """A connection to a log."""

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
    def join(server: Server) -> Session:
        """Connect to the log of a fleet, to request runs.

        Raises Fault, with what to do, when there is none; Refused for a wrong tenant.
        """

    @staticmethod
    def visit(server: Server) -> Session:
        """Connect to the log of a fleet, to read it; raises Refused if there is none."""

    @staticmethod
    def reach(server: Server) -> Session:
        """Connect to a fleet without its log, which may be gone: `halt` needs none."""

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes | Path] = ...,
        run: str | None = None,
    ) -> str:
        """Store a RunRequested with its secrets and bodies; returns the run id.

        ``run`` is its id from :func:`new_run_id`; default: a new one. ``bodies`` holds the objects
        beside the plan, by SHA-256 in hex. The session renews the ownership in the background
        while it is open. Raises Refused, Fault.
        """

    judges: ClassVar[bool]
    """Whether a watch can judge gates."""

    def watch(
        self, run: str, interval_secs: float = 1.0, *, gates: bool = False, hold: bool = False
    ) -> Watch:
        """Follow a run, with a snapshot every so many seconds.

        With ``gates`` they are judged at most once a second; with ``hold`` the rate of a run that
        holds gates is changed by them. Raises ValueError for 0 seconds.
        """

    def replay(
        self,
        run: str,
        speed: float = 1.0,
        from_us: int = 0,
        interval_secs: float = 1.0,
        *,
        gates: bool = False,
    ) -> Watch:
        """Replay a run that is over, from ``from_us`` after its start: what a watch brought.

        ``speed`` is the time of the run per time of the reader. A snapshot comes every
        ``interval_secs``, at least one for each second of the run; what it shows is what the
        report as of its time holds. Raises Refused for a run that is not over or never started.
        """

    def stop(self, run: str, by: str, breach: tuple[str, float, float] | None = None) -> None:
        """Request a stop: no further arrival starts, arrivals in flight finish.

        ``breach`` is the key, the limit and the figure of the gate that is the reason.
        """

    def annotations(self, run: str) -> str:
        """Read the notes of a run and its mark as a baseline, as JSON. Raises Refused, Fault."""

    def annotate(
        self, run: str, by: str, text: str | None = None, baseline: bool | None = None
    ) -> str:
        """Add a note to a run that is over, or set its mark as a baseline; then as `annotations`.

        Raises Refused for a run that is unknown or not over, and for a note that is empty, longer
        than 2,000 characters or one of more than 100; Fault.
        """

    def steer(
        self, run: str, action: str, by: str, patience_secs: float, rate_urps: int | None = None
    ) -> str:
        """Request ``stop``, ``rate`` (then ``rate_urps``), ``pause`` or ``resume``, and wait.

        JSON of the result: ``{"answer": …}``. Raises Refused for an unknown run, Fault.
        """

    def agents(self, patience_secs: float) -> str:
        """List the agents that answer in time; JSON: a list. Raises Fault."""

    def unfinished(self, run: str) -> str:
        """Describe an unfinished run; JSON: ``{"plan", "agents": {"want", …}}``.

        Raises Refused for an unknown or finished run.
        """

    def adopt(self, run: str) -> None:
        """Renew the ownership of a run in place of its submitter; raises as unfinished."""

    def halt(self, run: str) -> None:
        """Abort a run: arrivals in flight are cancelled."""

    def report(self, run: str) -> str:
        """Fold a run's log; JSON of its report."""

    def plan(self, run: str) -> str:
        """Return the plan of a run as JSON. Raises Refused for an unknown run."""

    def bodies(self, run: str) -> dict[str, bytes]:
        """Return the stored bodies of a run's plan by SHA-256, without those that were removed.

        Raises Refused for an unknown run, and for more bytes than may be posted.
        """

    def verify(self, run: str, known_json: str | None = None) -> str:
        """Check every invariant of a run's log; JSON of the findings.

        ``known_json`` is the report of a results file: its digest must be the log's. Raises
        ValueError when it is not a report.
        """

    @staticmethod
    def on_file(path: Path) -> Session:
        """Open the run in a file, to read it; raises Refused for a damaged or foreign file."""

    def export(self, run: str, path: Path, *, redact: bool = False, seed: str | None = None) -> str:
        """Write a run that is over to a file; ``seed`` is the nkey seed that signs it.

        JSON: ``{"records", "objects", "objects_gone", "bytes"}``. Raises Refused, Fault.
        """

    def parts(self, run: str) -> str:
        """Cut a run into parts for comparisons; JSON: proto/schema/run-parts.json.

        Raises Refused for a run that was never created, Fault.
        """

    def samples(self, run: str, path: Path) -> str:
        """Write the sampled calls of a run to a CSV file, one per row.

        JSON: ``{"rows", "dropped", "unreadable"}``. Raises Refused for a plan without samples,
        Fault, OSError.
        """

    def read_samples(
        self,
        run: str,
        slice_json: str = "{}",
        form: Literal["table", "vegeta", "json"] = "table",
    ) -> Samples:
        """Open the sampled calls of a run, those of a slice's times and tasks.

        Raises Refused for a plan without samples and an invalid slice, Fault.
        """

    def runs(self) -> str:
        """List the runs of this log, newest last; JSON."""

    def prune(self, runs: list[str], *, forgets: bool = False) -> int:
        """Delete runs from the log; returns their number.

        Raises Refused, also when the teardown of one is owed, unless ``forgets``.
        """

    def read(self, run: str, cache: Path | None = None) -> Reading:
        """Read a run's log and index it.

        ``cache`` is a folder that makes the next reading faster; it may be deleted at any time.
        Raises Refused for an unknown run, Fault.
        """

    def log_state(self) -> str:
        """Return the last sequences of the streams; JSON: ``{"ctl_seq", "data_seq"}``."""

    def ledger(self, run: str, claimant: str) -> Ledger:
        """Open the teardown claims of a run, for a command of this name."""

    def close(self) -> None:
        """End the connection and the renewal of ownership."""

@final
class Ledger:
    """The setup and teardown claims of one run, for one command."""

    def owed(self) -> str:
        """Return whether the teardown is owed, and by which setup.

        JSON: ``{"setup", "is_owed", "asked", "over", "holder"}``.
        """

    def claim_setup(self, claim_json: str, bundle: bytes, secrets: dict[str, str]) -> None:
        """Claim setup and teardown for this command; raises Refused if another one was first."""

    def keep(self, sealed: bytes, key: str) -> None:
        """Store the state that the setup has left so far, for the teardown."""

    def claim_teardown(self, by: str, is_gone: bool) -> str:
        """Claim the teardown for this command.

        JSON: ``{"claim"}``: taken, settled, not_over or held. Without ``is_gone`` it waits 10 s
        for a sign of life of the present holder.
        """

    def finish(self, names: list[str]) -> None:
        """Record that the teardown ran and which hooks failed, and delete its secrets."""

    def means(self) -> str:
        """Read secrets and key; JSON: ``{"secrets", "left", "key"}``, null for expired ones."""

    def read_archive(self, states: bool) -> bytes:
        """Read the archive of the files, or the states; raises Refused when it is absent."""

@final
class Reading:
    """One run's log, folded and indexed; usable from any thread.

    Results are JSON of the types in ``proto/schema``. JSON arguments are checked: Refused names
    field, rule and value. ``as_of_us`` is an instant of the run, in µs after its start: the result
    holds what the log held at that time.
    """

    def refresh(self) -> bool:
        """Read the events appended since; returns whether any is of this run."""

    def position(self) -> str:
        """Return the last sequences read; JSON: ``{"ctl_seq", "evt_seq", "data_seq", "over"}``."""

    def settled_us(self) -> int | None:
        """Return the time up to which all arrivals have ended, in µs after the start.

        It is whole ticks, by the newest deltas of a run that is not over; what was silent may still
        add to them. None for a run that is over, and before its start.
        """

    def metrics(
        self, system: Literal["prometheus", "otlp"], now_us: int
    ) -> tuple[bytes, int] | None:
        """Write counters and histograms since the start; returns the body of a request.

        The second value is the number of its points. None before the start of the run.
        """

    def figures(
        self, exporter: Literal["command", "gateway"], now_us: int, tenant: str | None = None
    ) -> MetricFigures | None:
        """Compute what a scrape at ``now_us`` shows of what was read so far.

        With a tenant each of its points has that label. None before the run is created.
        """

    def open_metrics(self, every_us: int | None = None) -> list[str]:
        """Write the figures of a run that started over its time, as pieces of OpenMetrics.

        Raises Refused for a run that never started, and where the text gets too long.
        """

    def report(
        self,
        as_of_us: int | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
    ) -> str:
        """Close the fold; JSON of a report, the same as that of :meth:`Session.report`.

        With ``from_us`` or ``to_us``, in µs after the start and whole ticks, it is the report of
        the arrivals that are due in that part of the run.
        """

    def load_index(self) -> None:
        """Read the index now: without its log, a question cannot fall back on that."""

    def report_without_series(self) -> str:
        """Close the fold; JSON of the report of the whole run, ``series`` and ``digest`` empty."""

    def series(self, slice_json: str) -> str:
        """Compute the figures of a slice over time; JSON of a series."""

    def heat(self, slice_json: str) -> str:
        """Compute the distribution of response times of a slice over time; JSON of a heat."""

    def histograms(self, slice_json: str) -> str:
        """Return the distributions of a slice, stored, for each bucket of its series.

        JSON: ``{"response": […], "service": […]}``.
        """

    def histogram_log(self, slice_json: str, *, uncorrected: bool = False) -> str:
        """Write a slice as a histogram log of HdrHistogram, an interval for each bucket."""

    def percentile_text(self, slice_json: str, *, uncorrected: bool = False) -> str:
        """Write the distribution of a slice as text in the form of wrk2.

        Without ``from_us`` the warm-up is left out.
        """

    def errors(self, slice_json: str) -> str:
        """List the errors in a slice, per call; JSON of errors."""

    def agents(self, as_of_us: int | None = None) -> str:
        """Compute the figures of each agent over time; JSON of an attendance."""

    def story(self, after: int, limit: int) -> str:
        """Return at most ``limit`` lines after a sequence; JSON: ``{"lines", "next"}``."""

    def parts(self) -> str:
        """Cut the run into parts for comparisons; JSON: proto/schema/run-parts.json."""

    def versus(self, threshold_pct: float) -> str:
        """Compare the two targets of the run; JSON: proto/schema/versus.json.

        Raises Refused for a run of another kind.
        """

    def verdict(self, question_json: str) -> str:
        """Judge the run by other gates or a part of it; JSON: what-if to what-if-answer."""

@final
class Samples:
    """Sampled calls that are read from a log, once: as text or as columns."""

    def text(self) -> str | None:
        """Return the next piece of text, about a megabyte; None at the end."""

    def columns(self) -> dict[str, Any] | None:
        """Return the next rows, some ten thousand, as columns; None at the end.

        Each column is native-endian 64-bit integers, with -1 for an absent value. ``names`` has the
        names that the numbers of ``task``, ``call``, ``agent`` and ``outcome`` mean.
        """

    def read(self) -> str:
        """Count what was read so far; JSON: ``{"rows", "dropped", "unreadable"}``."""

@final
class Watch:
    """A follower of a run in progress."""

    def next(self, timeout_secs: float) -> str | None:
        """Wait for the next change; None if there is none in time.

        JSON: ``{"snapshot": …}``, ``{"gates": […]}`` (threshold results of a report),
        ``{"story": …}`` or ``{"sealed": true}``.
        """

@final
class Wanted:
    """The next action of a rehearsed user: the first field that is not None, else it has ended."""

    sends: tuple[str, str, list[tuple[str, str]], bytes | None, int | None, str | None] | None
    """Method, path, headers, body, time-out in µs, name."""
    batch: list[tuple[str, str, list[tuple[str, str]], bytes | None, int | None, str | None]] | None
    """Concurrent requests, each as in ``sends``."""
    rests_us: int | None
    """Duration of a sleep, in µs."""
    check: tuple[bool, str] | None
    """Whether the check passed, and its message; None without a check."""
    raised: str | None
    """Error that the part raised."""
    measured: list[str]
    """Values added to metrics, as text, when the part has ended."""

@final
class RehearsedUser:
    """A user without a run; a test supplies all responses."""

    def begin(self, part: int, arrival: int = 0, due_us: int = 0) -> Wanted:
        """Begin ``on_start`` (-1), ``on_stop`` (-2) or a task, by its index.

        A task is performed for the arrival of this number, due at ``due_us`` µs after 1970.
        """

    def all_answered(self, supplied: list[tuple[int, bytes, bytes] | str]) -> Wanted:
        """Deliver the results of a batch: responses, "timed out", "stopped", or why unsendable."""

    def answered(self, status: int, head: bytes, body: bytes) -> Wanted:
        """Deliver a response."""

    def timed_out(self) -> Wanted:
        """Deliver a time-out."""

    def unsendable(self, why: str) -> Wanted:
        """Deliver the reason why the request cannot be sent."""

    def rested(self) -> Wanted:
        """End the sleep."""

    def stopped(self) -> Wanted:
        """Deliver the end of the run."""

@final
class Rehearsal:
    """A scenario without a run, for tests that compare compiled code with Python."""

    @staticmethod
    def in_python(bundle: bytes, file: str, plan: str, seed: int = 0) -> Rehearsal:
        """Load the scenario of a plan as an agent does that runs it in Python."""

    @staticmethod
    def in_code(plan: str, rows: bytes | None = None, seed: int = 0) -> Rehearsal:
        """Take the code of a plan, and the rows of its feeds."""

    def user(self) -> RehearsedUser:
        """Create a user that has done nothing yet."""
