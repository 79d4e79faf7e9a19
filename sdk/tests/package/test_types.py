"""Types: valid code passes the strictest checkers, invalid code is reported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sdk.tests.support.documents import ROOT, blocks

WRONG = Path(__file__).parent / "typed" / "wrong.py"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
STUB_ONLY = {
    "loadpilot._native.__all__": "a list that PyO3 writes",
    "loadpilot._native.Response.__await__": "what a coroutine is given is awaited for one",
}
"""Where the stub says something else than the module does, and why."""


def run(*argv: str) -> str:
    environ = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "NO_COLOR": "1"}
    command = [sys.executable, "-m", *argv]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert ran.returncode in {0, 1}, ran.stderr
    return ran.stdout


def by_mypy(files: list[Path], folder: Path) -> list[tuple[str, int, str]]:
    """The reports of mypy --strict: file, line, words."""
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\npretty = false\n")
    config = ("--config-file", str(folder / "mypy.ini"), "--cache-dir", str(folder / "cache"))
    output = run("mypy", *config, *map(str, files))
    found = re.findall(r"^(.+?):(\d+): error: (.+)$", output, re.MULTILINE)
    return [(Path(file).name, int(line), words) for file, line, words in found]


def by_pyright(files: list[Path], folder: Path) -> list[tuple[str, int, str]]:
    """The reports of pyright in strict mode: file, line, words."""
    settings = {"include": [str(os.path.relpath(file, folder)) for file in files]}
    settings |= {"typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    output = json.loads(
        run("pyright", "--outputjson", "-p", str(folder), "--pythonpath", sys.executable)
    )
    assert output["summary"]["filesAnalyzed"] == len(files)
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in output["generalDiagnostics"]
    ]


CHECKERS = {"mypy": by_mypy, "pyright": by_pyright}


@pytest.fixture
def copied(tmp_path: Path) -> list[Path]:
    """Examples and whole scenarios of documents, as files of a user."""
    files = []
    texts = {path.name: path.read_text("utf-8") for path in EXAMPLES}
    texts |= {re.sub(r"\W", "_", b.name) + ".py": b.file for b in blocks() if b.is_whole}
    for name, text in texts.items():
        files.append(tmp_path / name)
        files[-1].write_text(text, "utf-8")
    return files


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_what_users_write_is_clean(checker: str, copied: list[Path], tmp_path: Path) -> None:
    """Broken if a correct scenario cannot be typed."""
    assert len(copied) > 10
    assert CHECKERS[checker](copied, tmp_path) == []


@pytest.mark.parametrize("checker", CHECKERS)
def test_wrong_use_is_reported_where_it_is(checker: str, tmp_path: Path) -> None:
    """Broken if a mistake that an editor could show is found only in the run."""
    copy = tmp_path / WRONG.name
    lines = WRONG.read_text("utf-8").split("\n")
    copy.write_text("\n".join(lines), "utf-8")
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = CHECKERS[checker]([copy], tmp_path)
    listed = "\n".join(f"{line}: {words}" for _, line, words in found)
    assert {line for _, line, _ in found} == marked, listed


@pytest.mark.slow
def test_the_stub_says_what_the_native_module_has(tmp_path: Path) -> None:
    """Broken if the stub lacks a name or an argument of the native module, or has one that does not
    exist."""
    (tmp_path / "allowed").write_text("\n".join(map(re.escape, STUB_ONLY)))
    allowed = ("--allowlist", str(tmp_path / "allowed"))
    output = run("mypy.stubtest", "loadpilot._native", "--ignore-disjoint-bases", *allowed)
    assert output.startswith("Success: "), output
