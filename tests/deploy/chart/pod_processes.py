"""Pods of the chart as processes of this machine: the programs, arguments, environment, files and
probes of their containers, in folders and at ports of the test.

Must never end a process that it did not start.
"""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Self

from tests.deploy.chart.manifests import RELEASE, Files, Release, environ
from tests.deploy.composition import ENTRYPOINT, stages, variables
from tests.deploy.gateway import Gateway
from tests.deploy.local_processes import PATIENCE_S, PROGRAMS
from tests.e2e.support.command import Running
from tests.e2e.support.fleet import PLAIN_AGENT, free_port

if TYPE_CHECKING:
    from types import TracebackType

USEFUL = {
    "nats": "Server is ready",
    "coordinator": "deciding from now on",
    "agent": "coordinator found=true",
    "gateway": "listening on",
}
"""Text that the program of each part writes when it is ready."""
BIN = Path(sys.executable).parent
LISTENING = {"0.0.0.0:4222": "nats", "0.0.0.0:6222": "route", "127.0.0.1:8222": "monitor"}
NODES = 3


@dataclass(slots=True)
class Pod:
    """One pod: the root of its file system on this machine, and the local addresses that replace
    its own."""

    name: str
    part: str
    spec: dict[str, Any]
    root: Path
    places: dict[str, str]
    process: Running | None = field(default=None, repr=False)

    @property
    def container(self) -> dict[str, Any]:
        """Its only container."""
        (found,) = self.spec["containers"]
        return dict(found)

    def mapped(self, text: str) -> str:
        """A text of the pod with local addresses and paths."""
        mounts = [one["mountPath"] for one in self.container["volumeMounts"]]
        paths = [rf"(?<![\w./-]){re.escape(one)}(?![\w.-])" for one in mounts]
        addresses = sorted(map(re.escape, self.places), key=len, reverse=True)

        def here(found: re.Match[str]) -> str:
            return self.places.get(found[0]) or f"{self.root}{found[0]}"

        return re.sub("|".join([*addresses, *paths]), here, text)

    def argv(self) -> list[str]:
        """Its program and its arguments."""
        image = re.sub(r"^.*loadpilot-|:.*$", "", self.container["image"])
        entrypoint = [] if "command" in self.container else _entrypoint(image)
        words = [*self.container.get("command", entrypoint), *self.container.get("args", [])]
        program, *rest = words
        found = PROGRAMS.get(program, program)
        if program == "loadpilot-agent":
            found = BIN / program if "--python" in rest else PLAIN_AGENT
        return [str(found), *map(self.mapped, rest)]

    def environ(self) -> dict[str, str]:
        """The environment that the image and the pod set."""
        image = re.sub(r"^.*loadpilot-|:.*$", "", self.container["image"])
        found = variables(stages().get(image, "")) | environ(self.container, self.name)
        found = {name: self.mapped(value) for name, value in found.items()}
        if "LOADPILOT_GATEWAY_PORT" in found:
            found["LOADPILOT_GATEWAY_HOST"] = "127.0.0.1"
            found["LOADPILOT_GATEWAY_PORT"] = self.places["own:https"]
        return found

    def command(self) -> list[str]:
        """Program and environment as one command, which sees only PATH of this machine's
        environment."""
        path = f"PATH={BIN}{os.pathsep}{os.environ['PATH']}"
        variables = [f"{name}={value}" for name, value in self.environ().items()]
        return ["/usr/bin/env", "-i", path, *variables, *self.argv()]

    def passes(self, probe: str) -> bool:
        """Whether a probe succeeds, sent as a kubelet sends it."""
        found = self.container[probe]
        if "exec" in found:
            program, *words = [self.mapped(word) for word in found["exec"]["command"]]
            if program == "wget":  # of the image of NATS
                return _answers(words[-1])
            argv = [program, *words]
            return subprocess.run(argv, check=False, capture_output=True).returncode == 0
        return passes_http(found["httpGet"], self.places["own:https"])

    def until(self, probe: str, *, passes: bool = True) -> None:
        """Waits until a probe passes; with `passes=False`, until it fails."""
        deadline = monotonic() + PATIENCE_S
        while self.passes(probe) is not passes:
            assert monotonic() < deadline, f"{self.name}: {probe} is not {passes} in time"
            sleep(0.05)

    def terminate(self) -> int:
        """Terminates the pod, as a rollout does; returns its exit code. Fails after its grace
        period."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGTERM)
        return self.process.end(self.spec["terminationGracePeriodSeconds"]).code


class Pods(Release):
    """The pods of one release without a cluster."""

    def __init__(self, folder: Path, values: dict[str, Any], secrets: Files | None = None) -> None:
        """Renders the chart; `secrets` are those that the user of the chart made."""
        super().__init__(values, secrets)
        self.folder = folder / "pods"
        self.folder.mkdir()
        ports = range(NODES)
        self._nodes = [{key: str(free_port()) for key in LISTENING.values()} for _ in ports]
        self.running: list[Pod] = []
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

    def pod(self, described: str, number: int = 0) -> Pod:
        """One pod of a description, with its files."""
        part = self.parts[described]
        name = f"{described}-{number}"
        root = self.folder / name
        port = str(free_port())
        gateway = next((one for one in self.running if one.part == "gateway"), None)
        coordinator = next((one for one in self.running if one.part == "coordinator"), None)
        places = {
            f"{RELEASE}-nats:4222": f"localhost:{self._nodes[0]['nats']}",
            "own:https": port,
            "0.0.0.0:8080": f"127.0.0.1:{port}",
        }
        for at, ports in enumerate(self._nodes):
            node = f"{RELEASE}-nats-{at}.{RELEASE}-nats-nodes"
            places[f"{node}:4222"] = f"localhost:{ports['nats']}"
            places[f"{node}:6222"] = f"localhost:{ports['route']}"
        if part == "nats":
            for there, key in LISTENING.items():
                places[there] = f"127.0.0.1:{self._nodes[number][key]}"
        if part == "test" and gateway and coordinator:
            own = "own:https"
            places[f"{RELEASE}-gateway:8443"] = f"localhost:{gateway.places[own]}"
            places[f"{RELEASE}-coordinator:8080"] = f"localhost:{coordinator.places[own]}"
        pod = Pod(name, part, self.described[described]["spec"], root, places)
        self._mount(pod)
        return pod

    def start(self, part: str, number: int = 0, until: str | None = None) -> Pod:
        """Starts one pod of a part and waits until it is ready."""
        pod = self.pod(f"{RELEASE}-{part}", number)
        process = Running(pod.command(), self.folder, self.folder / "no")
        pod.process = self._open.enter_context(process)
        self.running.append(pod)
        process.until(until or USEFUL[part])
        return pod

    def start_all(self) -> None:
        """Starts the number of pods of each part that the chart installs, in the order in which
        they wait for each other. Nodes of the log are started when each has found the others."""
        for part in USEFUL:
            started = [self.start(part, number) for number in range(self.replicas(part))]
            for pod in started:
                if "startupProbe" in pod.container:
                    pod.until("startupProbe")

    def check(self, described: str) -> subprocess.CompletedProcess[str]:
        """Runs the program of a pod with the arguments of the chart and `--check-config`."""
        argv = [*self.pod(described).command(), "--check-config"]
        return subprocess.run(argv, check=False, capture_output=True, text=True, timeout=PATIENCE_S)

    def gateway(self) -> Gateway:
        """The gateway, reached as users reach it."""
        (pod,) = (one for one in self.running if one.part == "gateway")
        token = self.secrets[f"{RELEASE}-gateway-keys"]["gateway-token"]
        return Gateway(int(pod.places["own:https"]), pod.root / "keys" / "ca.pem", token)

    def _mount(self, pod: Pod) -> None:
        """Writes the files of a pod's volumes where its container would see them."""
        volumes = {one["name"]: one for one in pod.spec["volumes"]}
        for mount in pod.container["volumeMounts"]:
            place = Path(f"{pod.root}{mount['mountPath']}")
            place.mkdir(parents=True, exist_ok=True)
            for name, text in self.files(volumes.get(mount["name"], {})).items():
                (place / name).write_text(pod.mapped(text), encoding="utf-8")
                (place / name).chmod(0o600)


def passes_http(probe: dict[str, Any], port: int | str) -> bool:
    """Whether a port of this machine answers an HTTP probe, sent as a kubelet sends it."""
    trust = ssl._create_unverified_context()  # noqa: S323  (a kubelet does not verify)
    assert probe["scheme"] == "HTTPS"
    return _answers(f"https://localhost:{port}{probe['path']}", trust)


def _answers(url: str, trust: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(url, context=trust, timeout=10) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def _entrypoint(image: str) -> list[str]:
    found = ENTRYPOINT.findall(stages()[image])
    return [word.strip('" ') for word in found[0].strip("[]").split(",")]
