"""Pods of the chart as containers of an installed Docker engine: image, arguments, environment,
volumes, user and rights as a kubelet sets them, in a network that resolves the names of the
services.

Must never touch a container or network that it did not make.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from dataclasses import dataclass
from functools import cached_property
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Self

from tests.deploy.chart.manifests import RELEASE, Release, environ
from tests.deploy.chart.pod_processes import passes_http
from tests.deploy.containers import ANSWERED, engine, image
from tests.deploy.gateway import Gateway
from tests.deploy.local_processes import PATIENCE_S
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

PARTS = ("nats", "coordinator", "agent", "gateway")
"""Parts of a fleet, in the order in which they wait for each other."""
OURS = "loadpilot-"
"""Images whose names begin with this are built here."""
SECRET_MODE, EMPTY_MODE = 0o440, 0o2777
"""Modes with which a kubelet gives files of secrets, and empty folders, to the group of a pod."""


@dataclass(slots=True)
class Pod:
    """One pod, the names of its services, and its port on this machine."""

    docker: str
    name: str
    part: str
    spec: dict[str, Any]
    aliases: list[str]
    port: int

    @property
    def container(self) -> dict[str, Any]:
        """Its only container."""
        (found,) = self.spec["containers"]
        return dict(found)

    def passes(self, probe: str) -> bool:
        """Whether a probe succeeds, sent as a kubelet sends it."""
        found = self.container[probe]
        if "exec" in found:
            words = [self.docker, "exec", self.name, *found["exec"]["command"]]
            return subprocess.run(words, check=False, capture_output=True).returncode == 0
        return passes_http(found["httpGet"], self.port)

    def until(self, probe: str) -> None:
        """Waits until a probe passes."""
        deadline = monotonic() + PATIENCE_S
        while not self.passes(probe):
            assert monotonic() < deadline, f"{self.name}: {probe} fails:\n{self.output()}"
            sleep(0.1)

    def terminate(self) -> int:
        """Terminates the pod, as a rollout does; returns its exit code, 137 when its grace period
        was over."""
        grace = str(self.spec["terminationGracePeriodSeconds"])
        _run(self.docker, "stop", "-t", grace, self.name)
        return int(_run(self.docker, "inspect", "--format", "{{.State.ExitCode}}", self.name))

    def start_again(self) -> None:
        """Starts the container that ended, with its volumes, and waits until it is ready."""
        _run(self.docker, "start", self.name)
        self.until("readinessProbe")

    def output(self) -> str:
        """The output of the container."""
        ran = subprocess.run(
            [self.docker, "logs", self.name],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return ran.stdout


class PodContainers:
    """The pods of one release, and a target that counts its responses."""

    def __init__(self, folder: Path) -> None:
        """`folder` is for the volumes of pods."""
        self._docker, _ = engine()
        self._folder = folder
        self._prefix = f"{RELEASE}-{secrets.token_hex(4)}"
        self._made: list[str] = []
        self.running: list[Pod] = []

    def __enter__(self) -> Self:
        _run(self._docker, "network", "create", self._prefix)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._made:
            _run(self._docker, "rm", "--force", "--volumes", *self._made)
        _run(self._docker, "network", "rm", self._prefix)

    @cached_property
    def release(self) -> Release:
        """The release, whose agents may reach the network of its pods."""
        words = ("network", "inspect", "--format", "{{(index .IPAM.Config 0).Subnet}}")
        subnet = _run(self._docker, *words, self._prefix)
        return Release({"targets": {"networks": [subnet]}, "monitoring": {"enabled": False}})

    def start_all(self) -> None:
        """Starts the target, and the number of pods of each part that the chart installs."""
        self._create(
            f"{self._prefix}-target", ["--detach", "--network-alias", "target", image("target")]
        )
        for part in PARTS:
            for number in range(self.release.replicas(part)):
                self.start(part, number)

    def start(self, part: str, number: int) -> Pod:
        """Starts one pod of a part and waits until it is ready."""
        pod = self._pod(f"{RELEASE}-{part}", f"{RELEASE}-{part}-{number}")
        self._create(pod.name, ["--detach", *self._words(pod)])
        self.running.append(pod)
        pod.until("startupProbe" if "startupProbe" in pod.container else "readinessProbe")
        return pod

    def test(self, name: str) -> str:
        """Runs a pod of `helm test` to its end; returns its output. It must succeed."""
        pod = self._pod(f"{RELEASE}-test-{name}", f"{RELEASE}-test-{name}")
        return self._create(pod.name, self._words(pod))

    def gateway(self) -> Gateway:
        """The gateway, reached as users reach it."""
        (pod,) = (one for one in self.running if one.part == "gateway")
        keys = self.release.secrets[f"{RELEASE}-gateway-keys"]
        cacert = self._folder / "ca.pem"
        cacert.write_text(keys["ca.pem"], encoding="utf-8")
        return Gateway(pod.port, cacert, keys["gateway-token"])

    def answered(self) -> int:
        """Number of requests that the target has answered since its start; restarts it."""
        name = f"{self._prefix}-target"
        _run(self._docker, "stop", name)
        ran = subprocess.run([self._docker, "logs", name], check=True, capture_output=True)
        counts = ANSWERED.findall((ran.stdout + ran.stderr).decode())[-1]
        _run(self._docker, "start", name)
        return int(counts[0])

    def _pod(self, described: str, name: str) -> Pod:
        spec, part = self.release.described[described]["spec"], self.release.parts[described]
        services = [f"{RELEASE}-{part}", f"{name}.{RELEASE}-nats-nodes"]
        return Pod(self._docker, f"{self._prefix}-{name}", part, spec, services, free_port())

    def _create(self, name: str, words: list[str]) -> str:
        self._made.append(name)
        return _run(self._docker, "run", "--name", name, "--network", self._prefix, *words)

    def _words(self, pod: Pod) -> list[str]:
        """The arguments of `docker run` for a pod, with the settings that a kubelet would use."""
        container, rights = pod.container, pod.spec["securityContext"]
        own_name = pod.name.removeprefix(f"{self._prefix}-")
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        found = [
            "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
            f"--user={rights['runAsUser']}:{rights['runAsGroup']}",
            f"--group-add={rights['fsGroup']}", f"--hostname={own_name}",
            f"--memory={container['resources']['limits']['memory'].removesuffix('i').lower()}",
            *(f"--network-alias={one}" for one in pod.aliases),
            *(f"--publish=127.0.0.1:{pod.port}:{one['containerPort']}"
              for one in container.get("ports", []) if one["name"] == "https"),
            *(f"--env={key}={value}" for key, value in environ(container, own_name).items()),
        ]  # fmt: skip
        volumes = {one["name"]: one for one in pod.spec["volumes"]}
        for number, mount in enumerate(container["volumeMounts"]):
            volume = volumes.get(mount["name"], {})  # absent: a volume claim of a StatefulSet
            place = self._volume(f"{own_name}-{number}", volume, rights["fsGroup"])
            mode = "ro" if mount.get("readOnly") else "rw"
            found.append(f"--volume={place}:{mount['mountPath']}:{mode}")
        words = [*container.get("command", []), *container.get("args", [])]
        if "command" in container:
            found.append(f"--entrypoint={words.pop(0)}")
        tag = container["image"]
        own_tag = image(tag.removeprefix(OURS).split(":")[0]) if tag.startswith(OURS) else tag
        return [*found, own_tag, *words]

    def _volume(self, name: str, volume: dict[str, Any], group: int) -> Path:
        """Makes the folder of a volume, which belongs to root and to the group of its pod."""
        place = self._folder / name
        place.mkdir()
        os.chown(place, 0, group)
        place.chmod(EMPTY_MODE)
        for file, text in self.release.files(volume).items():
            (place / file).write_text(text, encoding="utf-8")
            os.chown(place / file, 0, group)
            (place / file).chmod(SECRET_MODE)
        return place


def _run(*words: str) -> str:
    ran = subprocess.run(words, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
    return ran.stdout.strip()
