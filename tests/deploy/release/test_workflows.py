"""The workflow files: actionlint, and rules that it does not check."""

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
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKFLOWS = ROOT / ".github" / "workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
ACTIONLINT = ROOT / ".dev" / "actionlint"
"""Path of actionlint, which is built once for each version in go.sum."""
BUILD_S = 280
PINNED = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
KEY = re.compile(r"\$\{\{(.*?)\}\}")
STEP = re.compile(r"(?:^|\s)(\./dev|\.ci/\w+|deploy/release/\w+\.\w+)(?: (--\w+|\w+))?")
NEEDS = {"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"}


def jobs() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, workflow and content of each job."""
    for file in FILES:
        workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, job in workflow["jobs"].items():
            yield f"{file.name}: {name}", workflow, job


@pytest.fixture(scope="session")
def actionlint() -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go, to build actionlint: apt-get install golang")
    module = Path(__file__).with_name("actionlint")
    version = re.search(r"rhysd/actionlint (\S+)", (module / "go.mod").read_text(encoding="utf-8"))
    assert version is not None
    built = ACTIONLINT.with_name(f"actionlint-{version[1]}")
    if not built.exists():
        built.parent.mkdir(exist_ok=True)
        subprocess.run(
            [go, "build", "-o", built, "github.com/rhysd/actionlint/cmd/actionlint"],
            cwd=module,
            check=True,
            timeout=BUILD_S,
        )
    return built


def lint(program: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    """Run actionlint, with the shellcheck of the environment for the steps."""
    shellcheck = Path(sys.executable).with_name("shellcheck")
    return subprocess.run(
        [program, "-no-color", "-pyflakes=", f"-shellcheck={shellcheck}", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow  # actionlint is built from its sources, once
def test_workflows_pass_actionlint(actionlint: Path) -> None:
    """Broken if a workflow refers to an absent job, output or input, or if a step is an invalid
    shell script. Such a mistake would be seen only on the day of a release."""
    assert [file.name for file in FILES] == ["ci.yml", "release.yml"]
    ran = lint(actionlint, *FILES)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout


@pytest.mark.slow  # actionlint is built from its sources, once
def test_actionlint_finds_mistakes(actionlint: Path, tmp_path: Path) -> None:
    """Broken if the linter, or its shellcheck, is called in a way that finds no mistake."""
    text = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.yml"
    for right, mistake, says in (
        ("needs.notes.outputs.version", "needs.notes.outputs.versoin", 'property "versoin"'),
        ("needs: publish", "needs: publsh", "publsh"),
        ("runs-on: ubuntu-24.04", "runs-on: ubuntu-24.05", "ubuntu-24.05"),
        ('"$GITHUB_REF_NAME" > notes', "$GITHUB_REF_NAME > notes", "SC2086"),
    ):
        assert right in text
        wrong.write_text(text.replace(right, mistake), encoding="utf-8")
        ran = lint(actionlint, wrong)
        assert ran.returncode == 1
        assert says in ran.stdout


def test_actions_are_pinned_and_few_are_not_githubs() -> None:
    """Broken if a moved tag of an action changes what is released."""
    owners = set()
    for file in FILES:
        for line in file.read_text(encoding="utf-8").splitlines():
            if "uses:" in line:
                assert PINNED.search(line), line
                owners.add(line.partition("uses: ")[2].partition("/")[0])
    assert owners <= {"actions", "docker"}


def test_a_job_may_do_what_it_has_to_and_no_more() -> None:
    """Broken if a job that builds, or runs code of a pull request, can change the repository or a
    release, or if a token stays in a checkout."""
    may_write = {}
    for name, workflow, job in jobs():
        assert workflow["permissions"] == {"contents": "read"}
        asked = job.get("permissions", {})
        may_write[name] = {key for key, value in asked.items() if value == "write"}
        assert job["timeout-minutes"] <= 90, name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
    assert {name: keys for name, keys in may_write.items() if keys} == {
        "release.yml: images": {"packages"},
        "release.yml: publish": set(NEEDS),
        "release.yml: pages": {"pages", "id-token"},
    }


def test_no_input_becomes_a_part_of_a_script() -> None:
    """Broken if the name of a tag or a branch can be executed."""
    for name, _, job in jobs():
        for step in job["steps"]:
            assert KEY.search(step.get("run", "")) is None, name


def test_steps_call_what_is_there() -> None:
    """Broken if a step calls a script or a command of ./dev that was renamed."""
    usage = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True).stdout
    called = set()
    for name, _, job in jobs():
        for step in job["steps"]:
            for program, word in STEP.findall(step.get("run", "")):
                called.add((program, word if program == "./dev" else ""))
                assert os.access(ROOT / program, os.R_OK), (name, program)
                assert program != "./dev" or f"./dev {word} " in usage, (name, word)
    programs = {program for program, _ in called}
    scripts = {f"deploy/release/{path.name}" for path in (ROOT / "deploy/release").glob("*.sh")}
    unused = scripts - programs - {"deploy/release/archive.sh", "deploy/release/sbom.sh"}
    assert unused == set(), "no workflow calls a release script"
    assert ("./dev", "coverage") in called


def test_everything_is_built_before_anything_is_published() -> None:
    """Broken if a failed build leaves half of a release published."""
    release = yaml.safe_load((WORKFLOWS / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert {*release["publish"]["needs"]} == release.keys() - {"publish", "pages"}
    kinds = {one["kind"] for one in release["build"]["strategy"]["matrix"]["include"]}
    assert kinds == {f"{os}-{arch}" for os in ("linux", "darwin") for arch in ("x86_64", "arm64")}
