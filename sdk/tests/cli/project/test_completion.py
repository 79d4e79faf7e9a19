"""Completion in a real bash: the suggestions after a press of the Tab key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loadpilot.cli import main

PRESS = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_loadpilot
printf '%s\\n' "${COMPREPLY[@]}"
"""
Press = "Callable[..., list[str]]"


@pytest.fixture
def press(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Press:
    """Return a function from the words of a command line to what bash offers for the last."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash: apt-get install bash")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_bytes(capsysbinary.readouterr().out)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def pressed(*words: str) -> list[str]:
        argv = [bash, "--norc", "-c", PRESS, "bash", str(script), "loadpilot", *words]
        environ = {**os.environ, "PATH": path}
        ran = subprocess.run(
            argv, capture_output=True, text=True, check=True, cwd=tmp_path, env=environ, timeout=60
        )
        assert ran.stderr == ""
        return ran.stdout.split()

    return pressed


@pytest.mark.slow
def test_commands_flags_and_values(press: Press) -> None:
    """Broken if a new command or flag has to be typed in full."""
    assert set(press("ver")) == {"verify", "verdict", "version", "versus"}
    assert set(press("run", "--warm")) == {"--warm-up"}
    assert "--profile" in press("run", "x.py", "--p")
    assert press("sea") == ["search"]
    assert press("search", "x.py", "--sl") == ["--slo"]
    assert press("runs", "pr") == ["prune"]
    assert press("keys", "rev") == ["revoke"]
    assert press("keys", "create", "--ro") == ["--role"]
    assert press("completion", "z") == ["zsh"]


def test_files_complete_where_nothing_else_does(press: Press, tmp_path: Path) -> None:
    """Broken if the first argument of the first command cannot be completed."""
    script = (tmp_path / "completion.bash").read_text(encoding="utf-8")
    assert "complete -o bashdefault -o default -F _loadpilot loadpilot" in script
    assert press("run", "sce") == []
    assert press("run", "x.py", "--config", "lo") == []


@pytest.mark.slow
def test_runs_complete_without_a_server(press: Press, tmp_path: Path) -> None:
    """Broken if an id of 26 letters has to be typed, or a keypress starts a server."""
    older, newer = "01k9aaaaaaaaaaaaaaaaaaaaaa", "01k9bbbbbbbbbbbbbbbbbbbbbb"
    for name in (f"cache/log-1/{older}.reading", f"imported/{newer}.lprun"):
        file = tmp_path / ".loadpilot" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    assert press("report", "") == ["last", newer, older]
    assert press("watch", "01k9b") == [newer]
    assert not list((tmp_path / ".loadpilot").glob("log-*"))


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script(shell: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Broken if a shell's script is empty, or lacks the flags."""
    assert main(["completion", shell]) == 0
    text = capsysbinary.readouterr().out.decode()
    assert "warm-up" in text
    assert "prune" in text
