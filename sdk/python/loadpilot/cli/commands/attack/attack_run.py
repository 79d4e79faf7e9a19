"""Runs a URL or a list of requests: it is compiled to a plan, and the rest is a run's."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from ....compile.request_list import ListedScenario, compile_list
from ....compile.scenario.mode import OF_MODES
from ....local.folders import ROOT
from ....problem import Problem, Refused
from ....scenario_file.targets.request_list import Survey
from ...configuration.sources import current
from ...flags.run_flags import RunFlags
from ...flags.target import FLAG, Target
from ...output.refusal import refuse
from ..run import run_prepared
from .attack_flags import OF_SCENARIOS, SETTINGS, with_load
from .requests import URL, opened

if TYPE_CHECKING:
    from ....compile.plan import Compiled
    from ....control.exit_code import ExitCode
    from ....scenario_file.targets.targets_file import TargetsFile
    from ...flags.options import Options
    from .attack_flags import AttackFlags

FOLDER = "targets"
"""Folder below that of the logs; each attack has a folder in it for its rows."""
DEFAULTS = RunFlags()


def attack(url: str | None, own: AttackFlags, flags: RunFlags) -> ExitCode:
    """Run the command."""
    problems: list[Problem] = []
    flags = _without_settings_of_scenarios(flags)
    if flags.target:
        problems.append(Problem(FLAG, "is for scenarios; the URLs of requests name their targets"))
    _name_written(own, flags)
    flags = replace(with_load(own, flags, problems), target=())
    try:
        with opened(url, own, problems) as targets:
            attack = Attack(targets, own, problems)
            try:
                return run_prepared(own.name, flags, attack.prepare)
            finally:
                attack.remove_rows()
    except Refused as refused:
        return refuse(refused.problems)


def _without_settings_of_scenarios(flags: RunFlags) -> RunFlags:
    """Leave out what a configuration sets for scenarios, and settings of modes without a mode."""
    names = ["target", *OF_SCENARIOS, *(OF_MODES if flags.mode is None else ())]
    sources = current()
    for name in names:
        flag = f"--{name.replace('_', '-')}"
        if not sources.place(flag).startswith(flag):
            sources.drop(flag, "the settings of attack")
            flags = replace(flags, **{name: getattr(DEFAULTS, name)})
    return flags


def _name_written(own: AttackFlags, flags: RunFlags) -> None:
    """Make messages about the flags that ``with_load`` writes name the flags that were typed."""
    sources = current()
    if own.rate is not None and flags.rps is None:
        sources.places["--rps"] = sources.place("--rate")
    if own.rates is not None and flags.stages is None:
        sources.places["--stages"] = sources.place("--rates")


class Attack:
    """One list of requests, and the folder of rows that are written of it."""

    def __init__(self, targets: TargetsFile, flags: AttackFlags, problems: list[Problem]) -> None:
        """Take an open list and the problems of the flags."""
        self._targets = targets
        self._flags = flags
        self._problems = problems
        self._folder = ROOT / FOLDER / f"{os.getpid()}-{secrets.token_hex(4)}"

    def prepare(self, options: Options, _problems: list[Problem]) -> tuple[Options, Compiled]:
        """Read and compile the list; raises :class:`Refused` with all problems."""
        problems = list(self._problems)
        if problems and self._targets.name == URL:
            raise Refused(problems)
        try:
            survey = Survey.of(self._targets)
        except Refused as refused:
            raise Refused([*problems, *refused.problems]) from None
        if problems:
            raise Refused(problems)
        scenario = ListedScenario(self._flags.name, SETTINGS, self._folder)
        compiled = compile_list(self._targets, survey, scenario, options.overrides)
        place = FLAG if self._targets.name == URL else self._targets.name
        target = Target(compiled.plan["target"], place, tuple(survey.origins)[1:])
        return replace(options, target=target), compiled

    def remove_rows(self) -> None:
        """Delete the folder of rows: the log of the run has them, or its agents are gone."""
        shutil.rmtree(self._folder, ignore_errors=True)
