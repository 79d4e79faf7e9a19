"""No files of a Rust crate import each other in a circle, except where a comment says why."""

from __future__ import annotations

import pytest
from tests.tidy.rust_imports import Crate
from tests.tidy.test_boundaries import members
from tests.tidy.tracked import ROOT, tracked


def crates() -> dict[str, Crate]:
    """Read the libraries of all members."""
    sources: dict[str, dict[str, str]] = {member: {} for member in members()}
    for path in tracked("*/src/*.rs"):
        member, _, file = str(path).partition("/src/")
        if member in sources and file != "main.rs" and not file.startswith("bin/"):
            sources[member][file] = (ROOT / path).read_text(encoding="utf-8")
    return {member: Crate(files) for member, files in sources.items()}


def test_no_files_import_each_other_in_a_circle() -> None:
    """Broken if files import each other in a circle, so that none of them can be understood
    alone."""
    read = crates()
    assert sum(len(of) for crate in read.values() for of in crate.imports().values()) > 1000
    found = [f"{member}: {line}" for member, crate in read.items() for line in crate.circle()]
    assert not found, "\n".join(["move what both need to a third file:", *found])


ROOT_FILE = "pub mod a;\nmod b;\nmod c;\npub use b::B;\n"
B_NEEDS_A = "use crate::a::A;"

CIRCLES = {
    "use": {"a.rs": "use crate::b::B;"},
    "nested tree": {"a.rs": "use std::fmt;\nuse super::{\n    b::{B as Other, f},\n};"},
    "module": {"a.rs": "use super::b;\nfn g() { b::f() }"},
    "re-export": {"a.rs": "use crate::B;"},
    "export of a file beside it": {"a.rs": "pub(crate) use super::b::B;"},
    "path in code": {"a.rs": "fn g() -> crate::b::B { todo!() }"},
    "child": {"a.rs": "", "c/mod.rs": "mod d;\nfn g() { d::f() }", "c/d.rs": "use super::g;"},
    "three files": {"a.rs": "use crate::c::{self, C};", "c/mod.rs": "use super::b::B;"},
    "behind text": {"a.rs": 'const URL: &str = "http://{";\nuse crate::b::B;'},
}
"""Files beside `b.rs`, which imports `a.rs`; with each of them there is a circle."""

NO_CIRCLES = {
    "explained": "// Circle: a tree has leaves,\n// which know the tree.\nuse crate::b::B;",
    "comment": "// use crate::b::B;\n/* use crate::b::B; */",
    "text": 'const A: &str = "use crate::b::B;";\nconst B: &str = r#"crate::b::B"#;',
    "test": "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}",
    "module whose names are not used": "use crate::b;",
    "another crate": "use b_core::b::B;\nfn f() -> std::b::B {}",
}
"""Sources of `a.rs` that do not import `b.rs`."""


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_is_found(name: str) -> None:
    """Broken if the test above accepts every source."""
    circle = Crate({"lib.rs": ROOT_FILE, "b.rs": B_NEEDS_A, **CIRCLES[name]}).circle()
    assert len(circle) >= 2
    assert name == "child" or "b.rs imports a::A of a.rs" in circle


@pytest.mark.parametrize("name", NO_CIRCLES)
def test_what_is_no_import_is_left_out(name: str) -> None:
    """Broken if the test above forbids something that is no import, or an import that a comment
    explains."""
    crate = Crate({"lib.rs": ROOT_FILE, "b.rs": B_NEEDS_A, "a.rs": NO_CIRCLES[name]})
    assert crate.imports()["b",] == {("a",): ("a", "A")}
    assert crate.circle() == []
