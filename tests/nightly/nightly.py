"""Runs all long tests, also after a failure, and prints one summary: `./dev nightly [SEED]`.

    python tests/nightly/nightly.py SEED

Random tests start from SEED; the same number repeats them. Steps that only compute run at idle
priority beside the fault tests, which mostly wait. Steps that judge times have the machine to
themselves. target/nightly has the output of each step and the summary. Exit code 1: a step failed.
A step that cannot run on this machine is skipped, with the reason. A night takes about two hours on
two processors (bench/results/build.md).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = Path("target/nightly")
WORKERS = 2 * (os.cpu_count() or 1) + 1
"""Workers of pytest, as in ./dev."""
IDLE = ("chrt", "--idle", "0") if shutil.which("chrt") else ("nice", "-n", "19")
"""Runs a command when no other process wants the processor."""
CANNOT_RUN = 77
"""Exit code of a step that cannot run on this machine."""
NOTED = re.compile(
    r"^(?:(?:FAILED|ERROR|SKIPPED|NOT JUDGED|SURVIVES)\b.*|test .* FAILED)$", re.MULTILINE
)
"""Lines of pytest, cargo, the bug bank and scripts that the summary repeats."""
LAST_LINES = 40
"""Number of lines printed of a failed step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command, and the variables that are added to its environment."""

    name: str
    argv: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        return FOLDER / f"{self.name.replace(' ', '-')}.txt"


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps that run one after the other, and steps that compute beside them."""

    steps: Sequence[Step]
    computing: Sequence[Step] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended, and the lines of its output that matter."""

    name: str
    result: str
    wall_secs: float
    cpu_secs: float
    noted: Sequence[str] = ()

    def __str__(self) -> str:
        times = f"{self.wall_secs:6.0f} s {self.cpu_secs:6.0f} s CPU"
        return "\n    ".join([f"{self.result:<8}{self.name:<20}{times}", *self.noted])


def stages(seed: int) -> list[Stage]:
    """List the stages of a night."""
    faults = ("pytest", "tests/faults")
    faults_seed = {"LOADPILOT_FAULTS_SEED": f"{seed}"}
    simulation = ("cargo", "test", "--profile", "sim", "-p", "loadpilot-engine", "--test", "sim")
    search = {"LOADPILOT_SOUNDNESS": "10000", "LOADPILOT_SOUNDNESS_FIRST": f"{seed}"}
    is_any = ("-m", "long or not long")
    # Folders without a step of their own.
    others = ("sdk/tests", "services", "tests/e2e", "tests/browser", "--ignore=sdk/tests/soundness")
    beside = ("-n", f"{WORKERS}")
    soundness = ("pytest", "sdk/tests/soundness", *is_any, *beside, "--timeout=14400")
    # The laws of the engine. The other tests of the workspace use no random numbers.
    laws = ("cargo", "test", "--workspace", "--no-fail-fast", "--lib", "--test", "laws")
    # The kernel gives a thread of idle priority no slice of its own.
    but_slices = ("--", "--skip", "a_sharpened_thread_has_a_short_slice")
    cases = {"PROPTEST_RNG_SEED": f"{seed}", "PROPTEST_CASES": "512"}
    return [
        # Runs before the fault tests, which start programs that this step may replace.
        Stage([Step("builds", ("cargo", "test", "--workspace", "--quiet", "--no-run"))]),
        Stage(
            [
                Step("fault cases", (*faults, "-m", "not timed", *beside), faults_seed),
                Step("long tests", ("pytest", *others, "-m", "long and not timed", *beside)),
            ],
            computing=[
                Step(
                    "simulation",
                    (*simulation, "--", "--ignored"),
                    {"LOADPILOT_SIM_FIRST": f"{seed}"},
                ),
                Step("soundness", soundness, search),
                Step("property tests", (*laws, "--test", "wire", *but_slices), cases),
            ],
        ),
        Stage(
            [
                Step("timed fault cases", (*faults, "-m", "timed"), faults_seed),
                Step("timed long tests", ("pytest", *others, "-m", "long and timed")),
                Step("comparisons", ("python", "-m", "tests.nightly.comparisons", f"{seed}", "10")),
                Step("searches", ("python", "-m", "tests.nightly.searches", f"{seed}", "10")),
                Step("bug bank", ("python", "tests/bugbank/bank.py")),
                Step("other CPythons", ("./dev", "pythons")),
                Step("images", ("pytest", "tests/deploy", "-m", "long")),
                Step("readers of other tools", ("pytest", "tests/nightly", "-m", "long")),
                Step("bare Debian", ("tests/deploy/bare_debian.sh", "demo")),
            ]
        ),
    ]


def run(stages: Sequence[Stage]) -> list[Outcome]:
    """Run all steps; print each as it ends."""
    outcomes: list[Outcome] = []

    def run_steps(steps: Sequence[Step], prefix: Sequence[str] = ()) -> None:
        for step in steps:
            outcomes.append(run_step(step, prefix))
            print(f"==== {outcomes[-1]}", flush=True)

    for stage in stages:
        beside = threading.Thread(target=run_steps, args=(stage.computing, IDLE))
        beside.start()
        run_steps(stage.steps)
        beside.join()
    return outcomes


def run_step(step: Step, prefix: Sequence[str] = ()) -> Outcome:
    """Run one step to its end; print the last lines of a failed one."""
    print(f"==== begins: {step.name} ({step.output})", flush=True)
    began = time.monotonic()
    with step.output.open("wb") as output:
        process = subprocess.Popen(
            [*prefix, *step.argv],
            env=os.environ | step.environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = step.output.read_text(encoding="utf-8", errors="replace")
    noted = NOTED.findall(text)
    result = judge(process.returncode, text)
    if result == "FAILED":
        print("\n".join(text.splitlines()[-LAST_LINES:]))
    cpu_secs = usage.ru_utime + usage.ru_stime
    return Outcome(step.name, result, time.monotonic() - began, cpu_secs, noted)


def judge(code: int, text: str) -> str:
    """Decide how a step ended. Pytest passes when it has skipped every test; a night does not."""
    if code == CANNOT_RUN:
        return "skipped"
    if code != 0:
        return "FAILED"
    is_all_skipped = re.search(r"\d+ skipped", text) and not re.search(r"\d+ passed", text)
    return "skipped" if is_all_skipped else "passed"


def main(words: list[str]) -> int:
    """Run the night; return 1 when a step failed."""
    seed = int(words[0])
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    outcomes = run(stages(seed))
    summary = "\n".join([f"seed {seed}, repeated by: ./dev nightly {seed}", *map(str, outcomes)])
    (FOLDER / "summary.txt").write_text(f"{summary}\n", encoding="utf-8")
    print(f"\n{summary}")
    return 1 if any(outcome.result == "FAILED" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
