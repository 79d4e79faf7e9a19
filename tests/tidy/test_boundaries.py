"""Which part may depend on which: the boundaries of the architecture, read from manifests and
sources."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from tests.tidy.tracked import ROOT, lines, tracked

ALLOWED_UNDER_PROTO = {
    "base64",
    "brotli-decompressor",
    "bytes",
    "flate2",
    "hdrhistogram",
    "hmac",
    "memchr",
    "postcard",
    "ruzstd",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "ulid",
    "zlib-rs",
}
"""Data crates that `proto/events`, `proto/engine` and `proto/script` may use directly."""

FUZZ = "services/agent/fuzz"
"""The only crate that is no member of the workspace: cargo-fuzz builds it, with a nightly
compiler."""

ALLOWED_BENEATH = {
    *("alloc-no-stdlib", "alloc-stdlib", "twox-hash"),
    *("adler2", "byteorder", "cobs", "crc32fast", "miniz_oxide", "nom", "simd-adler32"),
    *("block-buffer", "const-oid", "cpufeatures", "crypto-common", "digest", "hybrid-array"),
    *("cmov", "ctutils"),
    *("cfg-if", "dyn-clone", "itoa", "num-traits", "ref-cast", "serde_core"),
    *("typenum", "zmij"),
    # Crates that their macros use.
    *("proc-macro2", "quote", "syn", "unicode-ident", "serde_derive_internals"),
}
"""Crates that those use in turn: compression, hashing, numbers. A new one must be reviewed
first."""

IMPURE = re.compile(
    r"\bstd::(env|fs|process|thread|os)\b|\b(SystemTime|Instant::now|TcpStream|UdpSocket)\b"
    r"|\b(HashMap|HashSet|Mutex|RwLock|static mut)\b|\b(e?print(ln)?|dbg)!|\btokio\b"
)
"""Names that code under `proto/` must not use. For its tests only clippy forbids them."""


def manifest(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "Cargo.toml").read_text(encoding="utf-8"))


def members() -> list[str]:
    listed: list[str] = manifest(".")["workspace"]["members"]
    return listed


def dependencies(folder: str) -> set[str]:
    return set(manifest(folder).get("dependencies", {}))


def test_every_crate_is_listed_by_name() -> None:
    """Broken if no build includes a crate, or the list hides one behind a wildcard."""
    crates = {str(path.parent) for path in tracked("*Cargo.toml") if path != Path("Cargo.toml")}
    assert set(members()) | {FUZZ} == crates
    assert manifest(".")["workspace"]["exclude"] == [FUZZ]


def test_only_the_bus_knows_nats_and_only_the_native_module_python() -> None:
    """Broken if a second crate uses the NATS client or the Python bindings."""
    knows_nats = {folder for folder in members() if "async-nats" in dependencies(folder)}
    knows_python = {folder for folder in members() if "pyo3" in dependencies(folder)}
    assert (knows_nats, knows_python) == ({"services/bus"}, {"sdk"})


def test_nouns_and_laws_depend_on_data_crates_only() -> None:
    """Broken if a crate below the purity wall (`proto/`) gains a way to do I/O."""
    for folder in ("proto/events", "proto/engine", "proto/script"):
        own = dependencies(folder) - {"loadpilot-events", "loadpilot-engine"}
        assert own <= ALLOWED_UNDER_PROTO, folder


def linked(crate: str) -> set[str]:
    """List the crates that a crate links, itself included, at any depth, without those that only
    build scripts use."""
    tree = ["cargo", "tree", "-p", crate, "--edges", "normal", "--prefix", "none", "--no-dedupe"]
    answer = subprocess.run(
        [*tree, "--format", "{p} {lib}", "--locked", "--offline"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    said = [line.split() for line in answer.stdout.splitlines() if line]
    return {words[0] for words in said if "(proc-macro)" not in words}


def test_nothing_below_the_wall_brings_a_runtime() -> None:
    """Broken if a data crate brings in threads, sockets or an executor."""
    own = {"loadpilot-events", "loadpilot-engine", "loadpilot-script"}
    for crate in sorted(own):
        below = linked(crate)
        assert crate in below
        assert below <= ALLOWED_UNDER_PROTO | ALLOWED_BENEATH | own, crate


def test_no_product_links_what_tests_alone_use() -> None:
    """Broken if the bus in memory or the server that tests start becomes part of a product."""
    for product in ("loadpilot-agent", "loadpilot-coordinator", "loadpilot-native"):
        tree = ["cargo", "tree", "-p", product, "--edges", "normal", "--prefix", "none"]
        answer = subprocess.run(
            [*tree, "--format", "{p} features={f}", "--locked", "--offline"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
        bus = [line for line in answer.stdout.splitlines() if line.startswith("loadpilot-bus ")]
        assert bus, product
        assert all(line.split(" (*)")[0].endswith("features=") for line in bus), (product, bus)


def test_the_wall_is_written_down() -> None:
    """Broken if clippy no longer forbids the laws to use clocks, I/O or the environment."""
    wall = tomllib.loads((ROOT / "proto" / "clippy.toml").read_text(encoding="utf-8"))
    banned = {entry["path"] for kind in wall.values() for entry in kind}
    assert {
        "std::time::Instant",
        "std::time::SystemTime",
        "std::collections::HashMap",
        "std::env::var",
        "std::thread::spawn",
        "std::println",
    } <= banned
    assert all(entry["reason"] for kind in wall.values() for entry in kind)


def test_nothing_below_the_wall_is_impure() -> None:
    """Broken if a lint is switched off below the purity wall."""
    sources = tracked("proto/events/src/*.rs", "proto/engine/src/*.rs", "proto/script/src/*.rs")
    assert len(sources) > 30
    assert not [
        f"{path}:{number}"
        for path in sources
        for number, line in enumerate(lines(path), 1)
        if IMPURE.search(line) or "clippy::disallowed" in line
    ]


def test_subjects_are_built_in_one_place() -> None:
    """Broken if a subject is spelled out outside of `subject.rs`, where its permissions would not
    be noticed."""
    spelled = re.compile(r'"[^"]*\.(run|live|hb|halt|secret)\.\{')
    sources = [path for path in tracked("*.rs", "sdk/python/*.py") if "tests" not in path.parts]
    found = {str(path) for path in sources if any(spelled.search(line) for line in lines(path))}
    assert found == {"proto/events/src/wire/subject.rs"}


MUST_NOT_IMPORT = {
    "sdk/python/loadpilot/control": ("loadpilot.cli",),
    "sdk/python/loadpilot/request": ("loadpilot.compile", "loadpilot.play", "loadpilot.cli"),
    "sdk/python/loadpilot/play": ("loadpilot.compile",),
    "services/gateway/python/loadpilot_gateway": ("loadpilot.cli",),
}
"""Packages that a folder must never import: those above it."""


def imported(path: Path) -> set[str]:
    """List the modules that a Python file imports, anywhere in it, by their full names."""
    parts = path.with_suffix("").parts
    package = parts[parts.index("python") + 1 :][:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *((node.module or "").split(".") if node.module else ())])
            found |= {f"{base}.{name.name}" for name in node.names}
    return found


def test_no_python_package_imports_one_above_it() -> None:
    """Broken if a shared package imports the command line, or if `play` imports the compiler."""
    for folder, banned in MUST_NOT_IMPORT.items():
        sources = tracked(f"{folder}/*.py")
        assert sources, folder
        upward = {
            (str(path), name)
            for path in sources
            for name in imported(path)
            for module in banned
            if name == module or name.startswith(f"{module}.")
        }
        assert not upward, upward
