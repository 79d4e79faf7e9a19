"""The fleet of the compose file in containers, on an installed Docker engine.

It is a Compose project of its own, so that a fleet in use is not touched; but the port of the
gateway is the same. Absent images are built: after a change, run `docker compose build` first.
`COMPOSE_FILE` may add a file of this machine. Must never touch anything outside of the project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import pytest
from tests.deploy.composition import ROOT, compose
from tests.deploy.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROJECT = "loadpilot-tried"
PORT = 8443
EVERYTHING = ("--profile", "python", "--profile", "monitoring")
BUILD_S = 3_600
ANSWERED = re.compile(r"answered (\d+), refused (\d+)")


def engine() -> tuple[str, list[str]]:
    """The program `docker`, and the command of Compose; skips the test without an engine."""
    docker = shutil.which("docker")
    if docker is None or not _succeeds(docker, "info"):
        pytest.skip("needs a Docker engine that answers `docker info`: start it")
    # Compose is mostly a plugin of docker. Without the plugin, the program built here replaces it.
    plugged = _succeeds(docker, "compose", "version")
    return docker, [docker, "compose"] if plugged else [str(compose())]


@cache
def image(service: str) -> str:
    """The image of a service of the compose file; built if it is absent."""
    docker, words = engine()
    name = f"{PROJECT}-{service}"
    if not _succeeds(docker, "image", "inspect", name):
        words = [*words, *EVERYTHING, "--project-name", PROJECT, "build", service]
        subprocess.run(words, cwd=ROOT, check=True, timeout=BUILD_S)
    return name


class Containers:
    """One fleet, from its start until it is removed with its volumes."""

    def __init__(self, folder: Path, *more_files: str) -> None:
        """`more_files` are compose files that are added to the first one."""
        self._docker, self._words = engine()
        self._folder = folder
        files = [os.environ.get("COMPOSE_FILE", "docker-compose.yml"), *more_files]
        self._environ = {**os.environ, "COMPOSE_FILE": os.pathsep.join(files)}

    @contextmanager
    def up(self) -> Iterator[Self]:
        """Starts the fleet, and removes it at the end in any case, with its volumes."""
        self._take_away()
        try:
            self.compose("up", "--detach", "--wait", "--wait-timeout", "120")
            cacert = self._folder / "ca.pem"
            self.compose("cp", "gateway:/keys/ca.pem", str(cacert))
            token = self.compose("exec", "-T", "gateway", "cat", "/keys/gateway-token").strip()
            self.gateway = Gateway(PORT, cacert, token)
            yield self
        finally:
            self._take_away()

    def compose(self, *words: str, stdin: str | None = None) -> str:
        """Runs a command of Compose that must succeed; returns its output."""
        argv = [*self._words, "--project-name", PROJECT, *words]
        ran = subprocess.run(
            argv,
            cwd=ROOT,
            env=self._environ,
            input=stdin,
            check=False,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
        )
        assert ran.returncode == 0, f"{argv}: {ran.stderr}"
        return ran.stdout

    def all(self) -> dict[str, dict[str, Any]]:
        """Every container, running or not, by its name."""
        listed = self.compose(*EVERYTHING, "ps", "--all", "--format", "json")
        found = map(json.loads, listed.splitlines())
        return {one["Name"].removeprefix(f"{PROJECT}-"): one for one in found}

    def connect(self, service: str, network: str) -> None:
        """Connects a service to a network that is not its own."""
        names = (f"{PROJECT}_{network}", f"{PROJECT}-{service}-1")
        subprocess.run(
            [self._docker, "network", "connect", *names], check=True, capture_output=True
        )

    def answered(self) -> int:
        """Number of requests that the target has answered since its start; restarts it."""
        self.compose("stop", "target")
        said = ANSWERED.findall(self.compose("logs", "--no-log-prefix", "target"))
        self.compose("up", "--detach", "--force-recreate", "--no-deps", "target")
        (counts,) = said
        return int(counts[0])

    def _take_away(self) -> None:
        self.compose(*EVERYTHING, "down", "--volumes")


def _succeeds(*words: str) -> bool:
    return subprocess.run(words, check=False, capture_output=True, env=os.environ).returncode == 0
