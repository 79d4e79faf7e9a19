"""The services of the compose file as processes of this machine: the same arguments, environment,
keys and health checks, in folders and at ports of the test.

Must never end a process that it did not start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.deploy.composition import ROOT, Service, services
from tests.deploy.gateway import Gateway
from tests.e2e.support.command import SCENARIOS, Running
from tests.e2e.support.fleet import NEAR, free_port, nats_server
from tests.oracle.oracle import built_binary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

PATIENCE_S = 60.0
ORDER = {
    "nats": "Server is ready",
    "coordinator": "deciding from now on",
    "agent": "coordinator found=true",
    "gateway": "listening on",
}
"""Services in the order of their start, and the text that each writes when it is ready."""
PROGRAMS = {
    "nats-server": Path(nats_server()),
    "loadpilot-coordinator": built_binary().with_name("loadpilot-coordinator"),
    "loadpilot-gateway": Path(sys.executable).with_name("loadpilot-gateway"),
}


def keys(place: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Makes the keys as the service `keys` does, with variables added to its environment."""
    argv = ["/bin/sh", str(ROOT / "deploy" / "keys.sh"), str(place)]
    subprocess.run(argv, env=os.environ | (environ or {}), check=True, capture_output=True)
    return place


def name_server(keys: Path, port: int) -> str:
    """Writes the server's port on this machine into the connection file of every role; returns its
    address."""
    url = f"tls://localhost:{port}"
    for connect in keys.glob("*/connect.json"):
        text = connect.read_text(encoding="utf-8").replace("tls://nats:4222", url)
        connect.write_text(text, encoding="utf-8")
    return url


def server_conf(own: Path, keys: Path, port: int) -> Path:
    """The shipped configuration of the server, with folders and ports of the test."""
    shipped = ROOT / "deploy" / "nats"
    text = (shipped / "nats.conf").read_text(encoding="utf-8")
    conf = own / "etc" / "nats" / "nats.conf"
    conf.parent.mkdir(parents=True, exist_ok=True)
    (own / "keys").unlink(missing_ok=True)
    (own / "keys").symlink_to(keys / "nats")
    shutil.copy(shipped / "roles.conf", conf.parent)
    text = text.replace('"/keys', f'"{keys / "nats"}').replace('"/log"', f'"{own / "log"}"')
    text = text.replace("0.0.0.0:4222", f"127.0.0.1:{port}")
    conf.write_text(text.replace(":8222", f":{free_port()}"), encoding="utf-8")
    return conf


@dataclass(slots=True)
class Member:
    """One process of a service, with the local paths and addresses that replace those of its
    container."""

    service: Service
    process: Running
    places: dict[str, str] = field(repr=False)


class ProcessFleet:
    """The fleet of the compose file as processes without containers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "fleet"
        self.folder.mkdir()
        self.services = services("python")
        self.keys = keys(self.folder / "keys")
        self.nats_port = free_port()
        self.gateway_port = free_port()
        name_server(self.keys, self.nats_port)
        self.members: list[Member] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def agents(self) -> set[str]:
        """Names of the agents."""
        return {f"agent-{n + 1}" for n in range(self.services["agent"].replicas)}

    def start_all(self) -> None:
        """Starts the number of processes of each service that the file names, in the order in which
        they wait for each other."""
        for name in ORDER:
            for _ in range(self.services[name].replicas):
                self.start(name)

    def start(self, name: str, until: str | None = None) -> None:
        """Starts one process of a service and waits until it is ready."""
        service = self.services[name]
        number = 1 + sum(member.service is service for member in self.members)
        places = self._places(name, f"{name}-{number}")
        argv = self._argv(service, places)
        # Containers have host names of their own, which distinguish agents. Processes share one.
        argv += ["--id", f"{name}-{number}"] if name == "agent" else []
        environ = [f"{key}={value}" for key, value in self._environ(service, places).items()]
        process = Running(["/usr/bin/env", *environ, *argv], self.folder, self.folder / "no")
        self._open.enter_context(process)
        self.members.append(Member(service, process, places))
        process.until(until or ORDER[name])

    def http_addresses(self, name: str) -> list[str]:
        """Addresses on loopback at which the processes of a service listen for HTTP."""
        return [member.places["127.0.0.1:8080"] for member in self._of(name)]

    def wait_for_output(self, name: str, text: str) -> None:
        """Waits until every process of a service has written a line with this text."""
        for member in self._of(name):
            member.process.until(text)

    def check(self, service: Service) -> subprocess.CompletedProcess[str]:
        """Runs the program of a service with the arguments of the file and `--check-config`."""
        places = self._places(service.name, service.name)
        environ = {"PATH": os.environ["PATH"], **self._environ(service, places)}
        return subprocess.run(
            [*self._argv(service, places), "--check-config"],
            env=environ,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def is_healthy(self, name: str) -> bool:
        """Whether every process of a service passes its health check."""
        return all(self._check_health(member) for member in self._of(name))

    def assert_healthy(self) -> None:
        """Asserts that every process with a health check passes it."""
        checked = [member for member in self.members if member.service.name != "nats"]
        assert {member.service.name for member in checked} == ORDER.keys() - {"nats"}
        sick = [m.service.name for m in checked if not self._check_health(m)]
        assert sick == []

    def submit(self, target: str, rps: int, secs: int) -> str:
        """Requests a run of all agents at the gateway; returns its id."""
        scenario = SCENARIOS / "weighted.py"
        return self._gateway.submit(scenario, target, rps, secs, len(self.agents))

    def report(self, run: str) -> dict[str, Any]:
        """The report of a run once it is over."""
        return self._gateway.report(run)

    @property
    def _gateway(self) -> Gateway:
        own = self.keys / "gateway"
        token = (own / "gateway-token").read_text(encoding="utf-8").strip()
        return Gateway(self.gateway_port, own / "ca.pem", token)

    def _of(self, name: str) -> list[Member]:
        return [member for member in self.members if member.service.name == name]

    def _check_health(self, member: Member) -> bool:
        assert member.service.health is not None, member.service.name
        words = [mapped(word, member.places) for word in member.service.health]
        environ = {**os.environ, **self._environ(member.service, member.places)}
        probe = subprocess.run(words, env=environ, check=False, capture_output=True, timeout=30)
        return probe.returncode == 0

    def _places(self, service: str, name: str) -> dict[str, str]:
        """Paths and addresses of a container, and those that replace them on this machine."""
        own = self.folder / name
        for part in ("state", "cache", "run", "tmp", "log"):
            (own / part).mkdir(parents=True, exist_ok=True)
        return {
            "/etc/nats/nats.conf": str(server_conf(own, self.keys, self.nats_port)),
            "/keys": str(self.keys / service.removesuffix("-python")),
            "/run/loadpilot": str(own / "run"),
            "/state": str(own / "state"),
            "/cache": str(own / "cache"),
            "/tmp": str(own / "tmp"),  # noqa: S108  (a container's own)
            "/dev/tcp/127.0.0.1/8080": f"/dev/tcp/127.0.0.1/{(port := free_port())}",
            "127.0.0.1:8080": f"127.0.0.1:{port}",
            "tls://nats:4222": f"tls://localhost:{self.nats_port}",
            "localhost:8443": f"localhost:{self.gateway_port}",
            "0.0.0.0": "127.0.0.1",
        }

    def _argv(self, service: Service, places: Mapping[str, str]) -> list[str]:
        program, *words = service.argv
        found = PROGRAMS.get(program) or self._agent(service)
        return [str(found), *(mapped(word, places) for word in words)]

    def _agent(self, service: Service) -> Path:
        """The agent of an image: the plain binary, or the one with Python."""
        has_python = "--python" in service.argv
        beside = Path(sys.executable) if has_python else built_binary()
        return beside.with_name("loadpilot-agent")

    def _environ(self, service: Service, places: Mapping[str, str]) -> dict[str, str]:
        """The environment that the image and the file set."""
        said = {**service.image_environ, **service.environ}
        said = {name: mapped(value, places) for name, value in said.items()}
        if "LOADPILOT_GATEWAY_PORT" in said:
            said["LOADPILOT_GATEWAY_PORT"] = str(self.gateway_port)
        if "AGENT_ALLOW_TARGET" in said:
            said["AGENT_ALLOW_TARGET"] = NEAR
        return said


def mapped(word: str, places: Mapping[str, str]) -> str:
    """An argument of a container with local paths and addresses. Only the longest match is
    replaced."""
    for there in sorted(places, key=len, reverse=True):
        if there in word:
            return word.replace(there, places[there])
    return word
