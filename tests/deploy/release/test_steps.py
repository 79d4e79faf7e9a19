"""The scripts of a release, with stubs of cargo, docker and helm."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = "https://github.com/made/up/releases"
ROLES = ("coordinator", "agent", "gateway", "keys")
SCRIPTS = "deploy/release"
GIT, TAR = shutil.which("git") or "git", shutil.which("tar") or "tar"


class Checkout:
    """A checkout with the files that releases need, and a PATH whose first programs are stubs."""

    def __init__(self, folder: Path) -> None:
        self.root, self._path = folder / "checkout", folder / "stubs"
        self.calls = folder / "calls"
        self._path.mkdir()
        for name in (".ci", SCRIPTS):
            shutil.copytree(ROOT / name, self.root / name)
        for name in (".gitattributes", "install.sh", "LICENSE"):
            shutil.copy(ROOT / name, self.root)

    def stub(self, name: str, text: str = "") -> None:
        path = self._path / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n{text}\n')
        path.chmod(0o755)

    def run(self, script: str, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        plain = {"PATH": f"{self._path}:{os.environ['PATH']}", "HOME": str(self.root)}
        return subprocess.run(
            [self.root / script, *words],
            cwd=self.root.parent,
            env={**plain, **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def git(self, *words: str) -> str:
        plain = (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "init.defaultBranch=x",
        )
        ran = subprocess.run(
            [GIT, *plain, *words], cwd=self.root, capture_output=True, text=True, check=True
        )
        return ran.stdout.strip()

    def tag(self, *names: str) -> None:
        """Make the checkout a clone with the tags of these releases."""
        self.git("init", "-q")
        self.git("commit", "-q", "--allow-empty", "-m", "first")
        for name in names:
            self.git("tag", name)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_build_knows_its_commit(checkout: Checkout, tmp_path: Path) -> None:
    """Broken if a build from a checkout, from a source archive or in a container names no commit or
    a wrong one, or if sources inside of another checkout name the commit of that."""

    def commit(**environ: str) -> str:
        ran = checkout.run(".ci/commit", **environ)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    assert commit() == ""
    assert commit(LOADPILOT_COMMIT="0123456789abcdef0123") == "0123456789ab\n"
    checkout.git("init", "-q")
    assert commit() == "", "the commit of another checkout is named"
    checkout.git("add", "-A")
    checkout.git("commit", "-qm", "first")
    head = checkout.git("rev-parse", "HEAD")[:12]
    assert commit() == f"{head}\n"
    assert commit(PATH="/usr/bin:/bin", LOADPILOT_COMMIT="") == f"{head}\n"
    (checkout.root / "LICENSE").write_text("changed")
    assert commit() == f"{head}-dirty\n"
    packed = tmp_path / "source.tar"
    checkout.git("archive", "--output", str(packed), "HEAD")
    shutil.rmtree(checkout.root)
    checkout.root.mkdir()
    subprocess.run([TAR, "-xf", packed, "-C", checkout.root], check=True)
    assert commit() == f"{head}\n"


def test_an_archive_is_what_the_installer_asks_for(checkout: Checkout, tmp_path: Path) -> None:
    """Broken if install.sh requests another file name than the release has, if the release's copy
    of it requests another address, or if a file of the release is not in SHA256SUMS."""
    checkout.stub(
        "cargo",
        'mkdir -p target/release\nprintf "#!/bin/sh\\necho agent of $LOADPILOT_COMMIT\\n" '
        ">target/release/loadpilot-agent",
    )
    built = checkout.run(f"{SCRIPTS}/archive.sh", "release", "dist", LOADPILOT_COMMIT="a" * 40)
    assert built.returncode == 0, built.stderr
    (cargo,) = checkout.called()
    assert "--locked --profile release -p loadpilot-agent" in cargo
    dist = checkout.root / "dist"
    kind = "arm64" if platform.machine() == "aarch64" else "x86_64"
    name = f"loadpilot-agent-linux-{kind}.tar.gz"
    assert [path.name for path in dist.iterdir()] == [name]
    (dist / "a.whl").write_text("a wheel")

    for _ in range(2):  # the second call replaces the output of the first
        finished = checkout.run(f"{SCRIPTS}/finish.sh", str(dist), RELEASES)
        assert finished.returncode == 0, finished.stderr
    sums = dict(
        reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines()
    )
    assert sums.keys() == {name, "a.whl", "install.sh"}
    for file, digest in sums.items():
        assert hashlib.sha256((dist / file).read_bytes()).hexdigest() == digest

    # A stub of curl that serves the release from the folder, at the address of the release only.
    checkout.stub(
        "curl",
        'while [ "$1" != --output ]; do shift; done\n'
        f'cp "{dist}/${{3#{RELEASES}/latest/download/}}" "$2"',
    )
    (dist / "install.sh").chmod(0o755)
    ran = checkout.run("dist/install.sh", INSTALL_DIR=str(tmp_path / "bin"))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"installed agent of {'a' * 12} as {tmp_path}/bin/loadpilot-agent")
    assert all(RELEASES in call for call in checkout.called()[1:])
    assert all(" --proto =https " in call for call in checkout.called()[1:])


@pytest.mark.parametrize("address", ["", "http://example.org", "https://", 'https://a"; id; "'])
def test_the_address_of_a_release_is_checked(checkout: Checkout, address: str) -> None:
    """Broken if the address of a release can put code into `install.sh`."""
    (checkout.root / "dist").mkdir()
    ran = checkout.run(f"{SCRIPTS}/finish.sh", "dist", address)
    assert ran.returncode != 0
    assert list((checkout.root / "dist").iterdir()) == []


def test_images_are_built_for_each_architecture_and_joined(checkout: Checkout) -> None:
    """Broken if an image of a fleet is missing, lacks an architecture or does not name its commit,
    if a pre-release becomes `latest`, or if an owner with capitals cannot publish."""
    checkout.stub("docker")
    checkout.tag()
    settings = {"REGISTRY": "ghcr.io/Made", "LOADPILOT_COMMIT": "b" * 40}
    script = f"{SCRIPTS}/push_images.sh"
    assert checkout.run(script, "build", "1.2.3", "arm64", **settings).returncode == 0
    built = checkout.called()
    assert len(built) == len(ROLES)
    for role, call in zip(ROLES, built, strict=True):
        words = call.split()
        assert words[:3] == ["docker", "buildx", "build"]
        assert words[words.index("--target") + 1] == role
        assert words[words.index("--platform") + 1] == "linux/arm64"
        assert words[words.index("--tag") + 1] == f"ghcr.io/made/loadpilot-{role}:1.2.3-arm64"
        assert f"LOADPILOT_COMMIT={'b' * 12}" in words
        assert {"--push", "--provenance", "--sbom"} <= {*words}
    assert checkout.run(script, "join", "1.2.3", **settings).returncode == 0
    image = "ghcr.io/made/loadpilot-agent"
    assert checkout.called()[5] == (
        f"docker buildx imagetools create --tag {image}:1.2.3 --tag {image}:1.2 "
        f"--tag {image}:latest {image}:1.2.3-amd64 {image}:1.2.3-arm64"
    )
    assert checkout.run(script, "join", "1.3.0-rc.1", **settings).returncode == 0
    assert [call for call in checkout.called()[8:] if "latest" in call or ":1.3 " in call] == []
    assert len(checkout.called()) == 12


@pytest.mark.parametrize(
    ("version", "moved"),
    [
        ("0.1.5", ["0.1"]),
        ("0.1.3", []),
        ("0.10.2", ["0.10", "latest"]),
        ("0.9.9", ["0.9"]),
    ],
)
def test_latest_is_the_newest_release(checkout: Checkout, version: str, moved: list[str]) -> None:
    """Broken if a fix of an older version moves `latest`, or the tag of a newer minor version,
    back."""
    checkout.stub("docker")
    checkout.tag("v0.1.4", "v0.2.0", "v0.10.1", "v0.11.0-rc.1", "v1", f"v{version}")
    script = f"{SCRIPTS}/push_images.sh"
    ran = checkout.run(script, "join", version, REGISTRY="ghcr.io/made")
    assert ran.returncode == 0, ran.stderr
    for role, call in zip(ROLES, checkout.called(), strict=True):
        words = call.split()
        tags = [word for before, word in pairwise(words) if before == "--tag"]
        assert tags == [f"ghcr.io/made/loadpilot-{role}:{one}" for one in [version, *moved]]


def test_a_clone_without_tags_moves_nothing(checkout: Checkout, tmp_path: Path) -> None:
    """Broken if a shallow clone, which does not know newer releases, moves `latest` back."""
    checkout.stub("docker")
    checkout.git("init", "-q")
    checkout.git("add", "-A")
    checkout.git("commit", "-qm", "first")
    whole = checkout.root.rename(tmp_path / "whole")
    address = f"file://{whole}"
    subprocess.run([GIT, "clone", "-q", "--depth", "1", address, checkout.root], check=True)
    ran = checkout.run(f"{SCRIPTS}/push_images.sh", "join", "1.2.3", REGISTRY="ghcr.io/made")
    assert ran.returncode != 0
    assert "needs all tags" in ran.stderr
    assert checkout.called() == []


def test_a_role_that_is_pushed_is_a_stage_of_the_dockerfile() -> None:
    """Broken if a pushed role has no stage in the Dockerfile, or if `--version` of an image names
    no commit."""
    text = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    stages = {line.rpartition(" AS ")[2] for line in text.splitlines() if line.startswith("FROM ")}
    assert stages >= {*ROLES}
    script = (ROOT / SCRIPTS / "push_images.sh").read_text(encoding="utf-8")
    assert f'ROLES="{" ".join(ROLES)}"' in script
    for stage in text.split("\nFROM ")[1:3]:
        builds = stage.index("maturin build" if "AS wheels" in stage else "cargo build --release")
        assert stage.index("\nARG LOADPILOT_COMMIT=\n") < builds


def test_the_chart_is_pushed_as_the_version_of_the_release(checkout: Checkout) -> None:
    """Broken if a chart installs images of another version, or from another registry than
    theirs."""
    chart, packed = "deploy/helm/loadpilot", "target/chart/source/loadpilot"
    shutil.copytree(ROOT / chart, checkout.root / chart)
    checkout.stub("helm")
    versions = "--version 1.2.3 --app-version 1.2.3"
    ran = checkout.run(f"{SCRIPTS}/push_chart.sh", "1.2.3", REGISTRY="ghcr.io/Made")
    assert ran.returncode == 0, ran.stderr
    assert checkout.called() == [
        f"helm package {packed} {versions} --destination target/chart",
        "helm push target/chart/loadpilot-1.2.3.tgz oci://ghcr.io/made/charts",
    ]
    source, written = (
        yaml.safe_load((checkout.root / folder / "values.yaml").read_text("utf-8"))
        for folder in (chart, packed)
    )
    assert source["image"] == {"registry": ""}
    assert written == {**source, "image": {"registry": "ghcr.io/made"}}
    files = {path.relative_to(ROOT / chart) for path in (ROOT / chart).rglob("*")}
    copied = [*(checkout.root / packed).rglob("*")]
    assert {path.relative_to(checkout.root / packed) for path in copied} == files
    assert [path for path in copied if path.is_symlink()] == []


@pytest.mark.parametrize("registry", ['ghcr.io/a"; x', "ghcr.io/a|e", "ghcr.io/a b"])
def test_the_registry_of_a_chart_is_checked(checkout: Checkout, registry: str) -> None:
    """Broken if the name of a registry can change other values of the chart."""
    checkout.stub("helm")
    ran = checkout.run(f"{SCRIPTS}/push_chart.sh", "1.2.3", REGISTRY=registry)
    assert ran.returncode != 0
    assert "is no registry" in ran.stderr
    assert checkout.called() == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("push_images.sh", ("build", "1.2.3", "riscv64")),
        ("push_images.sh", ("build", "1.2.3")),
        ("push_images.sh", ("join",)),
        ("push_chart.sh", ()),
        ("archive.sh", ("release",)),
        ("finish.sh", ("dist",)),
    ],
)
def test_a_step_without_what_it_needs_does_nothing(
    checkout: Checkout, script: str, words: tuple[str, ...]
) -> None:
    """Broken if a step with a wrong or missing argument, or without REGISTRY, pushes something."""
    for name in ("cargo", "docker", "helm"):
        checkout.stub(name)
    ran = checkout.run(f"{SCRIPTS}/{script}", *words, REGISTRY="ghcr.io/made")
    assert ran.returncode != 0
    assert "usage: " in ran.stderr
    unset = checkout.run(f"{SCRIPTS}/push_images.sh", "join", "1.2.3")
    assert "REGISTRY: is not set" in unset.stderr
    assert checkout.called() == []
