"""Flags of a fleet: every mistake is named at once, and no token is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadpilot.cli.flags.agent_flags import AgentFlags
from loadpilot.cli.flags.coordinator_flags import ApiFlags
from loadpilot.cli.flags.fleet import FleetFlags, read_fleet
from loadpilot.cli.flags.listen_flags import ListenFlags, invitation
from loadpilot.cli.flags.options import read
from loadpilot.cli.flags.run_flags import RunFlags
from loadpilot.cli.flags.server_flags import ServerFlags
from loadpilot.control.coordinator_address import Api
from loadpilot.control.nats_settings import Server
from loadpilot.local.stack import LOCAL_LEAD_US

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.cli.flags.fleet import Fleet

URL = "nats://127.0.0.1:4222"


def read_flags(
    flags: FleetFlags, environ: dict[str, str] | None = None
) -> tuple[Fleet | None, str]:
    problems: list[object] = []
    fleet = read_fleet(flags, environ or {}, problems)  # type: ignore[arg-type]
    return fleet, "\n".join(map(str, problems))


def test_an_address_alone_asks_for_one_agent() -> None:
    """Broken if the shortest valid flags have no effect."""
    fleet, wrong = read_flags(FleetFlags(ServerFlags(URL)), {"NATS_TOKEN": "s3cret"})
    assert not wrong
    assert fleet is not None
    assert (fleet.agents.want, fleet.agents.least, fleet.agents.wait_us) == (1, 1, 60_000_000)
    assert isinstance(fleet.server, Server)
    assert (fleet.server.token, fleet.server.tenant) == ("s3cret", "local")
    assert "s3cret" not in repr(fleet)


def test_every_mistake_is_named() -> None:
    """Broken if one mistake hides another, or if a flag without an effect is accepted."""
    flags = FleetFlags(
        ServerFlags(
            "http://bob:hunter2@host",
            "t0ken",
            creds="/none.creds",
            tenant="A b",
            nats_cacert="/none.pem",
        ),
        agents=AgentFlags("2", "3", "soon", ("zone",)),
    )
    _, wrong = read_flags(flags)
    assert "--nats-url: must be nats://host:port or tls://host:port (got 'http://host')" in wrong
    assert "--creds: authenticates you, and so does --nats-token" in wrong
    assert "--tenant: must be" in wrong
    assert "--nats-cacert: must be a file of certificates in PEM (got '/none.pem')" in wrong
    assert "--nats-cacert: needs a tls:// address" in wrong
    assert "--min-agents: must be a whole number from 1 to 2" in wrong
    assert "--wait-agents" in wrong
    assert "--need: must be a label that agents have, NAME=VALUE such as zone=eu" in wrong
    assert "hunter2" not in wrong
    assert "t0ken" not in wrong


def test_every_mistake_of_login_and_certificates_is_named(tmp_path: Path) -> None:
    """Broken if two logins, half a certificate or an impossible domain is accepted."""
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    _, wrong = read_flags(
        FleetFlags(
            ServerFlags(
                "tls://host",
                "t0ken",
                nats_token_file="/none.token",
                creds=str(file),
                nats_key=str(file),
                nats_domain="a.b",
                nats_connections="ten",
            )
        )
    )
    lines = wrong.splitlines()
    assert lines == [
        "--nats-token-file: authenticates you, and so does --nats-token; drop one",
        "--creds: authenticates you, and so does --nats-token; drop one",
        "--nats-token-file: must be a file with the token of NATS (got '/none.token')",
        "--nats-cert: must be given too: --nats-key is nothing without it",
        "--nats-domain: must be one name without a dot, space or wildcard (got 'a.b')",
        "--nats-connections: must be a whole number from 1 to 999,999,999 (got 'ten')",
    ]
    environ = {"NATS_CERT": "/none.pem", "NATS_API_PREFIX": "a.>", "NATS_TOKEN_FILE": "/none"}
    _, wrong = read_flags(FleetFlags(ServerFlags("tls://host")), environ)
    assert "NATS_CERT: must be a file of certificates in PEM (got '/none.pem')" in wrong
    assert "--nats-key: must be given too: --nats-cert is nothing without it" in wrong
    assert "--nats-api-prefix: must be a subject without wildcards" in wrong
    assert "NATS_TOKEN_FILE: must be a file with the token of NATS (got '/none')" in wrong
    both = {"NATS_DOMAIN": "hub", "NATS_API_PREFIX": "JS.team.API"}
    assert (
        "--nats-api-prefix: must be left out" in read_flags(FleetFlags(ServerFlags(URL)), both)[1]
    )


def test_a_flag_replaces_all_variables_of_its_kind(tmp_path: Path) -> None:
    """Broken if a variable that is set for another account takes effect beside a flag."""
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    environ = {"NATS_CREDS": str(file), "NATS_TOKEN": "s3cret", "NATS_DOMAIN": "hub"}
    flags = ServerFlags(URL, nats_token_file=str(file), nats_api_prefix="JS.team.API")
    fleet, wrong = read_flags(FleetFlags(flags), environ)
    assert not wrong
    assert fleet is not None
    server = fleet.server
    assert isinstance(server, Server)
    assert (server.token, server.creds, server.token_file) == (None, None, file)
    assert (server.domain, server.api_prefix) == (None, "JS.team.API")
    _, wrong = read_flags(FleetFlags(ServerFlags("nats://far:4222", nats_token_file=str(file))))
    assert "must be tls://, or the token travels unencrypted" in wrong


def test_a_run_that_needs_more_connections_than_there_are_is_refused() -> None:
    """Broken if the agents of a run wait for connections that the account does not allow."""
    flags = FleetFlags(ServerFlags(URL, nats_connections="10"), agents=AgentFlags("8"))
    assert not read_flags(flags)[1]
    flags = FleetFlags(ServerFlags(URL, nats_connections="10"), agents=AgentFlags("9"))
    assert "--external-agents: needs 11 connections to NATS: 9 agents" in read_flags(flags)[1]
    assert "enough for 8" in read_flags(flags)[1]


def test_a_token_in_the_clear_is_refused_unless_the_user_insists() -> None:
    """Broken if the token of a fleet is sent where everyone on the network can read it."""
    far, token = "nats://far:4222", {"NATS_TOKEN": "s3cret"}
    _, wrong = read_flags(FleetFlags(ServerFlags(far)), token)
    must = "must be tls://, or the token travels unencrypted; --insecure-nats insists (got 'far')"
    assert wrong == f"--nats-url: {must}"
    _, wrong = read_flags(FleetFlags(ServerFlags("nats://bob:hunter2@far:4222")))
    assert must in wrong
    assert not read_flags(FleetFlags(ServerFlags(far, insecure_nats=True)), token)[1]
    assert not read_flags(FleetFlags(ServerFlags(far)), {**token, "NATS_INSECURE": "1"})[1]
    assert not read_flags(FleetFlags(ServerFlags(far)))[1]


def test_a_fleet_is_never_meant_by_accident() -> None:
    """An environment that names a server for agents must not send a local run to that server."""
    fleet, wrong = read_flags(FleetFlags(), {"NATS_URL": URL, "NATS_TOKEN": "s3cret"})
    assert (fleet, wrong) == (None, "")
    flags = FleetFlags(ServerFlags(tenant="shop"), agents=AgentFlags("2", need=("zone=eu",)))
    options, problems = read("x.py", RunFlags(fleet=flags), {})
    assert options is not None
    assert options.fleet is None
    text = "\n".join(map(str, problems))
    assert "--tenant: needs a fleet, and no fleet is named; add --nats-url URL" in text
    for flag in ("--external-agents", "--need"):
        assert f"{flag}: needs agents that others start; add --nats-url URL, or --listen" in text


def test_agents_are_started_here_or_found_there() -> None:
    """Broken if `--agents` is accepted with a fleet: the user would believe that this machine takes
    part."""
    both = RunFlags(agents="2", fleet=FleetFlags(ServerFlags(URL)))
    _, problems = read("x.py", both, {})
    (problem,) = problems
    assert "for a fleet use --external-agents" in str(problem)
    options, problems = read("x.py", RunFlags(), {})
    assert options is not None
    assert (options.agents.want, options.fleet, problems) == (1, None, [])


def test_a_coordinator_is_named_once_and_never_in_the_clear() -> None:
    """Broken if a token travels where others read it, or if a run with two destinations is
    accepted."""
    environ = {"LOADPILOT_COORDINATOR_TOKEN": "s3cret-token"}
    fleet, wrong = read_flags(FleetFlags(api=ApiFlags("https://lab:8443/")), environ)
    assert not wrong
    assert fleet is not None
    assert isinstance(fleet.server, Api)
    assert (fleet.server.url, fleet.server.token) == ("https://lab:8443", "s3cret-token")
    assert "s3cret" not in repr(fleet)
    _, wrong = read_flags(FleetFlags(ServerFlags(URL), ApiFlags("http://[::1]:1")))
    assert "--coordinator-url: names where the run goes, and so does --nats-url" in wrong
    for url, rule in (
        ("http://lab:8080", "must be https:// off loopback"),
        ("https://bob:hunter2@lab", "must be https://host[:port] (got 'https://lab')"),
        ("lab:8080", "must be https://host[:port]"),
        ("https://lab/path", "must be https://host[:port]"),
        ("https://lab:99999", "must be https://host[:port]"),
    ):
        _, wrong = read_flags(FleetFlags(api=ApiFlags(url)))
        assert rule in wrong, url
        assert "hunter2" not in wrong
    for url in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"):
        assert read_flags(FleetFlags(api=ApiFlags(url)))[1] == ""
    for token in ("s3cret\ntoken", "s3cret tok\u00e9n"):
        _, wrong = read_flags(
            FleetFlags(api=ApiFlags("https://lab")), {"LOADPILOT_COORDINATOR_TOKEN": token}
        )
        assert "LOADPILOT_COORDINATOR_TOKEN: must hold a token" in wrong
        assert "s3cret" not in wrong
    flags = RunFlags(samples="calls.csv", fleet=FleetFlags(api=ApiFlags("http://[::1]:1")))
    _, problems = read("x.py", flags, {})
    assert "--samples: needs the log itself" in "\n".join(map(str, problems))


def test_agents_of_other_machines_come_beside_those_here() -> None:
    """Broken if agents of other machines and local ones are added up wrongly."""

    def read_with(
        listen: ListenFlags, agents: str | None = None, others: AgentFlags | None = None
    ) -> tuple[tuple[int, int, int], str]:
        fleet = FleetFlags(agents=others or AgentFlags())
        flags = RunFlags(agents=agents, fleet=fleet, listen=listen)
        options, problems = read("x.py", flags, {})
        assert options is not None
        counts = (options.local_agents, options.agents.want, options.agents.lead_us)
        return counts, "\n".join(map(str, problems))

    place = "0.0.0.0:4222"
    open_to_all = ListenFlags(place)
    assert read_with(open_to_all) == ((1, 1, LOCAL_LEAD_US), "")
    assert read_with(open_to_all, "2", AgentFlags("3")) == ((2, 5, 3_000_000), "")
    assert read_with(open_to_all, "0", AgentFlags("1")) == ((0, 1, 3_000_000), "")
    _, wrong = read_with(open_to_all, "0")
    assert "--agents: must be a whole number from 1" in wrong
    _, wrong = read_with(open_to_all, others=AgentFlags(need=("a=b",)))
    assert "--need: needs agents of other machines; add --external-agents" in wrong
    for listen, expected in (
        (ListenFlags("4222"), "--listen: must be HOST:PORT"),
        (ListenFlags("host:65536"), "--listen: must be HOST:PORT"),
        (ListenFlags(listen_key="k"), "--listen-key: needs agents of other machines; add"),
        (ListenFlags(place, "c.pem"), "--listen-key: is missing"),
        (ListenFlags(place, "c.pem"), "--listen-cert: must be a PEM file"),
        (
            ListenFlags(place, listen_cacert="c"),
            "--listen-cacert: names the authority of --listen-cert",
        ),
    ):
        assert expected in read_with(listen)[1], listen


def test_an_invitation_shows_no_token() -> None:
    """Broken if the command line to copy does not work, or if it shows the token on a screen that
    others may see."""
    facts = {"url": "tls://10.0.0.5:4222", "token_file": "/l/token", "cacert": "/l/ca.pem"}
    text = invitation(facts | {"fingerprint": "ab12"})
    assert "/l/ca.pem, SHA-256 ab12" in text
    assert text.endswith(
        "NATS_TOKEN=$(cat token) "
        "loadpilot agent --nats-url tls://10.0.0.5:4222 --nats-cacert ca.pem"
    )
    del facts["cacert"]
    assert invitation(facts).endswith("--nats-url tls://10.0.0.5:4222")
