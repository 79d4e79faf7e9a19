"""The scenario browser: a file, one of its scenarios, and the target, chosen at the terminal.

It asks and returns the answers. Must never load a scenario file or start anything. Only a command
that asks imports this module: Textual takes as long to import as the rest of the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Input, Label, OptionList
from textual.widgets.option_list import Option

from ..control.figures import plural
from ..control.terminal import safe
from .flags import target as targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

    from ..scenario_file.scenario_list import ListedScenario, ScenarioFile

BACK = "Back"
TOGETHER = "All together"
"""Entry of the scenarios with shares; no class has a name with a blank."""
ALONE = "alone"
GAP = 3
"""Cells between a name and the text beside it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The answers."""

    file: str
    scenario: str | None
    """None where it was not asked for, or for all scenarios with shares."""
    target: str | None
    """None where it was not asked for."""


class ScenarioBrowser(App[Choice]):
    """Asks for a file, for a scenario if the file has several, and for the target."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Label { padding: 1 2 0 2; }
    OptionList { height: auto; max-height: 1fr; margin: 1 1 0 1; border: none; }
    Input { margin: 1 1 0 1; }
    .wrong { color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", "Leave", priority=True)
    ]

    def __init__(
        self, files: Sequence[ScenarioFile], *, asks_scenario: bool, asks_target: bool
    ) -> None:
        """Take the files, and the questions that are still open."""
        super().__init__()
        self._files = {one.file: one for one in files}
        self._asks_scenario = asks_scenario
        self._asks_target = asks_target

    def on_mount(self) -> None:
        """Take the colours of the terminal, and begin to ask."""
        # Without colours the terminal's own would all be black.
        self.theme = "textual-dark" if self.no_color else "ansi-dark"
        self.ask()

    def action_leave(self) -> None:
        """Leave without a choice."""
        self.exit(None)

    @work
    async def ask(self) -> None:
        """Ask step by step; a step that is left goes back to the one before."""
        file = None
        while (file := await self._file(file)) is not None:
            scenario = None
            while True:
                has_several = len(file.scenarios) > 1 and self._asks_scenario
                if has_several and (scenario := await self._scenario(file, scenario)) is None:
                    break
                target = None
                if self._asks_target:
                    target = await self.push_screen_wait(TargetQuestion())
                    if target is None and has_several:
                        continue
                    if target is None:
                        break
                one = None if scenario == TOGETHER else scenario
                self.exit(Choice(file.file, one, target))
                return
        self.exit(None)

    async def _file(self, before: ScenarioFile | None) -> ScenarioFile | None:
        """Ask for a file, beginning at the one chosen before."""
        rows = [(one.file, _count(one)) for one in self._files.values()]
        at = None if before is None else before.file
        chosen = await self.push_screen_wait(List("Which scenario file?", rows, at=at))
        return self._files.get(chosen or "")

    async def _scenario(self, file: ScenarioFile, before: str | None) -> str | None:
        """Ask for a scenario, beginning at the one chosen before; None to go back."""
        rows = [(one.name, one.load) for one in file.scenarios]
        if file.types:
            rows = [(TOGETHER, f"{' + '.join(one.name for one in file.types)}, {file.load}")]
            rows += [(one.name, ALONE) for one in file.scenarios]
        question = f"Which scenario of {safe(file.file)}?"
        return await self.push_screen_wait(List(question, rows, at=before, back=True))


class List(Screen[str | None]):
    """A question with a list of answers."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", BACK)]

    def __init__(
        self,
        question: str,
        rows: Sequence[tuple[str, str]],
        *,
        at: str | None = None,
        back: bool = False,
    ) -> None:
        """Take names and the texts beside them.

        ``at`` is the name to begin at; ``back`` adds an entry that goes back.
        """
        super().__init__()
        self._at = at
        self._question = question
        self._rows = rows
        self._back = back

    def compose(self) -> ComposeResult:
        """Write the question above the list."""
        yield Label(self._question, markup=False)
        yield OptionList(*self._options(), markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Highlight the name to begin at, else the first."""
        names = [name for name, _ in self._rows]
        self.query_one(OptionList).highlighted = names.index(self._at) if self._at in names else 0

    def _options(self) -> Iterable[Option]:
        width = max(len(safe(name)) for name, _ in self._rows) + GAP
        for place, (name, beside) in enumerate(self._rows):
            yield Option(f"{safe(name):<{width}}{safe(beside)}", id=str(place))
        if self._back:
            yield Option(BACK)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer with the name of the row."""
        chosen = event.option.id
        self.dismiss(None if chosen is None else self._rows[int(chosen)][0])

    def action_back(self) -> None:
        """Answer with nothing."""
        self.dismiss(None)


class TargetQuestion(Screen[str | None]):
    """The question for the target."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", BACK)]

    def compose(self) -> ComposeResult:
        """Write the question above the default."""
        yield Label("Which target? Only load systems that are yours to load.", markup=False)
        yield Input(targets.DEFAULT, select_on_focus=False)
        yield Label("", id="wrong", classes="wrong", markup=False)
        yield Footer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with a valid target."""
        target = targets.resolve([event.value])
        problems = targets.problems(target)
        if problems:
            self.query_one("#wrong", Label).update(safe(problems[0].what))
        else:
            self.dismiss(target.url)

    def action_back(self) -> None:
        """Answer with nothing."""
        self.dismiss(None)


def _count(file: ScenarioFile) -> str:
    """Write how many scenarios a file has; of a single one its load."""
    match file.scenarios:
        case []:
            return "not valid Python"
        case [only]:
            return _single(only)
    return plural(len(file.scenarios), "scenario")


def _single(scenario: ListedScenario) -> str:
    return f"1 scenario: {scenario.name}, {scenario.load}"
