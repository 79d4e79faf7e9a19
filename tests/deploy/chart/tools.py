"""The programs that check the chart, built once from the Go module proxy, and the files of Go
modules that define what a cluster accepts.

Must never contact a cluster, nor any server but the module proxy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.deploy.composition import BUILD_S, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT = ROOT / ".dev"
"""Folder of built programs and schemas."""
HERE = Path(__file__).parent
PROGRAMS = {
    "helm": ("tools", "helm.sh/helm/v4/cmd/helm"),
    "helm-unittest": ("unittest", "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"),
    "kubeconform": ("tools", "github.com/yannh/kubeconform/cmd/kubeconform"),
    "etcd": ("cluster", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": ("cluster", "k8s.io/kubernetes/cmd/kube-apiserver"),
}
"""By program: the folder of its go.mod, and its package."""


@dataclass(frozen=True, slots=True)
class Module:
    """A version of a module, and the hash of its files."""

    path: str
    version: str
    sum: str


KUBERNETES = Module(
    "k8s.io/kubernetes", "v1.36.3", "h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o="
)
KEDA = Module(
    "github.com/kedacore/keda/v2", "v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="
)
PROMETHEUS_OPERATOR = Module(
    "github.com/prometheus-operator/prometheus-operator",
    "v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)


def go() -> str:
    """Path of Go; skips the test without it."""
    found = shutil.which("go")
    if found is None:
        pytest.skip("needs Go, to build helm: apt-get install golang")
    return found


# Built outside of its own project, Helm has no Kubernetes version, which charts query.
LINK = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES.version}"


@cache
def program(name: str) -> Path:
    """Path of a program. A first build takes minutes; Go's cache keeps it for other checkouts."""
    module, package = PROGRAMS[name]
    sums = hashlib.sha256((HERE / module / "go.sum").read_bytes() + LINK.encode()).hexdigest()
    place = BUILT / name
    made = place.with_suffix(".made")
    with building():
        if not place.exists() or not made.exists() or made.read_text("utf-8") != sums:
            argv = [go(), "build", "-ldflags", LINK, "-o", str(place), package]
            subprocess.run(argv, cwd=HERE / module, check=True, timeout=BUILD_S)
            made.write_text(sums, encoding="utf-8")
    return place


@contextmanager
def building() -> Iterator[None]:
    """Lock for a build, since tests run beside each other."""
    BUILT.mkdir(exist_ok=True)
    with (BUILT / "building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def files(module: Module) -> Path:
    """The folder with the files of a module."""
    argv = [go(), "mod", "download", "-json", f"{module.path}@{module.version}"]
    # Runs outside of a module, since no go.mod of this repository requires it.
    ran = subprocess.run(argv, cwd="/", check=True, capture_output=True, timeout=BUILD_S)
    found = json.loads(ran.stdout)
    assert found["Sum"] == module.sum, found
    return Path(found["Dir"])
