"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, StringConstraints
from typing_extensions import TypeAliasType
from enum import StrEnum


CausesAdditionalProperty = TypeAliasType("CausesAdditionalProperty", Annotated[int, Field(ge=0)])


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class CallErrors(BaseModel):
    """
    Errors of one call.
    """

    call: str
    """
    Name of the call.
    """
    causes: dict[str, dict[str, CausesAdditionalProperty]]
    """
    Number of calls without a complete response, by outcome and cause.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of those that were not ok.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls of the slice.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    Number of calls by outcome, ok and unfinished ones included.
    """
    status: dict[str, dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]]
    """
    Number of responses by outcome and status code.
    """


class Cause(StrEnum):
    """
    Why a call got no complete response.
    """

    name_not_resolved = "name_not_resolved"
    """
    The target's name was not resolved.
    """
    no_such_address = "no_such_address"
    """
    The target has no address of the required family.
    """
    refused = "refused"
    """
    No process listens, or the listener's queue is full (ECONNREFUSED).
    """
    reset = "reset"
    """
    The peer reset the connection (ECONNRESET, ECONNABORTED).
    """
    broken_pipe = "broken_pipe"
    """
    The agent wrote to a connection that the peer had closed (EPIPE).
    """
    unreachable = "unreachable"
    """
    No route to the target (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    """
    system_timeout = "system_timeout"
    """
    The peer acknowledged nothing and the system gave up (ETIMEDOUT).
    """
    denied = "denied"
    """
    The system or a firewall denies the connection (EACCES, EPERM).
    """
    no_such_socket = "no_such_socket"
    """
    No socket at the path (ENOENT).
    """
    unanswered = "unanswered"
    """
    The peer closed the connection before the first byte of a response.
    """
    truncated = "truncated"
    """
    The peer closed the connection inside a response.
    """
    not_http = "not_http"
    """
    The response was not HTTP.
    """
    too_long = "too_long"
    """
    A response head, trailers or a chunk line exceeds its limit.
    """
    http2 = "http2"
    """
    The peer violated HTTP/2, or reports that the agent did.
    """
    stream_reset = "stream_reset"
    """
    The peer reset the HTTP/2 stream.
    """
    gone_away = "gone_away"
    """
    The peer closed the HTTP/2 connection in an orderly way before the response (GOAWAY).
    """
    certificate_untrusted = "certificate_untrusted"
    """
    No trusted authority signed the certificate.
    """
    certificate_expired = "certificate_expired"
    """
    The certificate has expired or is not valid yet.
    """
    certificate_other_name = "certificate_other_name"
    """
    The certificate is for another name.
    """
    certificate_invalid = "certificate_invalid"
    """
    The certificate is invalid for another reason.
    """
    client_certificate = "client_certificate"
    """
    The target requires a client certificate, or another one.
    """
    tls_mismatch = "tls_mismatch"
    """
    No TLS version, cipher or protocol in common.
    """
    tls_alert = "tls_alert"
    """
    The target ended TLS with another alert.
    """
    not_tls = "not_tls"
    """
    The peer's bytes were not TLS.
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
    Cut off during the resolution of the name.
    """
    while_connecting = "while_connecting"
    """
    Cut off during the connect.
    """
    while_securing = "while_securing"
    """
    Cut off during the TLS handshake.
    """
    while_waiting_for_a_stream = "while_waiting_for_a_stream"
    """
    Cut off while the call waited for an HTTP/2 stream.
    """
    while_sending = "while_sending"
    """
    Cut off while the request was written.
    """
    before_first_byte = "before_first_byte"
    """
    Cut off before the first byte of the response.
    """
    before_last_byte = "before_last_byte"
    """
    Cut off before the last byte of the response.
    """
    other = "other"
    """
    Another cause; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    """
    not_allowed = "not_allowed"
    """
    The agent may not connect there (`--allow-target`).
    """
    proxy_credentials = "proxy_credentials"
    """
    The proxy requires credentials, or others.
    """
    proxy_refused = "proxy_refused"
    """
    The proxy refuses to connect to the target.
    """
    proxy_no_connection = "proxy_no_connection"
    """
    The proxy did not reach the target.
    """
    proxy_protocol = "proxy_protocol"
    """
    The proxy closed the connection, or its answer was none of its protocol.
    """


class Outcome(StrEnum):
    """
    How one call ended. A transport error takes precedence over a check, a check over a status.
    """

    ok = "ok"
    """
    Status below 400, or a check passed.
    """
    http_4xx = "http_4xx"
    """
    Status 400–499.
    """
    http_5xx = "http_5xx"
    """
    Status 500 or above.
    """
    check_failed = "check_failed"
    """
    A check of the scenario rejected the response.
    """
    connect = "connect"
    """
    No connection: refused, unreachable, name not found.
    """
    tls = "tls"
    """
    The TLS handshake failed.
    """
    timeout = "timeout"
    """
    No complete response within the timeout, counted from dispatch.
    """
    io = "io"
    """
    The connection broke or the response was not HTTP.
    """
    local = "local"
    """
    The load generator lacked ports, file descriptors or memory: not the target's fault.
    """
    cancelled = "cancelled"
    """
    Cut off by the end of the run or by an abort.
    """
    indeterminate = "indeterminate"
    """
    Sent, and the agent died before the end of the call.
    """


class RaisedBy(StrEnum):
    """
    Part of a Python scenario that raised an error, or another remark about it.
    """

    check = "check"
    """
    `check_…`: the call that it examined counts as `check_failed`.
    """
    task = "task"
    """
    The task itself: its arrival counts as a task error.
    """
    blocking = "blocking"
    """
    No error: the task blocked every user of its agent.
    """


class TaskRaises(BaseModel):
    """
    Number of arrivals whose task raised an error, by how their last call ended.
    """

    after_failed: Annotated[int | None, Field(ge=0)] = None
    """
    The last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: Annotated[int | None, Field(ge=0)] = None
    """
    The last call was ok; it counts as failed (`task_error`).
    """
    without_call: Annotated[int | None, Field(ge=0)] = None
    """
    The task made no call; each counts as one more finished call that failed.
    """


class ExchangeSeen(BaseModel):
    """
    One exchange: of the first arrivals of a run (see [`crate::plan::Plan::debug_requests`]), or one
    that failed.
    """

    answer: list[str]
    """
    Status line and header lines of the response, secrets masked, cut where they are too long;
    empty without a response.
    """
    arrival: Annotated[int, Field(ge=0)]
    """
    Number of the arrival; in a closed loop of the user.
    """
    body: str | None = None
    """
    Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
    where it is no text.
    """
    call: Annotated[int, Field(ge=0, le=65535)]
    """
    Index of the call in the plan's list of calls.
    """
    cause: Cause | None = None
    """
    Why there is no complete response. Absent: there is one, or the cause is unknown.
    """
    outcome: Outcome
    """
    How the call ended.
    """
    received_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes received, headers included where the HTTP engine sees them.
    """
    request: list[str]
    """
    Request line and header lines, secrets masked.
    """
    request_body_bytes: Annotated[int, Field(ge=0)]
    """
    Size of the request's body in bytes.
    """
    response_us: Annotated[int, Field(ge=0)]
    """
    Response time, end − due, in µs.
    """


class FailureExample(BaseModel):
    """
    A call that failed, as text.
    """

    call: str
    """
    Name of the call.
    """
    exchange: ExchangeSeen
    """
    Request and response.
    """
    task: str
    """
    Name of the task.
    """


class Raised(BaseModel):
    """
    Error that a check or a task raised, with its count in the whole run.
    """

    by: RaisedBy
    """
    Part of the scenario that raised it.
    """
    count: Annotated[int, Field(ge=0)]
    """
    Number of times.
    """
    text: str
    """
    Type of the error, its message and its line.
    """
    trace: str | None = None
    """
    Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
    one per line. Absent: no agent reported one.
    """


class TaskErrors(BaseModel):
    """
    Errors of one task.
    """

    calls: list[CallErrors]
    """
    Calls of the plan in order, then those made in Python by name.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of those that were not ok; by rules 2 including the last call of each arrival that
    raised.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls of the slice; by rules 2 plus one for each time that the task
    raised without a call.
    """
    raised: list[Raised]
    """
    Errors that the task and its check raised, the most frequent first, in the whole run: the
    log does not contain their times.
    """
    raised_more: Annotated[int, Field(ge=0)]
    """
    Number of further distinct texts.
    """
    task: str
    """
    Name of the task.
    """
    task_raises: TaskRaises | None = None
    """
    Number of arrivals of the slice that raised an error. Null without any, by rules 1, and
    where calls or outcomes are selected.
    """


class Errors(BaseModel):
    """
    Calls of a slice that were not ok, by how they ended.
    """

    examples: list[FailureExample] | None = None
    """
    Examples of failed calls in the whole run: the first of each call and outcome.
    """
    run: str
    """
    Id of the run.
    """
    tasks: list[TaskErrors]
    """
    Tasks, in the order of the plan.
    """
