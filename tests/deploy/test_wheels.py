"""The wheels as a user installs them: no cargo, no checkout, nothing of the user's home.

Both are built with the development profile in the project's target folder, where `./dev test` has
compiled everything. It takes 10 s of CPU time.
Must never let the installed command find a program or a module of this project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import opened
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.fleet import free_port
from tests.tidy.tracked import ROOT, tracked

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

BUILD_S = 280
NATIVE = "loadpilot/_native.abi3.so"
UNREACHABLE_BY_PIP = re.compile(r"NewConnectionError|ProxyError|ConnectTimeout|name resolution")
UNREACHABLE = re.compile(r"Failed to fetch: \S+|Network connectivity is disabled")
"""Messages of uv when the package index does not answer."""
SCENARIO = """
from loadpilot import VUser, scenario, task
@scenario(rps=50, duration="2s", mode="constant")
class Shop(VUser):
    @task
    def browse(self, client):
        client.get("/api/products", params={"page": 1})
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """One built wheel."""

    file: Path

    @property
    def names(self) -> set[str]:
        """The files of the package, without metadata."""
        with zipfile.ZipFile(self.file) as archive:
            return {name for name in archive.namelist() if ".dist-info/" not in name}

    @property
    def metadata(self) -> PathDistribution:
        """The metadata, which a package index shows."""
        name, version, *_ = self.file.name.split("-")
        return PathDistribution(zipfile.Path(self.file, f"{name}-{version}.dist-info/"))


def uv(*words: str | Path, folder: Path = ROOT) -> None:
    """Runs uv; skips the test when the package index does not answer."""
    program = shutil.which("uv") or next(map(str, ROOT.glob(".dev/uv-*/bin/uv")), None)
    if program is None:
        pytest.skip("needs uv: ./dev sync")
    ran = subprocess.run(
        [program, *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    if ran.returncode != 0 and (fault := UNREACHABLE.search(ran.stderr)):
        pytest.skip(f"needs the package index, now {fault[0]}: run it again when it answers")
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    """The wheel of loadpilot."""
    out = tmp_path_factory.mktemp("sdk")
    maturin = Path(sys.executable).with_name("maturin")
    build = [maturin, "pep517", "build-wheel", "--interpreter", sys.executable, "--out", out]
    settings = {"PYO3_BUILD_EXTENSION_MODULE": "1", "PYO3_PYTHON": sys.executable}
    ran = subprocess.run(
        [*build, "--profile", "dev", "--locked", "--compression-method", "stored"],
        cwd=ROOT / "sdk",
        env={**os.environ, **settings},
        check=False,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    assert ran.returncode == 0, ran.stderr
    (file,) = out.glob("*.whl")
    return Wheel(file)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    """The wheel of loadpilot-gateway."""
    out = tmp_path_factory.mktemp("gateway")
    uv("build", "--wheel", "--package", "loadpilot-gateway", "--out-dir", out)
    (file,) = out.glob("*.whl")
    return Wheel(file)


@pytest.fixture
def installed(sdk: Wheel, gateway: Wheel, tmp_path: Path) -> Loadpilot:
    """The command in an environment of its own, with only the variables PATH and HOME."""
    environment, home = tmp_path / "environment", tmp_path / "home"
    home.mkdir()
    base = Path(sys.base_prefix) / "bin" / "python3"
    subprocess.run([base, "-m", "venv", "--without-pip", environment], check=True, timeout=60)
    # The dependencies that the wheels declare, in the versions of the lock file.
    locked = tmp_path / "locked.txt"
    export = ("--quiet", "--frozen", "--all-packages", "--no-dev", "--no-emit-workspace")
    uv("export", *export, "--no-hashes", "--output-file", locked)
    python = environment / "bin" / "python"
    install = ("pip", "install", "--python", python, "--constraint", locked)
    uv(*install, sdk.file, gateway.file, folder=home)
    programs = environment / "bin"
    alone = ("/usr/bin/env", "-i", f"PATH={programs}", f"HOME={home}")
    return Loadpilot(tmp_path / "work", (*alone, str(programs / "loadpilot")))


def test_all_packages_have_one_version() -> None:
    """Broken if a release raises the version in one place only: the gateway would be installed
    beside another version of loadpilot, or agents would announce another version than their
    package's."""
    versions = {
        "Cargo.toml": _toml("Cargo.toml")["workspace"]["package"]["version"],
        "sdk": _toml("sdk/pyproject.toml")["project"]["version"],
        "gateway": _toml("services/gateway/pyproject.toml")["project"]["version"],
    }
    assert len(set(versions.values())) == 1, versions
    required = _toml("services/gateway/pyproject.toml")["project"]["dependencies"]
    assert f"loadpilot=={versions['sdk']}" in required


@pytest.mark.slow
def test_wheels_hold_the_package_and_nothing_else(sdk: Wheel, gateway: Wheel) -> None:
    """Broken if a wheel lacks the native module, a Python module or the pages, or contains tests,
    Rust sources, leftovers, or a bill of materials with paths of the building machine."""
    assert sdk.names == _files("sdk/python") | {NATIVE}
    assert gateway.names == _files("services/gateway/python")
    with zipfile.ZipFile(sdk.file) as archive:
        assert not [name for name in archive.namelist() if "/sboms/" in name]
    with zipfile.ZipFile(gateway.file) as archive:
        page = archive.read("loadpilot_gateway/static/index.html").decode()
    linked = {name for name in gateway.names if f"/{Path(name).name}" in page}
    assert {Path(name).suffix for name in linked} >= {".js", ".css"}


@pytest.mark.slow
def test_wheels_say_what_an_index_shows(sdk: Wheel, gateway: Wheel) -> None:
    """Broken if a wheel has no licence, readme or description, or installs on a Python that is too
    old."""
    for wheel in (sdk, gateway):
        shown = wheel.metadata.metadata
        assert (shown["License-Expression"], shown["Requires-Python"]) == ("Apache-2.0", ">=3.11")
        assert shown["Summary"]
        assert shown["Description-Content-Type"].startswith("text/markdown")
        assert wheel.metadata.read_text("licenses/LICENSE") == _text("LICENSE")
    for wheel, readme in ((sdk, "sdk/README.md"), (gateway, "services/gateway/README.md")):
        assert wheel.metadata.metadata["Description"].strip() == _text(readme).strip()
    assert f"loadpilot=={sdk.metadata.version}" in (gateway.metadata.requires or [])


@pytest.mark.slow
def test_an_installed_command_runs_reports_and_serves_pages(
    installed: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a wheel lacks a dependency, a module, a program or the pages, or if a run needs
    files that only a checkout has."""
    finished = installed.run(SCENARIO, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    assert finished.report["calls"]["outcomes"] == {"ok": oracle.counts().received}
    assert oracle.counts().received == all_but_late(finished.report, 50, 2)
    assert installed.call("report").stdout == finished.stdout
    with installed.begin("ui", "--no-browser", "--port", "0") as running:
        server, _, session = opened(running)
        page = server.ask("GET", "/")
        assert (page.status, page.kind.partition(";")[0]) == (200, "text/html")
        assets = re.findall(r'"(/assets/[^"]+)"', page.body.decode())
        assert [server.ask("GET", asset).status for asset in assets] == [200, 200]
        shown = server.api(f"/runs/{finished.run}", session)
        assert shown.json == finished.report


@pytest.mark.long
def test_the_start_page_leads_to_a_gated_job(sdk: Wheel, tmp_path: Path) -> None:
    """Broken if the commands of the start page, typed as they are, do not end with a job that
    passes and its result files. The page's first block is the build of the wheel."""
    _, *blocks = re.findall(r"^```sh\n(.*?)^```", _text("docs/start.md"), re.MULTILINE | re.DOTALL)
    script = "set -u\ntrap 'kill $(jobs -p)' EXIT\n" + "".join(blocks)
    script = re.sub(r"\b8000\b", str(free_port()), script)
    settings = {"WHEEL": str(sdk.file), "LOADPILOT_DURATION": "2s"}
    path = os.pathsep.join([str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"])
    ran = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **settings, "PATH": path},
        capture_output=True,
        check=False,
        text=True,
        timeout=BUILD_S,
    )
    if UNREACHABLE_BY_PIP.search(ran.stderr):
        pytest.skip("needs the package index")
    output = ran.stdout + ran.stderr
    assert ran.returncode in {0, 3}, output  # 3: a busy machine
    assert re.search(r"^exit code [13]$", output, re.MULTILINE), output
    results = json.loads((tmp_path / "ci/load.json").read_text(encoding="utf-8"))
    assert results["arrivals"]["started"] > 0
    assert results["calls"]["outcomes"] == {"ok": results["calls"]["attempted"]}
    assert all((tmp_path / "ci" / name).stat().st_size for name in ("load.html", "load.xml"))


def _toml(path: str) -> dict[str, Any]:
    return tomllib.loads(_text(path))


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _files(folder: str) -> set[str]:
    """List what git tracks below a folder, as a wheel names it."""
    return {str(path.relative_to(folder)) for path in tracked(folder)}
