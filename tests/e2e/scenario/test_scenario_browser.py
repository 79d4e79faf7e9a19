"""`loadpilot run` without a file asks at the terminal for scenario and target.

About 20 s: each case is one command at a pseudo-terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import COMMAND
from tests.e2e.support.terminal import CTRL_C, CellTerminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

UP, DOWN, ENTER, ESCAPE = b"\x1b[A", b"\x1b[B", b"\r", b"\x1b"
CLEAR_LINE = b"\x15"
NOTED = 'from pathlib import Path\n\nPath("executed").write_text("")\n'
SCENE = """
from loadpilot import VUser, scenario, task

RATE = 20
{scenarios}
"""
SCENARIO = """
@scenario({settings})
class {name}(VUser):
    @task
    def look(self, client):
        client.get("/")
"""
FILE = ("Which scenario file?", "solo.py")
SCENARIO_OF_SHOP = ("Which scenario of scenarios/shop.py?", "closed loop")
TARGET = ("Which target?", "http://localhost:8000")
"""Questions, each with its last row."""
SHORT = 'rps=RATE, duration="1s", mode="constant"'


def scene(**scenarios: str) -> str:
    """The text of a file with scenarios, by name."""
    found = (SCENARIO.format(name=name, settings=text) for name, text in scenarios.items())
    return SCENE.format(scenarios="".join(found))


@pytest.fixture
def folder(loadpilot: Loadpilot) -> Path:
    """A folder with scenario files of each kind, and other files."""
    folder = loadpilot.folder / "scenarios"
    folder.mkdir()
    files = {
        "shop.py": scene(Browse='stages=[("1s", 10), ("1s", 30)]', Buy=SHORT, Loop="users=8")
        + NOTED,
        "solo.py": scene(Solo=SHORT),
        "broken.py": "@scenario\nclass Broken(:\n",
        "_parts.py": scene(Hidden=SHORT),
        "plain.py": "x = 1\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (loadpilot.folder / "outside.py").write_text(scene(Outside=SHORT), encoding="utf-8")
    return loadpilot.folder


def begun(folder: Path, *flags: str, size: tuple[int, int] = (100, 30), **env: str) -> CellTerminal:
    return CellTerminal([str(COMMAND), "run", *flags], folder, size=size, **env)


def until_asked(terminal: CellTerminal, question: tuple[str, str]) -> None:
    """Waits for a question and its last row, which are written one after the other."""
    for text in question:
        terminal.until_shown(text)


def answer(terminal: CellTerminal, text: str, before: str) -> None:
    """Replaces the text in the field."""
    terminal.press(CLEAR_LINE)
    terminal.until_gone(before)
    terminal.press(text.encode() + ENTER)


@pytest.mark.slow
def test_a_file_a_scenario_and_a_target_are_asked_for(folder: Path, oracle: Oracle) -> None:
    """Broken if the questions do not lead to a run, if files without scenarios are listed, or if a
    file is executed before it was chosen."""
    with begun(folder) as terminal:
        until_asked(terminal, FILE)
        rows = [row.strip() for row in terminal.cells.text if ".py" in row]
        assert rows == [
            "scenarios/broken.py   not valid Python",
            "scenarios/shop.py     3 scenarios",
            "scenarios/solo.py     1 scenario: Solo, 20 rps · 1s · constant",
        ]
        terminal.press(DOWN + ENTER)
        until_asked(terminal, SCENARIO_OF_SHOP)
        rows = [row.strip() for row in terminal.cells.text if " · " in row]
        assert rows == [
            "Browse   up to 30 rps · 2 stages · stages",
            "Buy      20 rps · 1s · constant",
            "Loop     8 users · 1m · closed loop",
        ]
        terminal.press(UP + ENTER)
        until_asked(terminal, FILE)
        terminal.press(ENTER)
        until_asked(terminal, SCENARIO_OF_SHOP)
        terminal.press(DOWN + ENTER)
        until_asked(terminal, TARGET)
        assert not (folder / "executed").exists()
        answer(terminal, "ftp://wrong", TARGET[1])
        terminal.until_shown("must be http://host")
        answer(terminal, oracle.url, "  ftp://wrong ")
        assert terminal.end() in {0, 3}
        assert (
            f"loadpilot run scenarios/shop.py --scenario Buy --target {oracle.url}" in terminal.raw
        )
        assert "verdict      " in terminal.raw
    assert oracle.counts().received == 20
    assert (folder / "executed").exists()


@pytest.mark.slow
def test_user_types_with_shares_run_together(folder: Path) -> None:
    """Broken if a file of user types can be run by its name only, or if the load of one type is
    shown as that of a scenario of its own. 2 s."""
    text = scene(Browse='share=3, user_stages=[("1s", 4), ("1s", 2)]', Buy='share=1, pacing="1s"')
    (folder / "scenarios" / "mix.py").write_text(text, encoding="utf-8")
    with begun(folder, "--dry-run") as terminal:
        until_asked(terminal, FILE)
        terminal.press(DOWN + ENTER)
        until_asked(terminal, ("Which scenario of scenarios/mix.py?", "Buy  "))
        rows = [row.strip() for row in terminal.cells.text if "alone" in row or " · " in row]
        assert rows == [
            "All together   Browse + Buy, up to 4 users · 2 stages · closed loop",
            "Browse         alone",
            "Buy            alone",
        ]
        terminal.press(ENTER)
        until_asked(terminal, TARGET)
        terminal.press(ENTER)
        assert terminal.end() == 0
        assert '"scenario":"Browse+Buy"' in terminal.raw


def test_without_colours_everything_can_be_read(folder: Path) -> None:
    """Broken if text is unreadable with NO_COLOR, or if the run ignores it."""
    with begun(folder, "--dry-run", NO_COLOR="1") as terminal:
        until_asked(terminal, FILE)
        pairs = re.findall(r"\x1b\[(?:\d;)*38;([\d;]+);48;([\d;]+)m *\w", terminal.raw)
        assert pairs
        assert all(text != background for text, background in pairs), set(pairs)
        terminal.press(CTRL_C)
        assert terminal.end() == 130


@pytest.mark.slow
def test_only_what_is_open_is_asked_for(folder: Path, oracle: Oracle) -> None:
    """Broken if the command asks for the only scenario, or for a known target."""
    with begun(folder, "--dry-run", LOADPILOT_TARGET=oracle.url) as terminal:
        until_asked(terminal, FILE)
        terminal.press(UP + ENTER)
        assert terminal.end() == 0
        assert "Which target?" not in terminal.raw
        assert oracle.url in terminal.raw
    with begun(folder, "--dry-run", "--scenario", "Buy", "--target", oracle.url) as terminal:
        until_asked(terminal, FILE)
        terminal.press(DOWN + ENTER)
        assert terminal.end() == 0
        assert "Which scenario of" not in terminal.raw


def test_this_directory_is_offered_where_it_has_no_folder_of_scenarios(
    loadpilot: Loadpilot,
) -> None:
    """Broken if a project of one file must name it, or if the shown target is not that of the run.
    2 s."""
    (loadpilot.folder / "solo.py").write_text(scene(Solo=SHORT), encoding="utf-8")
    (loadpilot.folder / "_parts.py").write_text(scene(Hidden=SHORT), encoding="utf-8")
    with begun(loadpilot.folder, "--dry-run") as terminal:
        until_asked(terminal, FILE)
        rows = [row.strip() for row in terminal.cells.text if ".py" in row]
        assert rows == ["solo.py   1 scenario: Solo, 20 rps · 1s · constant"]
        terminal.press(ENTER)
        until_asked(terminal, TARGET)
        terminal.press(ENTER)
        assert terminal.end() == 0
        assert f'"target":"{TARGET[1]}"' in terminal.raw


def test_nothing_is_asked_for_that_a_file_names(folder: Path) -> None:
    """Broken if a run that a configuration describes waits for input at the terminal. 1 s."""
    (folder / "loadpilot.toml").write_text(
        'file = "scenarios/shop.py"\ntarget = "http://127.0.0.1:9"\n'
        '[profiles.high]\nscenario = "Buy"\nrps = 77\n',
        encoding="utf-8",
    )
    with begun(folder, "--profile", "high", "--dry-run") as terminal:
        assert terminal.end() == 0
        assert "Which" not in terminal.raw
        assert '"scenario":"Buy"' in terminal.raw
        assert re.search(r"peak 77 arrivals/s", terminal.raw)


@pytest.mark.parametrize("keys", [CTRL_C, ESCAPE])
def test_leaving_starts_nothing(folder: Path, keys: bytes) -> None:
    """Broken if a user cannot leave, or if the terminal is not restored."""
    with begun(folder, size=(60, 12)) as terminal:
        until_asked(terminal, FILE)
        terminal.press(keys)
        assert terminal.end(20) == 130
        assert terminal.raw.rstrip().endswith("nothing was chosen; nothing was started")
        assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.rindex("\x1b[?1049h")
        assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l")
    assert not (folder / ".loadpilot").exists()


def test_a_step_that_is_left_goes_back(folder: Path) -> None:
    """Broken if a wrong choice can only be corrected by a new start."""
    with begun(folder) as terminal:
        until_asked(terminal, FILE)
        terminal.press(DOWN + ENTER)
        until_asked(terminal, SCENARIO_OF_SHOP)
        terminal.press(ENTER)
        until_asked(terminal, TARGET)
        terminal.press(ESCAPE)
        until_asked(terminal, SCENARIO_OF_SHOP)
        terminal.press(ESCAPE)
        until_asked(terminal, FILE)
        terminal.press(DOWN + ENTER)
        until_asked(terminal, TARGET)
        terminal.press(CTRL_C)
        assert terminal.end(20) == 130


@pytest.mark.slow
def test_what_cannot_run_says_why(folder: Path, loadpilot: Loadpilot) -> None:
    """Broken if a mistake is reported only after the questions, or if a file with invalid Python is
    hidden."""
    with begun(folder, "--agents", "none") as terminal:
        assert terminal.end() == 2
        assert "--agents: must be" in terminal.raw
        assert "Which" not in terminal.raw
    with begun(folder, "--target", "http://127.0.0.1:9") as terminal:
        until_asked(terminal, FILE)
        terminal.press(ENTER)
        assert terminal.end() == 2
        assert "scenarios/broken.py:2: SyntaxError" in terminal.raw
    for file in (folder / "scenarios").iterdir():
        file.unlink()
    with begun(folder) as terminal:
        assert terminal.end() == 2
        assert "no scenario file in scenarios; write `loadpilot run scenario.py`" in terminal.raw
    told = loadpilot.call("run")
    assert told.code == 2
    assert "no scenario file was named; write `loadpilot run scenario.py`" in told.stderr
