"""The audit in CI: a service that does not answer is reported, and a vulnerability fails the
job."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

AUDIT = Path(__file__).parents[2] / ".ci/audit"
SOUND = {
    "uv": "echo 'No known vulnerabilities found'",
    "cargo": "echo 'advisories ok'",
    "npm": """echo '{"auditReportVersion": 2}'""",
}
SILENT = {
    "uv": "echo 'x could not be audited'",
    "cargo": "echo 'error: failed to fetch advisory database'; [ $2 = --version ]",
    "npm": """echo '{"error": {"code": "ENOTFOUND"}}'; exit 1""",
}
FOUND = {
    "uv": "echo 'Found 1 known vulnerability in 1 package'; exit 1",
    "cargo": "echo 'advisories FAILED'; [ $2 = --version ]",
    "npm": """echo '{"auditReportVersion": 2}'; exit 1""",
}


def audited(folder: Path, programs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Result of the audit with stub programs that execute only these lines."""
    for part in (".ci", "bin", "services/gateway/web"):
        (folder / part).mkdir(parents=True)
    shutil.copy(AUDIT, folder / ".ci/audit")
    for name, line in programs.items():
        file = folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        file.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    return subprocess.run(
        [folder / ".ci/audit"], env=environ, check=False, capture_output=True, text=True, timeout=60
    )


def test_what_was_asked_and_found_sound_passes(tmp_path: Path) -> None:
    """Broken if the audit fails although every service finds no vulnerability."""
    finished = audited(tmp_path, SOUND)
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.parametrize("name", sorted(SOUND))
def test_a_service_that_does_not_answer_is_named(tmp_path: Path, name: str) -> None:
    """Broken if CI is silent, or fails, when an audit was not possible."""
    finished = audited(tmp_path, {**SOUND, name: SILENT[name]})
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.startswith("SKIPPED "), finished.stderr
    assert "did not answer" in finished.stderr


@pytest.mark.parametrize("name", sorted(SOUND))
def test_a_vulnerability_fails(tmp_path: Path, name: str) -> None:
    """Broken if a vulnerability in one language is hidden by the clean results of the others."""
    finished = audited(tmp_path, {**SOUND, name: FOUND[name]})
    assert finished.returncode == 1, finished.stdout
