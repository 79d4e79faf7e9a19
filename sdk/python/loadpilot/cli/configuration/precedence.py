"""The order of the sources of an option, as a configuration of cyclopts.

Flag, environment, ``.env``, ``--config FILE``, ``loadpilot.toml`` or ``[tool.loadpilot]``; in a
file, the profile before the rest. After these come the scenario's own setting and the default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...problem import Problem, Refused
from .config_file import ConfigFile, FileReader, profile_of
from .environment import ENV_FILE, env_file, misspelt, settings_in, unknown_in_file
from .option import EQUIVALENT, GATES, OF_ATTACK, Setting, options_of, replaced_by
from .option_registry import KnownOptions
from .sources import Sources, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cyclopts import App
    from cyclopts.argument import ArgumentCollection

    from .option import Option

Layer = dict[str, Setting]
"""The settings of one source, by key."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Fills in the options that the command line does not name."""

    all_options: Callable[[], Iterable[ArgumentCollection]]
    """The arguments of the commands that take every option."""
    shared: Callable[[tuple[str, ...]], frozenset[str]]
    """Keys of the options that another command takes from a configuration."""
    commands: tuple[str, ...] = ("run",)
    """Those commands."""

    def __call__(self, _app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Fill in the configured options; raises Refused."""
        sources = Sources()
        remember(sources)
        options = options_of(arguments)
        if commands not in {(command,) for command in self.commands}:
            keys = self.shared(commands)
            options = {key: option for key, option in options.items() if key in keys}
            if not options:
                return
        known = KnownOptions(options, self.all_options)
        reader = Reader(known, dict(os.environ), Path.cwd())
        written = {key: one for key, option in options.items() if (one := option.written())}
        layers = [written, *reader.layers(written)]
        if problems := [*reader.problems, *_repeated_gates(layers)]:
            raise Refused(problems)
        sources.environ = {**reader.file_variables, **reader.environ}
        sources.warnings = misspelt(reader.environ, known)
        apply(layers, options, known, sources)


@dataclass(slots=True)
class Reader:
    """Reads the sources of a directory; collects the problems."""

    known: KnownOptions
    environ: Mapping[str, str]
    folder: Path
    problems: list[Problem] = field(default_factory=list)
    file_variables: dict[str, str] = field(default_factory=dict)

    def layers(self, written: Layer) -> list[Layer]:
        """Read the sources below the command line, the highest precedence first."""
        self.file_variables = env_file(self.folder, self.problems)
        self.problems += unknown_in_file(self.file_variables, self.known)
        variables = settings_in(self.environ, self.known, "", self.problems)
        in_file = settings_in(self.file_variables, self.known, f"{ENV_FILE}: ", self.problems)
        chosen = {**in_file, **variables, **written}
        return [variables, self._below_environment(in_file), *self._files(chosen)]

    def _files(self, chosen: Layer) -> list[Layer]:
        """Read the configuration files with the profile that was chosen."""
        reader = FileReader(self.folder, self.known, self.problems)
        files: list[ConfigFile] = []
        named = chosen.get("config")
        if named is not None:
            before = len(self.problems)
            file = reader.named(named.texts[0])
            self.problems[before:] = [
                Problem(named.place if one.place == "--config" else one.place, one.what)
                for one in self.problems[before:]
            ]
            files += [file] if file is not None else []
        project = reader.project()
        files += [project] if project is not None else []
        profile = chosen.get("profile")
        name = profile.texts[0] if profile is not None else None
        if profile is not None and name is not None and not self.problems:
            problem = profile_of(files, name, profile.place)
            self.problems += [problem] if problem is not None else []
        return [self._below_environment(one) for file in files for one in _of_file(file, name)]

    def _below_environment(self, settings: Layer) -> Layer:
        """Drop from a file the options for which the environment has a variable such as NATS_TOKEN.

        Parameters that the environment sets are dropped, too.
        """
        for variable, keys in EQUIVALENT.items():
            if self.environ.get(variable):
                settings = {key: one for key, one in settings.items() if key not in keys}
        parameters = settings.get("env")
        if parameters is None:
            return settings
        texts = tuple(t for t in parameters.texts if t.partition("=")[0] not in self.environ)
        return {**settings, "env": Setting(texts, parameters.place)}


def _of_file(file: ConfigFile, profile: str | None) -> list[Layer]:
    return [file.profiles.get(profile or "", {}), file.settings]


def _repeated_gates(layers: list[Layer]) -> list[Problem]:
    """List the gates with several limits in one source; another source may replace a limit."""
    several = [
        layer[key]
        for layer in layers
        for key in GATES
        if key in layer and len(layer[key].texts) > 1
    ]
    if not several:
        return []
    from ...compile.scenario.thresholds import repeated  # noqa: PLC0415  (start-up is a promise)

    return [problem for one in several for problem in repeated(one.place, one.texts)]


def apply(
    layers: list[Layer],
    options: Mapping[str, Option],
    known: Mapping[str, Option],
    sources: Sources,
) -> None:
    """Set each option from the first layer that has it, except where another option replaces it."""
    others = {key for key in OF_ATTACK if key not in options}
    layers = [{key: one for key, one in layer.items() if key not in others} for layer in layers]
    found, sources.unused = by_option(layers)
    for key, settings in found.items():
        texts, counted = merged(known[key], settings)
        if key == "allow_target":
            sources.allow_target = texts
        option = options.get(key)
        if option is None:
            continue
        if [one.place for one in counted] != [option.flag]:
            option.replace(texts, counted[0].place)
        sources.add(option, counted)


def by_option(layers: list[Layer]) -> tuple[dict[str, list[Setting]], list[tuple[str, str]]]:
    """Collect the settings of each option, the highest precedence first.

    The second result has the places of settings that another option replaces, with its place.
    """
    found: dict[str, list[Setting]] = {}
    unused = []
    replaced: dict[str, str] = {}
    for layer in layers:
        used = {key: one for key, one in layer.items() if key not in replaced}
        for key, setting in layer.items():
            if key in used:
                found.setdefault(key, []).append(setting)
            elif key not in found and setting.is_set:
                unused.append((setting.place, replaced[key]))
        for key, setting in used.items():
            for other in replaced_by(key, setting):
                replaced.setdefault(other, setting.place)
    return found, unused


def merged(option: Option, settings: list[Setting]) -> tuple[tuple[str, ...], list[Setting]]:
    """Return the value of an option, and the part that each of its sources adds to it."""
    first, *others = settings
    texts, counted = first.texts, [first]
    for lower in others:
        more = option.merged(texts, lower.texts)
        if more != texts:
            counted.append(Setting(more[: len(more) - len(texts)], lower.place))
            texts = more
    return texts, counted
