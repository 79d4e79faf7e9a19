"""The GitHub action: its description is valid, and its steps do what it describes.

No GitHub is here: the test replaces the inputs, gives the steps the files that the runner gives
them, and executes them with the runner's shell.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.e2e.support.command import COMMAND, Finished
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.programs import SCENARIO

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

ACTION = Path(__file__).parents[3] / "action.yml"
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
"""Command that the runner executes for `shell: bash`."""
INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


def action() -> dict[str, Any]:
    described: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return described


def step(name: str) -> dict[str, Any]:
    (found,) = [one for one in action()["runs"]["steps"] if one.get("id") == name]
    return dict(found)


class Workflow:
    """A job in a folder, with the files of the runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = {name: folder / f".{name}" for name in ("OUTPUT", "STEP_SUMMARY", "PATH")}
        for file in self.files.values():
            file.touch()
        self.temp = folder / ".temp"
        self.temp.mkdir()

    def play(self, name: str, **inputs: str) -> Finished:
        """Executes a step with these inputs and the defaults of all others."""
        described, chosen = action(), step(name)
        given = {key: one.get("default", "") for key, one in described["inputs"].items()} | inputs
        environ = {k: v for k, v in os.environ.items() if k != "LOADPILOT_TARGET"}
        environ |= {f"GITHUB_{key}": str(file) for key, file in self.files.items()}
        environ |= {
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(self.temp),
            "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
        }
        for key, text in chosen["env"].items():
            environ[key] = INPUT.sub(lambda found: given[found[1]], text)
        script = self.folder / ".step.sh"
        script.write_text(chosen["run"], encoding="utf-8")
        ran = subprocess.run(
            [*SHELL, str(script)],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        return Finished(ran.returncode, ran.stdout, ran.stderr, self.folder / "ci/load.json")

    def outputs(self) -> dict[str, str]:
        lines = self.files["OUTPUT"].read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "shop.py").write_text(SCENARIO)
    return Workflow(folder)


def test_the_action_is_a_composite_of_sound_steps(tmp_path: Path) -> None:
    """Broken if GitHub refuses the file, or if the text of an input can be executed in a script."""
    described = action()
    assert described["runs"]["using"] == "composite"
    assert {"name", "description", "inputs", "outputs"} <= described.keys()
    inputs = described["inputs"]
    assert {"scenario", "target", "thresholds", "baseline", "args", "version"} <= inputs.keys()
    assert all(one["description"] for one in [*inputs.values(), *described["outputs"].values()])
    used = INPUT.findall(ACTION.read_text(encoding="utf-8"))
    assert set(used) == inputs.keys()
    scripts = [one for one in described["runs"]["steps"] if "run" in one]
    assert len(scripts) == 2
    for one in scripts:
        assert one["shell"] == "bash"
        assert "${{" not in one["run"]
        file = tmp_path / f"{one['id']}.sh"
        file.write_text("#!/bin/bash\n" + one["run"])
        subprocess.run([*SHELL, "-n", file], check=True)
        shellcheck = shutil.which("shellcheck")
        if shellcheck is not None:
            subprocess.run([shellcheck, file], check=True)


@pytest.mark.slow
def test_a_job_runs_gates_compares_and_keeps_the_run(workflow: Workflow, oracle: Oracle) -> None:
    """Broken if a gate is not judged, a file is missing, or outputs lead nowhere."""
    good = workflow.play(
        "run",
        scenario="shop.py",
        target=oracle.url,
        thresholds="p99_ms=60000\n\n  error_rate=1",
        args="--seed 7 --tag 'team=the shop'",
        results="ci",
    )
    assert good.judged == 0, good.stderr
    report = good.report
    assert len(oracle.requests()) == all_but_late(report, 40, 1)
    assert report["run"]["tags"] == {"team": "the shop"}
    assert [gate["key"] for gate in report["verdict"]["thresholds"]] == ["error_rate", "p99_ms"]
    kept = {"load.json", "load.lprun", "load.md", "load.xml"}
    assert {file.name for file in (workflow.folder / "ci").iterdir()} == kept
    assert workflow.outputs() == {
        "exit-code": str(good.code),
        "run": report["run"]["id"],
        "run-file": "ci/load.lprun",
    }
    (workflow.folder / "ci/load.lprun").rename(workflow.folder / "before.lprun")

    failed = workflow.play(
        "run",
        scenario="shop.py",
        target=oracle.url,
        thresholds="p99_ms<0.0001",
        baseline="before.lprun",
        results="ci",
    )
    assert failed.judged == 1, failed.stderr
    assert re.search(r"^::error title=LoadPilot Shop%3A p99_ms::", failed.stderr, re.MULTILINE)
    compared = (workflow.folder / "ci/compare.txt").read_text()
    assert "p99" in compared
    assert workflow.outputs()["exit-code"] == str(failed.code)
    assert compared in workflow.files["STEP_SUMMARY"].read_text()


def test_what_is_wrong_fails_without_a_run(workflow: Workflow, oracle: Oracle) -> None:
    """Broken if a job passes with a mistake, or if the text of an input is executed."""
    ended = workflow.play(
        "run",
        scenario="shop.py",
        target=oracle.url,
        thresholds='$(touch pwned)\n`touch pwned`\n"; touch pwned; "',
        args="--duration '$(touch pwned)'",
    )
    assert ended.code == 2, ended.stderr
    assert not (workflow.folder / "pwned").exists()
    assert workflow.outputs() == {"exit-code": "2"}
    assert workflow.play("run", scenario="shop.py", args="--tag 'open").code == 2
    assert oracle.counts().received == 0


def test_a_version_is_a_wheel_a_pattern_or_a_number(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the step installs another package than the input names."""
    tools = workflow.folder / "tools"
    tools.mkdir()
    # A stub of a virtual environment, whose pip records what it would install.
    (tools / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\n'
        'printf "#!/bin/sh\\nprintf \'%%s \' \\"\\$@\\" > installed\\n" > "$3/bin/pip"\n'
        'chmod +x "$3/bin/pip"\n'
    )
    (tools / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(sys.modules[__name__], "COMMAND", tools / "python3")
    (workflow.folder / "wheels").mkdir()
    (workflow.folder / "wheels/loadpilot-1-any.whl").touch()
    expected = {
        "1.2.3": "loadpilot==1.2.3",
        "wheels/loadpilot-*.whl": "wheels/loadpilot-1-any.whl",
        "https://wheels.test/loadpilot.whl": "https://wheels.test/loadpilot.whl",
    }
    for version, package in expected.items():
        ended = workflow.play("install", version=version)
        assert ended.code == 0, ended.stderr
        installed = (workflow.folder / "installed").read_text().split()
        assert installed == ["install", "--quiet", package]
    added = workflow.files["PATH"].read_text().splitlines()
    assert added == [str(workflow.temp / "loadpilot/bin")] * 3
