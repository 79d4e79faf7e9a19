"""A scenario played twice, in Python and as code, with the same answers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadpilot._native import Rehearsal
from loadpilot.compile.plan import Compiled, compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.problem import Refused
from loadpilot.scenario_file.bundle import bundle
from loadpilot.scenario_file.load import choose, load

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot._native import RehearsedUser, Wanted

TARGET = "http://localhost:8000"
TURNS_MAX = 200
"""Most that a user wants in one part; loops here are short."""
SEED = 20261122
DUES_US = (0, 1_790_000_000_250_001, 951_782_400_000_000, 4_102_444_799_999_999)
"""When parts are due, in turn: with and without µs, on a leap day, at the end of a year."""
BEYOND = "CompiledError: "
"""What code says where it cannot go on as Python would."""

Answer = tuple[int, bytes, bytes]
Result = Answer | str
Script = list[tuple[int, list[Result]]]
"""Parts of a user's life, each with its results, over and over."""
Line = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A compiled scenario, or the reason that it is not compiled."""

    text: str
    compiled: Compiled
    bundle: bytes
    file: str
    scenario: str

    @property
    def is_code(self) -> bool:
        return "code" in self.compiled.plan

    def in_python(self, script: Script) -> list[Line]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.filterwarnings("ignore", "http.cookiejar bug", UserWarning)
            return self._in_python(script)

    def _in_python(self, script: Script) -> list[Line]:
        plan = self.compiled.plan_json()
        played = Rehearsal.in_python(self.bundle, self.file, plan, SEED)
        return _played(played.user(), script)

    def in_code(self, script: Script, plan: str | None = None) -> list[Line]:
        kept = self.compiled.plan["code"].get("rows")
        rows = self.compiled.bodies[kept["sha256"]] if kept else None
        played = Rehearsal.in_code(plan or self.compiled.plan_json(), rows, SEED)
        return _played(played.user(), script)


def case(text: str, folder: Path) -> Case | None:
    """Compile a scenario file; None if it is refused as a mistake."""
    path = folder / "scene.py"
    path.write_text(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            loaded = load(path)
        cls = choose(loaded, None)
        compiled = compile_scenario(loaded, cls, TARGET, Overrides())
    except Refused:
        return None
    packed = bundle(loaded)
    return Case(text, compiled, packed.content, packed.file, cls.__name__)


def same(python: list[Line], code: list[Line]) -> bool:
    """Whether code did the same as Python, up to where it reported that it cannot continue."""
    for one, other in zip(python, code, strict=False):
        if is_beyond(other):
            return True
        if one != other:
            return False
    return len(python) == len(code)


def is_beyond(line: Line) -> bool:
    """Whether code reports that it cannot continue as Python would."""
    check, raised = line[2:4]
    return (check is not None and check[1].startswith(BEYOND)) or (
        raised is not None and raised.startswith(BEYOND)
    )


def _played(user: RehearsedUser, script: Script) -> list[Line]:
    lines: list[Line] = []

    def noted(wanted: Wanted) -> Wanted:
        asks = wanted.sends or wanted.batch
        lines.append((asks, wanted.rests_us, wanted.check, wanted.raised, wanted.measured))
        return wanted

    for place, (part, results) in enumerate(script):
        due_us = DUES_US[(place + len(script[0][1])) % len(DUES_US)]
        wanted = noted(user.begin(part, place, due_us))
        for turn in range(TURNS_MAX):
            if wanted.sends is None and wanted.rests_us is None and wanted.batch is None:
                break
            wanted = noted(_resumed(user, wanted, results[turn % len(results) :] + results))
    return lines


def _resumed(user: RehearsedUser, wanted: Wanted, results: list[Result]) -> Wanted:
    result = results[0]
    if wanted.batch is not None and (result != "stopped" or len(wanted.batch) % 2):
        return user.all_answered((results * len(wanted.batch))[: len(wanted.batch)])
    if result == "stopped":
        return user.stopped()
    if wanted.rests_us is not None:
        return user.rested()
    match result:
        case "timed out":
            return user.timed_out()
        case "unsendable":
            return user.unsendable("path: must be short")
        case (int() as status, bytes() as head, bytes() as body):
            return user.answered(status, head, body)
    raise AssertionError(result)
