"""The compose file and the Dockerfile, read for plain processes: arguments, environment and health
check of each service.

Must never interpret the compose file itself: the real Compose reads it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / ".dev" / "compose"
"""Path of the real Compose, which is built once."""
BUILD_S = 900
ENTRYPOINT = re.compile(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", re.MULTILINE)
ENV = re.compile(r"^ENV (.*)$", re.MULTILINE)
HEALTH = re.compile(r"^HEALTHCHECK .*? CMD (\[.*\])$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Service:
    """One service, as its container is configured."""

    name: str
    argv: list[str]
    environ: dict[str, str]
    image_environ: dict[str, str]
    replicas: int
    health: list[str] | None


def compose() -> Path:
    """The real Compose, built from its sources; skips the test without Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go, to build docker compose: apt-get install golang")
    if not COMPOSE.exists():
        COMPOSE.parent.mkdir(exist_ok=True)
        subprocess.run(
            [go, "build", "-o", str(COMPOSE), "github.com/docker/compose/v5/cmd"],
            cwd=Path(__file__).with_name("compose"),
            check=True,
            timeout=BUILD_S,
        )
    return COMPOSE


def configured(
    *profiles: str, files: tuple[str | Path, ...] = ("docker-compose.yml",)
) -> dict[str, Any]:
    """The configuration that Compose makes of several files."""
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    read = [word for file in files for word in ("--file", str(file))]
    printed = subprocess.run(
        [str(compose()), *chosen, *read, "config", "--format", "json"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        check=True,
        capture_output=True,
        timeout=60,
    )
    found: dict[str, Any] = json.loads(printed.stdout)
    return found


def stages() -> dict[str, str]:
    """The text of each target of the Dockerfile, lines joined."""
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    parts = re.split(r"^FROM (\S+) AS (\S+)$", text, flags=re.MULTILINE)[1:]
    return {name: body for _, name, body in zip(*[iter(parts)] * 3, strict=True)}


def services(*profiles: str) -> dict[str, Service]:
    """Every service of the compose file."""
    images = stages()
    return {
        name: service(name, facts, images)
        for name, facts in configured(*profiles)["services"].items()
    }


def service(name: str, facts: dict[str, Any], images: dict[str, str]) -> Service:
    """One service, with the values of its image."""
    image = images[facts["build"]["target"]] if "build" in facts else ""
    said = [json.loads(found) for found in ENTRYPOINT.findall(image)]
    command = facts.get("command")
    has_entrypoint = "ENTRYPOINT" in image
    if command is not None:
        said = [said[0], command] if has_entrypoint else [command]
    health = HEALTH.search(image)
    own = facts.get("healthcheck", {}).get("test")
    checked = own[1:] if own else json.loads(health[1]) if health else None
    return Service(
        name=name,
        argv=[word for words in said for word in words],
        environ=facts.get("environment") or {},
        image_environ=variables(image),
        replicas=facts.get("deploy", {}).get("replicas", 1),
        health=checked,
    )


def variables(image: str) -> dict[str, str]:
    """The environment variables that an image sets."""
    said = [word for line in ENV.findall(image) for word in line.split()]
    return dict(word.split("=", 1) for word in said)
