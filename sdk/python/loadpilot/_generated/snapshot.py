"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from pydantic import BaseModel, Field


class Cause(StrEnum):
    """
    Why a call got no complete answer.
    """

    name_not_resolved = "name_not_resolved"
    """
    The target's name was not resolved.
    """
    no_such_address = "no_such_address"
    """
    It has no address of the kind that was asked for.
    """
    refused = "refused"
    """
    Nobody listens, or the list of waiting connections is full (ECONNREFUSED).
    """
    reset = "reset"
    """
    The peer cut the connection off (ECONNRESET, ECONNABORTED).
    """
    broken_pipe = "broken_pipe"
    """
    Written to a connection that the peer had closed (EPIPE).
    """
    unreachable = "unreachable"
    """
    No way there (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    """
    system_timeout = "system_timeout"
    """
    The system gave up on a peer that acknowledged nothing (ETIMEDOUT).
    """
    denied = "denied"
    """
    The system or a firewall forbids it (EACCES, EPERM).
    """
    no_such_socket = "no_such_socket"
    """
    No socket at the path (ENOENT).
    """
    unanswered = "unanswered"
    """
    The peer closed before the first byte of an answer.
    """
    truncated = "truncated"
    """
    The peer closed inside an answer.
    """
    not_http = "not_http"
    """
    What came was not HTTP.
    """
    too_long = "too_long"
    """
    A head, trailers or a line of chunks beyond its limit.
    """
    http2 = "http2"
    """
    The peer broke the rules of HTTP/2, or says that we did.
    """
    stream_reset = "stream_reset"
    """
    The peer reset the stream of HTTP/2.
    """
    gone_away = "gone_away"
    """
    The peer closed the connection of HTTP/2 in an orderly way before the answer (GOAWAY).
    """
    certificate_untrusted = "certificate_untrusted"
    """
    Nobody we trust vouches for the certificate.
    """
    certificate_expired = "certificate_expired"
    """
    The certificate is out of its time.
    """
    certificate_other_name = "certificate_other_name"
    """
    The certificate is for another name.
    """
    certificate_invalid = "certificate_invalid"
    """
    The certificate is wrong in another way.
    """
    client_certificate = "client_certificate"
    """
    The target wants a client certificate, or another one.
    """
    tls_mismatch = "tls_mismatch"
    """
    No version, cipher or protocol in common.
    """
    tls_alert = "tls_alert"
    """
    The target ended TLS with another alert.
    """
    not_tls = "not_tls"
    """
    What came was not TLS.
    """
    no_ports = "no_ports"
    """
    No local port left (EADDRNOTAVAIL, EADDRINUSE).
    """
    no_fds = "no_fds"
    """
    No file descriptor left (EMFILE, ENFILE).
    """
    no_memory = "no_memory"
    """
    No memory left (ENOMEM, ENOBUFS).
    """
    while_resolving = "while_resolving"
    """
    Cut off while the name was resolved.
    """
    while_connecting = "while_connecting"
    """
    Cut off while the connection was opened.
    """
    while_securing = "while_securing"
    """
    Cut off inside the TLS handshake.
    """
    while_waiting_for_a_stream = "while_waiting_for_a_stream"
    """
    Cut off while it waited for a stream of HTTP/2.
    """
    while_sending = "while_sending"
    """
    Cut off while the request was written.
    """
    before_first_byte = "before_first_byte"
    """
    Cut off before the first byte of the answer.
    """
    before_last_byte = "before_last_byte"
    """
    Cut off before the last byte of the answer.
    """
    other = "other"
    """
    Something else; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    """
    not_allowed = "not_allowed"
    """
    The agent may not connect there (`--allow-target`).
    """


class Failing(BaseModel):
    """
    The most frequent cause of the calls without a complete answer so far.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    How many calls failed by it.
    """
    cause: Cause
    """
    The cause.
    """
    unreached: bool
    """
    Whether no call has reached a server so far.
    """
    why: str
    """
    The same for people.
    """


class Gathering(BaseModel):
    """
    A run that waits for its agents.
    """

    left_secs: float
    """
    Seconds until then, on the reader's clock.
    """
    min: Annotated[int, Field(ge=0)]
    """
    Agents that suffice when the wait is over.
    """
    ready: Annotated[int, Field(ge=0)]
    """
    Agents that offered capacity.
    """
    want: Annotated[int, Field(ge=0)]
    """
    Agents that it waits for.
    """


class LatencyMs(BaseModel):
    """
    Response times in ms, corrected; null when nothing finished.
    """

    max_ms: float | None = None
    mean_ms: float | None = None
    min_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


class LoadPhase(StrEnum):
    """
    Where the offered rate is heading.
    """

    waiting = "waiting"
    """
    Not started yet.
    """
    ramp_up = "ramp_up"
    """
    The rate rises.
    """
    steady = "steady"
    """
    The rate holds.
    """
    ramp_down = "ramp_down"
    """
    The rate falls.
    """
    done = "done"
    """
    The profile is over.
    """


class RunState(StrEnum):
    """
    Where a run stands.
    """

    requested = "requested"
    """
    Asked for, not decided.
    """
    refused = "refused"
    """
    Refused: nothing was started.
    """
    gathering = "gathering"
    """
    Waiting for agents to offer.
    """
    preparing = "preparing"
    """
    Waiting for holders to be ready.
    """
    running = "running"
    """
    Scheduled or running.
    """
    stopping = "stopping"
    """
    Stopping: in-flight calls finish.
    """
    sealed = "sealed"
    """
    Over; the report is final.
    """


class TaskSnapshot(BaseModel):
    """
    One task so far.
    """

    errors: Annotated[int, Field(ge=0)]
    """
    Those that finished and were not ok, and its raises, as in a report.
    """
    latency: LatencyMs
    """
    Their response time.
    """
    name: str
    """
    Its name.
    """
    requests: Annotated[int, Field(ge=0)]
    """
    Its ended calls.
    """


class Snapshot(BaseModel):
    """
    The run as of one instant.
    """

    active_workers: Annotated[int, Field(ge=0)]
    """
    Holders that reported lately.
    """
    arrivals_dropped: Annotated[int, Field(ge=0)]
    """
    Arrivals dropped so far, as reported.
    """
    arrivals_per_sec: float = 0.0
    """
    Started arrivals per second over the newest deltas.
    """
    arrivals_started: Annotated[int, Field(ge=0)]
    """
    Arrivals started so far, as reported.
    """
    current_rps: float
    """
    Finished calls per second over the newest deltas.
    """
    duration_secs: float
    """
    Length of the profile in seconds.
    """
    elapsed_secs: float
    """
    Seconds since the start; 0 before it.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Finished calls that were not ok so far, as reported, and tasks that raised, as in a report.
    """
    failing: Failing | None = None
    """
    Why calls get no complete answer; absent while all get one, or nothing is known of it.
    """
    gathering: Gathering | None = None
    """
    While it waits for agents: how many there are.
    """
    in_flight: Annotated[int, Field(ge=0)]
    """
    Arrivals in flight, as last reported.
    """
    latency: LatencyMs
    """
    Response time of what finished in the newest delta of each agent.
    """
    latency_cumulative: LatencyMs
    """
    Response time of everything that has finished so far.
    """
    oldest_ms: float
    """
    Age of the oldest arrival in flight or waiting, as last reported, in ms.
    """
    opened_per_sec: float = 0.0
    """
    Connections opened per second over the newest deltas; with https these are handshakes.
    """
    paused: bool | None = None
    """
    Whether it is paused: nothing is started, and its time goes on.
    """
    phase: LoadPhase
    """
    Where the offered rate is heading.
    """
    planned_per_sec: float = 0.0
    """
    Planned arrivals per second over the same time; 0 in a closed loop.
    """
    raised_without_call: Annotated[int | None, Field(ge=0)] = None
    """
    Tasks that raised without a call so far: errors beside `requests_total`.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Calls ended so far, as reported.
    """
    reused_pct: float | None = None
    """
    Calls of the newest deltas that used an open connection, in percent of those that got one;
    null when none did.
    """
    state: RunState
    """
    Where the run stands.
    """
    target_rps: float
    """
    The planned rate at this instant, arrivals per second.
    """
    tasks: list[TaskSnapshot]
    """
    Per task, everything so far.
    """
    timestamp_secs: float
    """
    The instant, in seconds since the Unix epoch, on the reader's clock.
    """
    waiting: Annotated[int, Field(ge=0)]
    """
    Arrivals waiting for a slot, as last reported.
    """
