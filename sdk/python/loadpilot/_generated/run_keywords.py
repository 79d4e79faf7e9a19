"""Written by `./dev gen` from the flags of `loadpilot run`: never edit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict


class RunKeywords(TypedDict, total=False):
    """Keywords of `loadpilot.run`; each is the flag of `loadpilot run` with the same name."""

    target: Sequence[str] | None
    """
    `--target`: Target of the load, http://host[:port][/path]; paths of calls are below the
    path. Repeatable: arrivals take the targets in turn.
    """

    rps: str | float | None
    """
    `--rps`: Peak rate of arrivals: 50, 0.5, 50/s, 3000/m.
    """

    users: int | None
    """
    `--users`: Number of users of a closed loop, instead of a rate: each starts its next task
    when its last one ended. Latency is then not counted from a schedule.
    """

    user_stages: str | Sequence[tuple[str | float, str | float]] | None
    """
    `--user-stages`: Closed loop whose number of users follows stages, instead of users and
    duration: 30s:200,2m:200,30s:0. Linear from the stage before, from 0 at first.
    """

    duration: str | float | None
    """
    `--duration`: Duration of the run, in mode ramp of its part after the ramp: 500ms, 30s,
    2m30s, 1h, or seconds. A longer ramp of the scenario is shortened to it.
    """

    thresholds: Mapping[str, float | str | list[str]] | Sequence[str] | None
    """
    `--threshold`: Gate that fails the run, also TASK:KEY=LIMIT, such as p99_ms=500.
    Repeatable; replaces the scenario's gate of the same key. For a metric of the scenario
    write the side that passes: "orders.count>=100".
    """

    scenario: str | None
    """
    `--scenario`: Scenario to run alone; needed when the file defines several without shares.
    """

    share: Sequence[str] | None
    """
    `--share`: Share of a scenario that runs together with others, relative to theirs:
    Browse=70. Repeatable; 0 leaves the scenario out.
    """

    max: bool | None
    """
    `--max`: As fast as possible: a closed loop of --users, else of the scenario's users, else
    of 64.
    """

    mode: str | None
    """
    `--mode`: Shape of the rate: ramp, constant, step, spike, burst or sine.
    """

    ramp_up: str | float | None
    """
    `--ramp-up`: Duration of the rise from 0 in mode ramp, at most that of the run.
    """

    baseline: str | float | None
    """
    `--baseline`: Lowest rate in mode burst, around the burst, and in mode sine, between the
    waves.
    """

    burst: str | float | None
    """
    `--burst`: Duration of the burst in mode burst, in the middle of the run.
    """

    period: str | float | None
    """
    `--period`: Duration of a wave in mode sine.
    """

    idle: str | float | None
    """
    `--idle`: Duration of a first part without arrivals, before the load.
    """

    stages: str | Sequence[tuple[str | float, str | float]] | None
    """
    `--stages`: Stages with the rate at the end of each, instead of rate, duration and mode:
    30s:50,1m:50.
    """

    replay_curve: str | PathLike[str] | None
    """
    `--replay-curve`: Recorded load to replay, instead of rate, duration and mode: a CSV file
    with second and count, an access log, or timestamps, one a line.
    """

    replay_run: str | PathLike[str] | None
    """
    `--replay-run`: Past run to replay, or its .lprun file: the arrivals that it planned in
    each second.
    """

    scale: str | float | None
    """
    `--scale`: Factor for the arrivals of a recorded load, such as 1.3.
    """

    wait: str | float | None
    """
    `--wait`: Pause of each user of a closed loop between two tasks: 1s; a random one, 1s,3s,
    exponential:median=8s (or mean=) or lognormal:median=8s,p99=45s; or 0.
    """

    session: str | float | None
    """
    `--session`: How long each user of a closed loop stays before a new one takes its place:
    12m; drawn as of --wait, lognormal:median=12m,p99=45m; or 0 for the whole run.
    """

    warm_up: str | float | None
    """
    `--warm-up`: Duration of the first part whose arrivals are left out of gates, rates and
    percentiles.
    """

    env: Mapping[str, str | int | float] | Sequence[str] | None
    """
    `--env`: Parameter that the scenario reads; goes before the environment. Repeatable. Not
    for secrets: other users can read command lines.
    """

    seed: int | None
    """
    `--seed`: Seed of every random choice; each run prints its own.
    """

    no_early_abort: bool | None
    """
    `--no-early-abort`: Go on where every call fails to connect. Without it the run ends with
    exit code 3 when the calls of the first 5 s all fail to connect.
    """

    http: str | float | None
    """
    `--http`: HTTP version. `auto`: an https target chooses.
    """

    connections: int | None
    """
    `--connections`: Maximum number of open connections of each agent. Arrivals that find none
    free wait in the queue. An HTTP/1.1 connection that is idle and not needed for a minute is
    closed.
    """

    open_first: int | None
    """
    `--open-first`: Number of connections that each agent opens, TLS included, before the run
    starts. That many stay open however long they are idle.
    """

    reuse: str | float | None
    """
    `--reuse`: Calls that may use an open connection; a share such as 0.3.
    """

    connect_to: str | None
    """
    `--connect-to`: Connect to host:port or unix:/path instead; Host and TLS keep the target's
    name.
    """

    source: Sequence[str] | None
    """
    `--source`: Local address to connect from, optionally with ports: 10.0.0.5:20000-30000 or
    [fd00::1]:20000-30000. Repeatable; addresses are taken in turn.
    """

    ip: int | None
    """
    `--ip`: Connect to addresses of this IP family only.
    """

    proxy: str | None
    """
    `--proxy`: Proxy for all connections to the target: http://host:port (CONNECT) or
    socks5://host:port. It resolves the target's name. Agents of a fleet need --allow-proxy.
    """

    proxy_credentials_env: str | None
    """
    `--proxy-credentials-env`: Environment variable with user:password for --proxy. They never
    enter plan, log or report.
    """

    redirects: int | None
    """
    `--redirects`: Maximum number of redirects that a call of a task without code follows,
    within the origin of its target and its own time-out. The status is that of the last
    response.
    """

    redirect_to: Sequence[str] | None
    """
    `--redirect-to`: Further origin that --redirects may lead to, such as
    https://login.example. It gets no headers with credentials. Repeatable.
    """

    insecure: bool | None
    """
    `--insecure`: Do not verify the certificate of an https target; the report says so.
    """

    cacert: str | PathLike[str] | None
    """
    `--cacert`: Certificates to trust for the target, PEM.
    """

    cert: str | PathLike[str] | None
    """
    `--cert`: Client certificate, PEM; needs --key.
    """

    key: str | PathLike[str] | None
    """
    `--key`: Private key of --cert, PEM. It never enters plan, log or report.
    """

    allow_target: Sequence[str] | None
    """
    `--allow-target`: Open a target that agents refuse: a network such as 169.254.8.0/24, an
    address, a host name, or unix:/folder for the sockets below it. Repeatable. Refused are
    link-local and cloud metadata addresses, Unix sockets, and always the NATS server of the
    agent. Agents of a fleet have flags of their own.
    """

    id_header: str | None
    """
    `--id-header`: Request header in which each call sends run/arrival/step. As traceparent it
    carries W3C Trace Context: services record a trace of each arrival, which the column
    trace_id of --samples names.
    """

    shortfall: float | None
    """
    `--shortfall`: Maximum share of planned arrivals that were not started; more fails the
    run. Same as --threshold shortfall=PERCENT.
    """

    hold: Mapping[str, float | str | list[str]] | Sequence[str] | None
    """
    `--hold`: Find and hold the highest rate at which this gate holds, from --rps on:
    p99_ms=200. The gate itself does not fail the run. Repeatable.
    """

    abort_on_breach: Sequence[str] | None
    """
    `--abort-on-breach`: Stop the run as soon as this gate fails, at the earliest so long
    after its start: p99_ms,after=30s. Such a run fails. Repeatable.
    """

    strict: bool | None
    """
    `--strict`: Exit with 3 when the certificate is DEGRADED, too.
    """

    report: str | PathLike[str] | None
    """
    `--report`: Write the report to this file as one HTML page, which needs no server.
    """

    results_json: str | PathLike[str] | None
    """
    `--results-json`: Write the full report to this file.
    """

    junit: str | PathLike[str] | None
    """
    `--junit`: Write gates and certificate to this file, as JUnit XML.
    """

    markdown: str | PathLike[str] | None
    """
    `--markdown`: Write a summary to this file, as Markdown.
    """

    out: Sequence[str] | None
    """
    `--out`: Write the figures of each second while the run goes on: json=FILE or csv=FILE, as
    `dump` writes them; FILE - is standard output, and the summary is then on standard error.
    prometheus=URL and otlp=URL send counters and histograms to Prometheus (remote write) or
    an OpenTelemetry collector. Repeatable.
    """

    metrics: str | None
    """
    `--metrics`: Let a Prometheus scrape the run here while it goes on, at /metrics, such as
    127.0.0.1:9090; on loopback only. A port that is taken is a warning.
    """

    samples: str | PathLike[str] | None
    """
    `--samples`: Write every call to this CSV file, one row each: about ten bytes a call in
    the log.
    """

    samples_share: float | None
    """
    `--samples-share`: Share of the calls that --samples writes, such as 0.01, drawn from the
    seed.
    """

    save_baseline: bool | None
    """
    `--save-baseline`: Keep the figures of this run in .loadpilot/baseline.json, for
    `loadpilot compare`.
    """

    append: bool | None
    """
    `--append`: With --save-baseline: keep the runs that are there, so that `compare` knows
    how much runs differ by chance.
    """

    tags: Mapping[str, str | int | float] | Sequence[str] | None
    """
    `--tag`: Label of this run, such as team=shop. Repeatable; shown in report, summary and
    `loadpilot runs`.
    """

    agents: int | None
    """
    `--agents`: Number of agent processes on this machine that share the load.
    """

    nats_url: str | None
    """
    `--nats-url`: NATS server of a fleet, nats://host:port or tls://host:port, instead of this
    machine and directory.
    """

    nats_token: str | None
    """
    `--nats-token`: Token for the NATS server. Better in the environment as NATS_TOKEN: other
    users can read command lines.
    """

    nats_token_file: str | PathLike[str] | None
    """
    `--nats-token-file`: File of the token, read for each connection. Without the flag:
    NATS_TOKEN_FILE.
    """

    creds: str | PathLike[str] | None
    """
    `--creds`: NATS credentials file, or a key alone, instead of a token; read for each
    connection. Without the flag: NATS_CREDS.
    """

    tenant: str | None
    """
    `--tenant`: Tenant of the fleet.
    """

    nats_cacert: str | PathLike[str] | None
    """
    `--nats-cacert`: Certificates to trust for a tls:// server, PEM. Without the flag:
    NATS_CACERT.
    """

    nats_cert: str | PathLike[str] | None
    """
    `--nats-cert`: Certificate that a tls:// server asks for, PEM; with --nats-key. Without
    the flag: NATS_CERT.
    """

    nats_key: str | PathLike[str] | None
    """
    `--nats-key`: Private key of --nats-cert, PEM without a password. Without the flag:
    NATS_KEY.
    """

    nats_domain: str | None
    """
    `--nats-domain`: JetStream domain of the log, on a leaf node with JetStream of its own.
    Without the flag: NATS_DOMAIN.
    """

    nats_api_prefix: str | None
    """
    `--nats-api-prefix`: Prefix of the JetStream API, if it is not $JS.API. Without the flag:
    NATS_API_PREFIX.
    """

    nats_connections: int | None
    """
    `--nats-connections`: Number of connections that the account of NATS allows: a run that
    needs more is refused before it starts. Without the flag: NATS_CONNECTIONS.
    """

    insecure_nats: bool | None
    """
    `--insecure-nats`: Send the token unencrypted to a nats:// address off loopback. Without
    the flag: NATS_INSECURE=1.
    """

    coordinator_url: str | None
    """
    `--coordinator-url`: Coordinator that takes the run over HTTP, https://host:port; http://
    only on this machine.
    """

    coordinator_token_file: str | PathLike[str] | None
    """
    `--coordinator-token-file`: File of the coordinator's token. Without the flag:
    LOADPILOT_COORDINATOR_TOKEN.
    """

    coordinator_cacert: str | PathLike[str] | None
    """
    `--coordinator-cacert`: Certificates to trust for the coordinator, PEM.
    """

    external_agents: int | None
    """
    `--external-agents`: Number of agents that others start and that share the load: those of
    a fleet, or those that join by --listen.
    """

    min_agents: int | None
    """
    `--min-agents`: Number of agents that suffice for the start when the wait is over.
    """

    wait_agents: str | float | None
    """
    `--wait-agents`: Timeout of the wait for agents.
    """

    need: Mapping[str, str | int | float] | Sequence[str] | None
    """
    `--need`: Label that each agent must have, such as zone=eu. Repeatable: all of them.
    """

    listen: str | None
    """
    `--listen`: Let agents of other machines join: open the NATS server of this run here, such
    as 0.0.0.0:4222, with TLS and a token. The command for those machines is printed.
    """

    listen_cert: str | PathLike[str] | None
    """
    `--listen-cert`: Certificate of the host that --listen names, PEM.
    """

    listen_key: str | PathLike[str] | None
    """
    `--listen-key`: Private key of --listen-cert, PEM.
    """

    listen_cacert: str | PathLike[str] | None
    """
    `--listen-cacert`: Authority that signed --listen-cert, PEM, where other machines do not
    trust it anyway.
    """

    profile: str | None
    """
    `--profile`: Profile of the configuration: its table [profiles.NAME] goes before the rest.
    """

    config: str | PathLike[str] | None
    """
    `--config`: File with options, TOML. It goes before loadpilot.toml and [tool.loadpilot] of
    pyproject.toml, and after .env, the environment (--rps is LOADPILOT_RPS) and flags.
    """

    debug_requests: int | None
    """
    `--debug-requests`: Number of first arrivals whose exchanges are printed below the
    summary, at most 100: heads only, secrets masked.
    """
