"""The first files of a project: no existing file is lost, and git sees the right ones."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from loadpilot.cli import main

if TYPE_CHECKING:
    from pathlib import Path

GIT = shutil.which("git") or "git"
MONITORING = (
    "docker-compose.yml",
    "prometheus.yml",
    "alerts.yml",
    "grafana-datasource.yml",
    "grafana-provider.yml",
    "grafana-dashboard.json",
)
CREATED = {
    "scenarios/example.py",
    "loadpilot.toml",
    ".env.example",
    ".gitignore",
    *(f"monitoring/{name}" for name in MONITORING),
}


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def ignored(folder: Path, *names: str) -> set[str]:
    argv = [GIT, "-C", str(folder), "check-ignore", *names]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    return set(ran.stdout.split())


def test_files_that_are_there_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a user's file is overwritten, or if the command does not say which files it
    left."""
    folder = tmp_path / "new/shop"
    assert main(["init", str(folder)]) == 0
    first = files(folder)
    assert set(first) == CREATED
    assert f"cd {folder}" in capsys.readouterr().out
    (folder / "scenarios/example.py").write_text("mine", encoding="utf-8")
    (folder / "monitoring/grafana-dashboard.json").write_text("{}", encoding="utf-8")
    (folder / ".env.example").unlink()
    (folder / ".env.example").symlink_to(tmp_path / "nowhere")
    mine = files(folder)
    assert main(["init", str(folder)]) == 0
    assert files(folder) == mine
    assert not (tmp_path / "nowhere").exists()
    stdout = capsys.readouterr().out
    count = len(CREATED)
    assert [line.split()[0] for line in stdout.splitlines()[:count]] == ["left"] * count


@pytest.mark.parametrize("before", [b"", b"target/\n", b"target/", b"*.pyc\r\n"])
def test_git_ignores_logs_and_can_keep_the_baseline(before: bytes, tmp_path: Path) -> None:
    """Broken if gigabytes of logs are committed, or if a baseline cannot be committed."""
    subprocess.run([GIT, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_bytes(before)
    for _ in range(2):
        assert main(["init", str(tmp_path)]) == 0
    text = (tmp_path / ".gitignore").read_bytes()
    assert text.startswith(before)
    assert text.count(b".loadpilot/*") == 1
    names = (
        ".loadpilot/log-1/x",
        ".loadpilot/baseline.json",
        ".env",
        ".env.example",
        "loadpilot.toml",
    )
    assert ignored(tmp_path, *names) == set(names[:3])
    (tmp_path / ".gitignore").write_bytes(text.replace(b"#!", b"!"))
    assert ignored(tmp_path, *names) == {".loadpilot/log-1/x", ".env"}


def test_what_cannot_be_created_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an incomplete project is reported as done."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["init", str(tmp_path / "file")]) == 2
    assert "DIR: must be a directory" in capsys.readouterr().err
    (tmp_path / "scenarios").write_text("", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 4
    assert "error: " in capsys.readouterr().err


def test_the_printed_files_are_a_project_that_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the starter scenario, or a profile of its configuration, is refused."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert "  cd " not in capsys.readouterr().out
    for profile, rate in (("low", "1"), ("high", "100")):
        argv = ["run", "scenarios/example.py", "--dry-run", "--profile", profile]
        assert main(argv) == 0
        assert f"peak {rate} arrivals/s" in capsys.readouterr().err
    commented = (tmp_path / "loadpilot.toml").read_text(encoding="utf-8")
    lines = [line.removeprefix("# ") if " = " in line else line for line in commented.splitlines()]
    (tmp_path / "loadpilot.toml").write_text("\n".join(lines), encoding="utf-8")
    assert main(["run", "scenarios/example.py", "--dry-run"]) == 0
