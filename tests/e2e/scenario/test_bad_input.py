"""Bad input to the real command: the message names place, value and rule, and nothing is
started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

HEAD = "from loadpilot import LoadClient, VUser, scenario, task\n"
SCENE = (
    HEAD
    + """
@scenario(rps={rps!r}, duration={duration!r}, mode="constant")
class {name}(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get({arguments})
"""
)


def scene(
    arguments: str = "'/'", *, name: str = "Good", rps: object = 5, duration: object = "1s"
) -> str:
    return SCENE.format(arguments=arguments, name=name, rps=rps, duration=duration)


GOOD = scene()
CALL_LINE = "scene.py:7"


@dataclass(frozen=True, slots=True)
class Case:
    """One mistake, or several, and the texts that must describe each."""

    name: str
    says: Sequence[str]
    text: str | None = GOOD
    flags: Sequence[str] = ()
    target: str | None = None


CASES = (
    Case("a missing file", ["scene.py: no such file"], None),
    Case(
        "a syntax error", ["scene.py:8", "SyntaxError", "`def broken(:`"], GOOD + "def broken(:\n"
    ),
    Case("an import error", ["scene.py:1", "No module named 'nowhere'"], "import nowhere\n" + GOOD),
    Case("an exit at import", ["scene.py:2", "sys.exit(0)"], "import sys\nsys.exit(0)\n" + GOOD),
    Case("no scenario", ["scene.py", "defines no scenario"], HEAD),
    Case(
        "two scenarios and no choice",
        ["Good", "Other", "--scenario"],
        GOOD + scene(name="Other"),
    ),
    Case(
        "a scenario that is not there", ["scene.py", "'God'", "defines Good"], flags=["-s", "God"]
    ),
    Case(
        "a header that smuggles another",
        [CALL_LINE, "'X-A'", "a line break"],
        scene(r"'/', headers={'X-A': 'a\r\nX-B: b'}"),
    ),
    Case("a path that changes the host", [CALL_LINE, "'@evil'", "begin with /"], scene("'@evil'")),
    Case(
        "an address elsewhere",
        [CALL_LINE, "https://elsewhere.example/"],
        scene("'https://elsewhere.example/'"),
    ),
    Case("an address without scheme", [CALL_LINE, "//elsewhere"], scene("'//elsewhere/x'")),
    Case("a keyword that is none", [CALL_LINE, "did you mean json=?"], scene("'/x', jsn={}")),
    Case("a bad duration", ["duration", "'soon'"], scene(duration="soon")),
    Case("a bad duration flag", ["--duration", "'-1s'"], flags=["--duration=-1s"]),
    Case("a bad rate", ["rps", "'many'"], scene(rps="many")),
    Case("no rate", ["--rps", "'0'"], flags=["--rps", "0"]),
    Case("a bad threshold", ["--threshold", "'p98_ms'"], flags=["--threshold", "p98_ms=1"]),
    Case("half a threshold", ["--threshold", "p99_ms"], flags=["--threshold", "p99_ms"]),
    Case("too few agents", ["--agents", "'0'"], flags=["--agents", "0"]),
    Case("a flag that is unknown", ["--agnets"], flags=["--agnets", "2"]),
    Case("a target with a query", ["--target", "?a=1"], target="http://127.0.0.1:1/api?a=1"),
    Case("a target of another kind", ["--target", "ftp://"], target="ftp://127.0.0.1"),
    Case(
        "several mistakes at once",
        [
            *("--agents", "'none'", "--seed", "'x'", "--duration", "'soon'", "--rps", "'many'"),
            *("--threshold", "'p98_ms'", CALL_LINE, "'@evil'", "6 errors; nothing was started"),
        ],
        scene("'@evil'"),
        [
            *("--agents", "none", "--seed", "x", "--duration", "soon", "--rps", "many"),
            *("--threshold", "p98_ms=1"),
        ],
    ),
)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_mistake_is_named_and_nothing_is_started(
    loadpilot: Loadpilot, oracle: Oracle, case: Case
) -> None:
    """Broken if a mistake is replaced by a guess, starts a run, or shows a traceback of
    LoadPilot."""
    path = loadpilot.folder / "scene.py"
    if case.text is not None:
        path.write_text(case.text, encoding="utf-8")
    before = {*loadpilot.folder.iterdir()}
    finished = loadpilot.call("run", str(path), "--target", case.target or oracle.url, *case.flags)
    assert finished.code == 2, finished.stderr
    for text in (*case.says, "nothing was started"):
        assert text in finished.stderr, finished.stderr
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr
    assert {*loadpilot.folder.iterdir()} - before <= {loadpilot.folder / "__pycache__"}
    assert oracle.counts().connections == 0
