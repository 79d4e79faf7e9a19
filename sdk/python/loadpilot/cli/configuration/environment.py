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
    from .option_registry import KnownOptions

ENV_FILE = ".env"
TARGET = "target"
HEADER = "header"
LINE = re.compile(rf"\s*(?:export\s+)?({PREFIX}\w+)\s*=(.*)")
QUOTED = re.compile(r"""(["'])(.*?)\1(?:\s+#.*)?""")
"""A value in quotes, which a comment may follow."""
OTHERS = frozenset({"LOADPILOT_COORDINATOR_TOKEN", "LOADPILOT_NATS_SERVER"})
"""Variables that are no option of a command."""
OF_GATEWAY = "LOADPILOT_GATEWAY_"
"""Prefix of the variables of a gateway."""
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def env_file(folder: Path, problems: list[Problem]) -> dict[str, str]:
    """Read the variables of LoadPilot in ``.env``; the last line of a name counts."""
    path = folder / ENV_FILE
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except (FileNotFoundError, IsADirectoryError):
        return {}
    except OSError as error:
        problems.append(Problem(ENV_FILE, f"cannot be read: {error.strerror}"))
        return {}
    if "\0" in text:
        problems.append(
            Problem(ENV_FILE, "must be text in UTF-8; it has zero bytes, as UTF-16 does")
        )
        return {}
    found = (LINE.fullmatch(line) for line in text.splitlines())
    return {match[1]: _unquoted(match[2].strip()) for match in found if match is not None}


def settings_in(
    variables: Mapping[str, str],
    known: KnownOptions,
    source: str,
    problems: list[Problem],
) -> dict[str, Setting]:
    """Read the options among variables; ``source`` comes before the name of one in a place."""
    settings = {}
    for variable in sorted(filter(_is_of_command, variables)):
        option = known.of_variable(variable)
        if option is None:
            continue
        text, place = variables[variable], f"{source}{variable}"
        texts = _texts(option, text)
        if texts is None:
            problems.append(rule(place, "must be true or false, also 1 or 0", text))
        else:
            settings[option.key] = Setting(texts, place)
    return settings


def _is_of_command(variable: str) -> bool:
    is_other = variable in OTHERS or variable.startswith(OF_GATEWAY)
    return variable.startswith(PREFIX) and not is_other


def unknown_in_file(variables: Iterable[str], known: KnownOptions) -> list[Problem]:
    """List the variables of ``.env`` that nothing reads."""
    problems = []
    for variable in filter(_is_of_command, variables):
        if known.of_variable(variable) is not None:
            continue
        names = [option.variable for option in known.values() if option.variable is not None]
        near = nearest(variable.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in names])
        hint = f"did you mean {PREFIX}{near}?" if near else "see `loadpilot run --help`"
        problems.append(Problem(f"{ENV_FILE}: {variable}", f"is not an option; {hint}"))
    return problems


def misspelt(environ: Iterable[str], known: KnownOptions) -> list[str]:
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
    if option.key == HEADER:
        # Values of headers have blanks and commas.
        return tuple(one.strip() for one in text.splitlines() if one.strip())
    if option.kind is Kind.LIST:
        return tuple(text.replace(",", " ").split())
    if option.kind is Kind.PAIRS:
        return tuple(one.strip() for one in text.split(",") if one.strip())
    return (text,)


def _unquoted(text: str) -> str:
    quoted = QUOTED.fullmatch(text)
    if quoted is not None:
        return quoted[2]
    return text.split(" #", 1)[0].strip()
