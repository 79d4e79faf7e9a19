"""The text of a release is its section of CHANGELOG.md."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from deploy.release.changelog import InvalidRelease, notes, version_of
from hypothesis import given
from hypothesis import strategies as st
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHANGELOG = """# Changelog

What a user notices.

## Unreleased

### Added

- Not yet.

## 0.2.0 - 2026-11-28

### Added

- A thing with `## not a heading`.

### Fixed

- Another.

## [0.1.0] - 2026-01-01

- The first.

[0.1.0]: https://example.org/v0.1.0
"""
WORKSPACE = '[workspace.package]\nversion = "0.2.0"\n'
LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=20).filter(
        lambda line: not line.startswith(("## ", "["))
    ),
    max_size=6,
)


def test_a_release_has_its_own_section_and_no_other() -> None:
    """Broken if the text of a release lists changes of another release, or lacks its own."""
    assert notes(CHANGELOG, "0.2.0") == (
        "### Added\n\n- A thing with `## not a heading`.\n\n### Fixed\n\n- Another.\n"
    )
    assert notes(CHANGELOG, "0.1.0") == "- The first.\n"


@given(parts=st.lists(LINES, min_size=1, max_size=5))
def test_every_line_belongs_to_one_section(parts: list[list[str]]) -> None:
    """Broken if a line is lost, repeated, or moved to another release."""
    texts = ["\n".join(lines).strip() for lines in parts]
    headings = [f"## 0.{number}.0 - 2026-01-01" for number in range(len(parts))]
    written = "\n".join(
        line for heading, lines in zip(headings, parts, strict=True) for line in (heading, *lines)
    )
    for number, text in enumerate(texts):
        if text:
            assert notes(written, f"0.{number}.0") == f"{text}\n"
        else:
            with pytest.raises(InvalidRelease, match="is empty"):
                notes(written, f"0.{number}.0")


@pytest.mark.parametrize(
    ("changelog", "says"),
    [
        (CHANGELOG.replace("0.2.0 - 2026-11-28", "0.2.0"), "section '## 0.2.0' has no date"),
        (CHANGELOG.replace("## 0.2.0", "## 0.3.0"), "its sections: Unreleased, 0.3.0, 0.1.0"),
        (CHANGELOG.replace("[0.1.0] -", "0.2.0 -"), "two sections '## 0.2.0'"),
        (CHANGELOG.replace("- 2026-11-28", "(November)"), "is not '## VERSION - YYYY-MM-DD'"),
        ("## 0.2.0 - 2026-11-28\n\n## 0.1.0 - 2026-01-01\n", "section '## 0.2.0' is empty"),
    ],
)
def test_a_changelog_without_that_section_stops_the_release(changelog: str, says: str) -> None:
    """Broken if a release is published with an empty text or that of another version."""
    with pytest.raises(InvalidRelease) as found:
        notes(changelog, "0.2.0")
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("tag", "says"),
    [
        ("0.2.0", "tagged vMAJOR.MINOR.PATCH"),
        ("v0.2", "tagged vMAJOR.MINOR.PATCH"),
        ("v0.2.0\n", "tagged vMAJOR.MINOR.PATCH"),
        ("v0.2.1", "Cargo.toml has version 0.2.0; tag it v0.2.0"),
        ("v0.2.0-rc.1", "Cargo.toml has version 0.2.0"),
    ],
)
def test_a_tag_names_the_version_that_is_built(tag: str, says: str) -> None:
    """Broken if wheels of one version are published under the name of another."""
    assert version_of("v0.2.0", WORKSPACE) == "0.2.0"
    with pytest.raises(InvalidRelease) as found:
        version_of(tag, WORKSPACE)
    assert says in str(found.value)


def test_the_command_prints_it_without_the_projects_environment(tmp_path: Path) -> None:
    """Broken if the first job of the workflow, which has no build, cannot run the command."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version = text.partition('version = "')[2].partition('"')[0]
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(f"## {version} - 2026-11-28\n\n- It.\n", encoding="utf-8")
    program = [sys.executable, "-I", "-S", ROOT / "deploy/release/changelog.py"]

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert call(f"v{version}", str(changelog)).stdout == "- It.\n"
    failed = call("v9.9.9", str(changelog))
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("error: tag v9.9.9: Cargo.toml has version")
    assert call().returncode == 2


def test_the_changelog_can_be_read() -> None:
    """Broken if a heading that a release cannot find is noticed only on the day of the release."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    with pytest.raises(InvalidRelease, match="'## Unreleased' has no date"):
        notes(text, "Unreleased")
