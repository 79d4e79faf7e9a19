"""No build except for those of tests contains the deliberate mistakes of the bug bank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.tidy.test_boundaries import manifest, members
from tests.tidy.tracked import ROOT, lines, tracked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEATURE = "bugbank"
KEEPERS = {"proto/engine", "services/agent", "services/bus"}
"""Crates that can make mistakes."""
ASKS = re.compile(r"\bbugbank\b")
MAY_ASK = {
    "dev",
    "tests/bugbank/bank.py",
    "tests/nightly/nightly.py",
    "tests/tidy/test_bugbank.py",
}
"""Files that may switch the feature on: the command, and the scripts that it runs."""


def named(manifest_part: Any) -> Iterator[str]:
    """Every string in a part of a manifest."""
    if isinstance(manifest_part, str):
        yield manifest_part
    elif isinstance(manifest_part, dict):
        for key, value in manifest_part.items():
            yield key
            yield from named(value)
    elif isinstance(manifest_part, list):
        for one in manifest_part:
            yield from named(one)


def test_no_manifest_switches_it_on() -> None:
    """Broken if a default feature or a dependency builds mistakes into a product."""
    for folder in members():
        whole = manifest(folder)
        features = whole.pop("features", {})
        own = features.pop(FEATURE, None)
        assert own == ([] if folder in KEEPERS else None), folder
        assert not [text for text in (*named(features), *named(whole)) if FEATURE in text], folder
    root = manifest(".")
    assert not [text for text in named(root) if FEATURE in text]


def test_nothing_else_asks_for_it() -> None:
    """Broken if a release, an image or the wheel is built with the feature."""

    def is_build(path: Path) -> bool:
        is_text = path.suffix in {"", ".toml", ".yml", ".yaml", ".sh", ".py", ".json"}
        return is_text and "corpus" not in path.parts

    asking = {
        str(path)
        for path in tracked()
        if is_build(path) and path.name != "Cargo.toml" and (ROOT / path).is_file()
        if any(ASKS.search(line) for line in lines(path))
    }
    assert asking == MAY_ASK


def test_without_it_a_mistake_is_a_constant() -> None:
    """Broken if a shipped build can be made to contain a mistake."""
    for folder in sorted(KEEPERS):
        text = (ROOT / folder / "src" / "bugs.rs").read_text(encoding="utf-8")
        without = re.search(
            r'#\[cfg\(not\(feature = "bugbank"\)\)\]\n#\[inline\(always\)\]\n'
            r"pub\(crate\) const fn bug\(_: Bug\) -> bool \{\n    false\n\}",
            text,
        )
        assert without, folder
        outside = [line for line in text.splitlines() if "env::var" in line]
        assert len(outside) <= 1, folder
