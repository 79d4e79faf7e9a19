"""Options in the environment, ``LOADPILOT_RPS``, and in the file ``.env`` of the directory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...problem import Problem, nearest, rule
from .option import PREFIX, Kind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .option import Option

ENV_FILE = ".env"
TARGET = "target"
LINE = re.compile(rf"\s*(?:export\s+)?({PREFIX}\w+)\s*=(.*)")
OTHERS = frozenset({"LOADPILOT_COORDINATOR_TOKEN", "LOADPILOT_NATS_SERVER"})
"""Variables that are no option of a command."""
OF_GATEWAY = "LOADPILOT_GATEWAY_"
"""Prefix of the variables of a gateway."""
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def env_file(folder: Path, problems: list[Problem]) -> dict[str, str]:
    """Read the variables of LoadPilot in ``.env``; the last line of a name counts."""
    path = folder / ENV_FILE
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except OSError as error:
        problems.append(Problem(ENV_FILE, f"cannot be read: {error.strerror}"))
        return {}
    found = (LINE.fullmatch(line) for line in lines)
    return {match[1]: _unquoted(match[2].strip()) for match in found if match is not None}


def may_be_options(variables: Iterable[str]) -> list[str]:
    """List the variables that have the prefix of options, and are none of other programs."""
    return [
        name
        for name in variables
        if name.startswith(PREFIX) and name not in OTHERS and not name.startswith(OF_GATEWAY)
    ]


def settings_in(
    variables: Mapping[str, str],
    known: Mapping[str, Option],
    source: str,
    problems: list[Problem],
) -> dict[str, Setting]:
    """Read the options among variables; ``source`` comes before the name of one in a place."""
    settings: dict[str, Setting] = {}
    if not may_be_options(variables):
        return settings
    for option in known.values():
        if option.variable is None or option.variable not in variables:
            continue
        text, place = variables[option.variable], f"{source}{option.variable}"
        texts = _texts(option, text)
        if texts is None:
            problems.append(rule(place, "must be true or false, also 1 or 0", text))
        else:
            settings[option.key] = Setting(texts, place)
    return settings


def unknown_in_file(variables: Iterable[str], known: Mapping[str, Option]) -> list[Problem]:
    """List the variables of ``.env`` that nothing reads."""
    named = may_be_options(variables)
    if not named:
        return []
    names = [option.variable for option in known.values() if option.variable is not None]
    problems = []
    for variable in named:
        if variable in names:
            continue
        near = nearest(variable.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in names])
        hint = f"did you mean {PREFIX}{near}?" if near else "see `loadpilot run --help`"
        problems.append(Problem(f"{ENV_FILE}: {variable}", f"is not an option; {hint}"))
    return problems


def misspelt(environ: Iterable[str], known: Mapping[str, Option]) -> list[str]:
    """Warn of variables whose names are nearly those of options; others may be a scenario's."""
    return [
        f"the environment has {problem.place.removeprefix(f'{ENV_FILE}: ')}, which {problem.what}"
        for problem in unknown_in_file(sorted(environ), known)
        if "did you mean" in problem.what
    ]


def _texts(option: Option, text: str) -> tuple[str, ...] | None:
    """Split the value of a variable; None for a switch that is neither on nor off."""
    if option.kind is Kind.SWITCH:
        word = text.strip().lower()
        return ("true",) if word in TRUE else ("false",) if word in FALSE else None
    if option.key == TARGET:
        # A comma may be part of a path, and an empty target is an error, not the default.
        return tuple(text.split()) or ("",)
    if option.kind is Kind.LIST:
        return tuple(text.replace(",", " ").split())
    if option.kind is Kind.PAIRS:
        return tuple(one.strip() for one in text.split(",") if one.strip())
    return (text,)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.split(" #", 1)[0].strip()
