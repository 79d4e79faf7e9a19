"""What flags say of a fleet: every mistake is named at once, and no token is quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadpilot.cli.fleet import FleetFlags, ServerFlags, read_fleet
from loadpilot.cli.options import Flags, read

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.cli.fleet import Fleet

URL = "nats://127.0.0.1:4222"


def asked(flags: FleetFlags, environ: dict[str, str] | None = None) -> tuple[Fleet | None, str]:
    problems: list[object] = []
    fleet = read_fleet(flags, environ or {}, problems)  # type: ignore[arg-type]
    return fleet, "\n".join(map(str, problems))


def test_an_address_alone_asks_for_one_agent() -> None:
    """The least that somebody may type must mean something."""
    fleet, wrong = asked(FleetFlags(ServerFlags(URL)), {"NATS_TOKEN": "s3cret"})
    assert not wrong
    assert fleet is not None
    assert (fleet.want, fleet.least, fleet.wait_us) == (1, 1, 60_000_000)
    assert (fleet.server.token, fleet.server.tenant) == ("s3cret", "local")
    assert "s3cret" not in repr(fleet)


def test_every_mistake_is_named() -> None:
    """Broken if one mistake hides another, or a flag is taken and means nothing."""
    flags = FleetFlags(
        ServerFlags("http://bob:hunter2@host", "t0ken", "/none.creds", "A b"),
        external_agents="2",
        min_agents="3",
        wait_agents="soon",
        need=("zone",),
    )
    _, wrong = asked(flags)
    assert "--nats-url: must be nats://host:port or tls://host:port (got 'http://host')" in wrong
    assert "--creds: says who you are, and so does --nats-token" in wrong
    assert "--tenant: must be" in wrong
    assert "--min-agents: must be a whole number from 1 to 2" in wrong
    assert "--wait-agents" in wrong
    assert "--need: must be a label that agents have, KEY=VALUE such as zone=eu" in wrong
    assert "hunter2" not in wrong
    assert "t0ken" not in wrong


def test_a_fleet_is_never_meant_by_accident() -> None:
    """An environment that names a server for agents must not turn a run at home into one there."""
    fleet, wrong = asked(FleetFlags(), {"NATS_URL": URL, "NATS_TOKEN": "s3cret"})
    assert (fleet, wrong) == (None, "")
    said = FleetFlags(ServerFlags(tenant="shop"), external_agents="2", need=("zone=eu",))
    fleet, wrong = asked(said)
    assert fleet is None
    for flag in ("--tenant", "--external-agents", "--need"):
        assert f"{flag}: is for a fleet, and no fleet was named; add --nats-url URL" in wrong


def test_agents_are_started_here_or_found_there(tmp_path: Path) -> None:
    """Broken if somebody believes that his machine helps a fleet."""
    both = Flags(file="x.py", agents="2", fleet=FleetFlags(ServerFlags(URL)))
    _, problems = read(both, {}, tmp_path)
    (problem,) = problems
    assert "how many of a fleet: --external-agents" in str(problem)
    options, problems = read(Flags(file="x.py"), {}, tmp_path)
    assert options is not None
    assert (options.agents, options.fleet, problems) == (1, None, [])
