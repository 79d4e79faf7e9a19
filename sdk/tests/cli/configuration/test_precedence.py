"""Every declared flag of `loadpilot run` in every source, and which source wins."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from loadpilot.cli.app import RUNNING, app
from loadpilot.cli.configuration import option_registry
from loadpilot.cli.configuration.sources import current
from loadpilot.cli.flags.run_flags import RunFlags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclopts import Parameter
    from cyclopts.argument import ArgumentCollection

    from loadpilot.cli.configuration.option import Option

SOURCES = (
    "flag",
    "environment",
    ".env",
    "profile of --config",
    "--config",
    "profile of the project",
    "project",
)
"""The documented order, the first to count first."""
SELECTING = {"config", "profile"}
"""Flags that choose the files, which no file sets; they are set in each case here."""
NOT_IN_FILES = {"nats_token"}
NO_VARIABLE = {"env"}


@dataclasses.dataclass(frozen=True)
class Declared:
    """A flag as the dataclasses declare it, read without the product's code."""

    key: str
    path: tuple[str, ...]
    kind: str

    def value(self, source: int) -> str:
        """A value that no other source has."""
        return f"name=v{source}" if self.kind == "pairs" else f"v{source}"

    def toml(self, source: int) -> str:
        if self.kind == "switch":
            return "true"
        text = f'"{self.value(source)}"'
        return text if self.kind == "text" else f"[{text}]"

    def within(self, flags: Any) -> Any:
        for name in self.path:
            flags = getattr(flags, name)
        return flags


def declared(cls: type, path: tuple[str, ...] = ()) -> Iterator[Declared]:
    """Walk the dataclasses of the flags."""
    hints = get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        assert get_origin(hint) is Annotated, field.name
        inner, *marks = get_args(hint)
        where = (*path, field.name)
        if dataclasses.is_dataclass(inner):
            yield from declared(inner, where)
            continue
        parameter: Parameter = marks[-1]
        names = [name for name in parameter.name or () if name.startswith("--")]
        key = names[0][2:] if names else field.name.replace("_", "-")
        kind = "switch" if inner is bool else "list" if get_origin(inner) is tuple else "text"
        if kind == "list" and parameter.metavar in {"NAME=VALUE", "KEY=LIMIT"}:
            kind = "pairs"
        yield Declared(key.replace("-", "_"), where, kind)


FLAGS = [one for one in declared(RunFlags) if one.key not in SELECTING]


def in_source(flag: Declared, source: int) -> bool:
    name = SOURCES[source]
    if name in {"environment", ".env"}:
        return flag.key not in NO_VARIABLE
    return name == "flag" or flag.key not in NOT_IN_FILES


def parsed(folder: Path, monkeypatch: pytest.MonkeyPatch, sources: range) -> RunFlags:
    """Parse a command line where each of the sources sets every flag."""
    argv, dotenv = ["run", "x.py", "--config", "own.toml", "--profile", "high"], []
    tables: dict[str, list[str]] = {name: [] for name in SOURCES[3:]}
    for source in sources:
        name = SOURCES[source]
        for flag in (one for one in FLAGS if in_source(one, source)):
            text = "yes" if flag.kind == "switch" else flag.value(source)
            variable = f"LOADPILOT_{flag.key.upper()}"
            if name == "flag":
                switch = [] if flag.kind == "switch" else [text]
                argv += [f"--{flag.key.replace('_', '-')}", *switch]
            elif name == "environment":
                monkeypatch.setenv(variable, text)
            elif name == ".env":
                dotenv.append(f"{variable}={text}")
            else:
                tables[name].append(f"{flag.key} = {flag.toml(source)}")
    (folder / ".env").write_text("\n".join(dotenv), encoding="utf-8")
    for file, top, profile in (
        ("own.toml", "--config", "profile of --config"),
        ("loadpilot.toml", "project", "profile of the project"),
    ):
        lines = [*tables[top], "[profiles.high]", *tables[profile]]
        (folder / file).write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(folder)
    _, bound, _ = app.parse_args(argv)
    flags: RunFlags = bound.arguments.get("flags", RunFlags())
    return flags


def test_the_walk_finds_the_flags() -> None:
    """Broken if the table below is empty or lacks a group of flags."""
    assert {one.key for one in FLAGS} > {"rps", "max", "connections", "nats_url", "listen", "tag"}
    assert len(FLAGS) > 60


@pytest.mark.parametrize("first", range(len(SOURCES)), ids=SOURCES)
def test_the_first_source_that_sets_a_flag_counts(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a flag cannot be set somewhere, or a lower source overrules a higher one."""
    flags = parsed(tmp_path, monkeypatch, range(first, len(SOURCES)))
    for flag in FLAGS:
        counts = next((s for s in range(first, len(SOURCES)) if in_source(flag, s)), None)
        value = flag.within(flags)
        if counts is None:
            assert value is None, flag.key
        elif flag.kind == "switch":
            assert value is True, flag.key
        elif flag.kind == "text":
            assert value == flag.value(counts), flag.key
        else:
            assert value[-1] == flag.value(counts), flag.key


@pytest.mark.parametrize("source", range(len(SOURCES)), ids=SOURCES)
def test_one_source_is_enough_and_is_named(
    source: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a source has an effect only together with others, or if a message names another
    place."""
    flags = parsed(tmp_path, monkeypatch, range(source, source + 1))
    named = {
        "environment": "LOADPILOT_{upper}",
        ".env": ".env: LOADPILOT_{upper}",
        "profile of --config": "own.toml: profiles.high.{key}",
        "--config": "own.toml: {key}",
        "profile of the project": "loadpilot.toml: profiles.high.{key}",
        "project": "loadpilot.toml: {key}",
    }
    for flag in (one for one in FLAGS if in_source(one, source)):
        value = flag.within(flags)
        wanted: Any = True if flag.kind == "switch" else flag.value(source)
        assert value == (wanted if flag.kind in {"switch", "text"} else (wanted,)), flag.key
        name = f"--{flag.key.replace('_', '-')}"
        place = named.get(SOURCES[source], name).format(key=flag.key, upper=flag.key.upper())
        assert current().place(name) == place
    for flag in (one for one in FLAGS if not in_source(one, source)):
        assert not flag.within(flags), flag.key


@pytest.mark.parametrize("configured", [False, True])
def test_flags_of_other_commands_are_assembled_only_for_a_configuration(
    configured: bool,  # noqa: FBT001  (a case)
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a command takes four times as long to start although nothing is configured but its
    own settings, or if a file with an option of another command is refused."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("LOADPILOT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOADPILOT_NATS_SERVER", "/none")
    monkeypatch.setenv("LOADPILOT_RPS", "5")
    if configured:
        (tmp_path / "loadpilot.toml").write_text('slo = ["p95_ms=200"]\n')
    listed: list[int] = []
    options_of = option_registry.options_of

    def counted(arguments: ArgumentCollection) -> dict[str, Option]:
        listed.append(len(arguments))
        return options_of(arguments)

    monkeypatch.setattr(option_registry, "options_of", counted)
    app.parse_args(["run", "shop.py"], print_error=False, exit_on_error=False)
    assert len(listed) == (len(RUNNING) if configured else 0)
