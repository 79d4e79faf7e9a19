"""Switches on each mistake of the bug bank, shows the test that detects it, and fails when one
survives.

Mistakes in the engine are made in simulated worlds (proto/engine/tests/sim/bugbank.rs). Mistakes
that only the code with I/O (a shell) can make are made under a named test, which must pass without
them. ADR 0026 gives the reasons.

    python3 tests/bugbank/bank.py [--simulated] [MISTAKE ...]

Must never count a mistake as caught whose test did not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

FEATURE = "bugbank"
VARIABLE = "LOADPILOT_BUG"
SIMULATION = ("-p", "loadpilot-engine", "--test", "sim")
RAN = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)$", re.MULTILINE)
SEEN = re.compile(r"^thread 'bugbank::(\w+)' .*panicked at (\S+?):\d+:\d+:\n(.*)\n", re.MULTILINE)
SEED = re.compile(r"play it again: \./dev sim (\d+)")
PROMISE_CHARS = 76


@dataclass(frozen=True, slots=True)
class ShellMistake:
    """A mistake in code with I/O, and the test that must detect it."""

    mistake: str
    package: str
    suite: str
    test: str


SHELL_MISTAKES = (
    ShellMistake(
        "NoMessageId", "loadpilot-bus", "contract", "real::a_repeat_is_recognised_by_its_id"
    ),
    ShellMistake(
        "WildcardConcurrency", "loadpilot-bus", "contract", "real::a_race_has_exactly_one_winner"
    ),
    ShellMistake(
        "AckBeforeEffect",
        "loadpilot-agent",
        "shell",
        "faults::cut_off_it_fences_itself_and_reports_afterwards",
    ),
    ShellMistake(
        "BurstOnResume",
        "loadpilot-agent",
        "fire",
        "arrival::pacing::what_was_due_long_ago_is_dropped_as_late",
    ),
    ShellMistake(
        "ClockAfterPermit",
        "loadpilot-agent",
        "fire",
        "http::connection_quota::the_wait_for_a_connection_is_queue_and_not_service",
    ),
)


@dataclass(frozen=True, slots=True)
class MistakeResult:
    """Whether one mistake was detected, and by which test."""

    mistake: str
    caught: bool
    by: str


def cargo(*words: str, mistake: str = "") -> str:
    """Output of `cargo test`, with a mistake switched on or without one."""
    command = ["cargo", "test", "--features", FEATURE, *words]
    environ = {**os.environ, VARIABLE: mistake, "RUST_BACKTRACE": "0"}
    environ.pop("LOADPILOT_SIM_SEED", None)
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if "running " not in done.stdout:
        sys.exit(f"bugbank: the tests do not build:\n{done.stderr}")
    return done.stdout


def try_simulated_mistakes(wanted: set[str]) -> list[MistakeResult]:
    """Try the mistakes in the engine. Each has a test that passes when it finds the expected
    violation."""
    said = cargo(*SIMULATION, "--", "bugbank::", "--show-output")
    ran = dict(RAN.findall(said))
    if "bugbank::every_mistake_has_its_test" not in ran:
        sys.exit(f"bugbank: the simulation did not play:\n{said}")
    shown: dict[str, str] = {}
    for found in SEEN.finditer(said):
        if not found[2].endswith("main.rs"):
            seed = SEED.search(said, found.end())
            text = re.sub(r"^assertion `.*?` failed: ", "", found[3])[:PROMISE_CHARS]
            # The last panic is that of the expected violation.
            shown[found[1]] = f"simulation, world {seed[1] if seed else '?'}: {text}"
    names = [name.removeprefix("bugbank::") for name in ran]
    lines = [
        MistakeResult(camel(name), ran[f"bugbank::{name}"] == "ok", shown.get(name, "nothing"))
        for name in sorted(names)
        if name != "every_mistake_has_its_test"
    ]
    return [line for line in lines if not wanted or line.mistake in wanted]


def try_shell_mistake(one: ShellMistake) -> MistakeResult:
    """Try a mistake in code with I/O: its test must pass without it, and fail with it."""
    words = ("-p", one.package, "--test", one.suite, "--", "--exact", one.test)
    without = dict(RAN.findall(cargo(*words))).get(one.test, "not run")
    if without != "ok":
        return MistakeResult(
            one.mistake, caught=False, by=f"nothing: {one.test} is {without} without it"
        )
    made = dict(RAN.findall(cargo(*words, mistake=one.mistake))).get(one.test, "not run")
    by = f"{one.package}, {one.test}" if made == "FAILED" else f"nothing: {one.test} is {made}"
    return MistakeResult(one.mistake, caught=made == "FAILED", by=by)


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def main(words: list[str]) -> int:
    """Tries the named mistakes, or all; returns 1 when a mistake survives."""
    wanted = {word for word in words if not word.startswith("-")}
    lines = try_simulated_mistakes(wanted)
    if "--simulated" not in words:
        lines += [
            try_shell_mistake(one) for one in SHELL_MISTAKES if not wanted or one.mistake in wanted
        ]
    unknown = wanted - {line.mistake for line in lines}
    if unknown:
        sys.exit(f"bugbank: there is no mistake {', '.join(sorted(unknown))}")
    for line in lines:
        print(f"{'caught' if line.caught else 'SURVIVES':<10}{line.mistake:<24}{line.by}")
    survivors = [line.mistake for line in lines if not line.caught]
    print(f"\n{len(lines) - len(survivors)} of {len(lines)} mistakes are caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
