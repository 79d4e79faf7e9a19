"""The compose file: what can be known of it without an engine for containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.deploy.composition import configured, services, stages
from tests.deploy.local_processes import Plain, keys

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

ROLES = ("coordinator", "agent", "gateway", "submitter", "watcher")
OURS = {"coordinator", "agent", "agent-python", "gateway"}
USERS = {
    "nats": "10001:10001",
    "coordinator": "10002:10002",
    "agent": "10003:10003",
    "agent-python": "10003:10003",
    "gateway": "10004:10004",
    "target": "10005:10005",
}
CONTROL, TARGET = {"nats", "coordinator", "gateway"}, {"target"}


def test_only_the_gateway_can_be_reached_and_only_from_this_machine() -> None:
    """Broken if another machine of the network finds an open port."""
    published = {
        name: facts["ports"]
        for name, facts in configured("python")["services"].items()
        if facts.get("ports")
    }
    assert published.keys() == {"gateway"}
    assert [port["host_ip"] for port in published["gateway"]] == ["127.0.0.1"]


def test_nothing_has_more_rights_than_it_needs() -> None:
    """Broken if a part runs as root, keeps a capability, or can change its own image; or if two
    roles are one user to the kernel. What makes the keys gives them away as root, once, without a
    network."""
    found = configured("python")["services"]
    keys = found["keys"]
    assert (keys["user"], keys["network_mode"], keys["restart"]) == ("0:0", "none", "no")
    assert sorted(keys["cap_add"]) == ["CHOWN", "DAC_OVERRIDE"]
    for name, facts in found.items():
        assert name == "keys" or facts["user"] == USERS[name], name
        assert name == "keys" or not facts.get("cap_add"), name
        assert facts["read_only"] is True, name
        assert facts["cap_drop"] == ["ALL"], name
        assert facts["security_opt"] == ["no-new-privileges:true"], name
    for target in ("coordinator", "agent", "gateway", "target"):
        assert f"USER {USERS[target]}" in stages()[target], target


def test_a_role_sees_its_own_files_and_networks() -> None:
    """Broken if one part can read the keys of another, or reaches what it has no business with."""
    for name, facts in configured("python")["services"].items():
        if name == "keys":
            continue
        role = name.removesuffix("-python")
        mounted = [one["source"] for one in facts.get("volumes", []) if one["target"] == "/keys"]
        assert mounted == ([] if role == "target" else [f"keys-{role}"]), name
        networks = set(facts["networks"])
        assert ("control" in networks) == (role in CONTROL | {"agent"}), name
        assert ("target" in networks) == (role in TARGET | {"agent"}), name
    assert configured()["networks"]["control"]["internal"] is True


def test_every_part_accepts_its_settings(tmp_path: Path) -> None:
    """Broken if a flag, a variable or a file of the compose file is none of the program's."""
    plain = Plain(tmp_path)
    found = services("python")
    assert {name for name, one in found.items() if one.argv[0].startswith("loadpilot")} >= OURS
    for name in sorted(OURS):
        checked = plain.check(found[name])
        assert checked.returncode == 0, f"{name}: {checked.stderr}"


def test_a_mistake_would_be_found(tmp_path: Path) -> None:
    """Broken if the check above passes whatever the file says."""
    plain = Plain(tmp_path)
    found = services()["gateway"]
    found.environ["LOADPILOT_GATEWAY_TLS_CERTIFICATE"] = found.environ.pop(
        "LOADPILOT_GATEWAY_TLS_CERT"
    )
    checked = plain.check(found)
    assert checked.returncode == 2
    assert "LOADPILOT_GATEWAY_TLS_CERT" in checked.stderr


def test_the_same_topology_as_plain_processes_counts_like_the_oracle(
    tmp_path: Path, oracle: Oracle
) -> None:
    """Broken if server, keys, coordinators, agents and gateway do not find or trust each other, or
    if a health check says of a part that works that it does not."""
    rps, secs = 50, 3
    with Plain(tmp_path) as plain:
        plain.start_all()
        run = plain.submit(oracle.url, rps, secs)
        report = plain.report(run)
        plain.assert_healthy()
    counts = oracle.counts()
    assert counts.received == rps * secs
    assert report["arrivals"]["started"] == rps * secs
    assert report["calls"]["outcomes"] == {"ok": rps * secs}
    assert {fact["holder"]["agent"] for fact in report["run"]["holders"]} == plain.agents


def test_keys_are_made_once_and_are_private(tmp_path: Path) -> None:
    """Broken if a second start would lock everybody out, or a key can be read by others."""
    place = keys(tmp_path / "keys")
    files = [path for path in place.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    assert keys(place) == place
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert "ca-key.pem" not in {path.name for path in files}
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
    passwords = {role: before[place / role / "nats-token"].split(b":")[1] for role in ROLES}
    assert len(set(passwords.values())) == len(ROLES)
    for role, password in passwords.items():
        held = {path.parent.name for path, content in before.items() if password.strip() in content}
        assert held == {role, "nats"}


def test_an_agent_without_a_coordinator_is_not_healthy(tmp_path: Path) -> None:
    """Broken if a process is called healthy because it exists."""
    with Plain(tmp_path) as plain:
        plain.start("nats")
        plain.start("agent", until="waits for a coordinator")
        assert not plain.is_healthy("agent")
        plain.start("coordinator", until="deciding from now on")
        plain.hear("agent", "coordinator found=true")
        assert plain.is_healthy("agent")
