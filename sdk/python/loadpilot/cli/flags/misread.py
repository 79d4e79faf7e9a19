"""The message for a command line that cannot be parsed: the problem and the known names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cyclopts import (
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from ...problem import Problem, Refused, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import App, CycloptsError

NO_FLAGS = frozenset({"--help", "-h", "--version"})
OTHER_TOOLS = {
    "--headless": "no flag is needed for that",
    "--host": "did you mean --target?",
    "--iterations": "a run ends by --duration",
    "--spawn-rate": "did you mean --user-stages?",
    "--vus": "did you mean --users?",
    "--vus-max": "max_in_flight= of a scenario limits the arrivals in flight",
}
"""Hints of `run` for flags of k6 and Locust."""
ONE_DASH = re.compile(r"(-[a-z][a-z-]+)(?:=.*)?", re.DOTALL)
"""A word after one dash, ``-rate=500``: the flags of vegeta and others."""
KINDS_OF_TOOLS = {"jmeter": "jmx", "vegeta": "targets", "swagger": "openapi"}
"""The kind of ``import`` for the files of a tool of another name."""
PORTED_BY_HAND = frozenset({"locust", "gatling"})
"""Tools without a kind, whose scenarios a page of the documents ports."""


def refuse_one_dash(app: App, argv: Sequence[str]) -> None:
    """Refuse long flags with one dash, which are read as a short flag with its value.

    ``-rate=500`` would be ``-r`` with the file ``ate=500``. Raises Refused.
    """
    before = argv[: argv.index("--")] if "--" in argv else argv
    words = [match[1] for one in before if (match := ONE_DASH.fullmatch(one)) is not None]
    # The flags of a command are read for such a word only: that takes long.
    if not words:
        return
    command = app.parse_commands(argv)[1][-1]
    if command.default_command is None:
        return
    arguments = command.assemble_argument_collection()
    negatives = {name for one in arguments for name in one.negatives}
    names = {name for one in arguments if one.parse for name in one.names} - negatives
    known = sorted({*names, *command.help_flags, *command.version_flags})
    problems = []
    for word in words:
        meant = next((name for name in known if name.startswith(f"-{word}")), None)
        if meant is not None:
            problems.append(
                Problem(word, f"flags with a name have two dashes; did you mean {meant}?")
            )
    if problems:
        raise Refused(problems)


def misread(error: CycloptsError) -> str:
    """Write the message, with the nearest known name, else with all of them."""
    chain = " ".join(error.command_chain or ())
    command = f"loadpilot {chain}".strip()
    is_unused = isinstance(error, UnusedCliTokensError | UnknownOptionError)
    if is_unused and chain == "import" and error.app is not None:
        words = [one for one in error.root_input_tokens or () if not one.startswith("-")]
        if len(words) > 2 and not words[1].endswith(".lprun"):
            return _unknown_kind(words[1], error.app)
    if isinstance(error, UnknownOptionError):
        return _unknown_option(error, chain, command)
    if isinstance(error, UnknownCommandError) and error.unused_tokens and error.app is not None:
        written = error.unused_tokens[0]
        known = [name for name in error.app if not name.startswith("-")]
        hint = _hint(written, known, f"the commands of {command} are ")
        return f'Unknown command "{written}"; {hint}'
    if isinstance(error, ValidationError) and error.argument is not None:
        token = error.argument.tokens[0]
        place = error.argument.name if token.source in {"", "cli"} else token.source
        return f"{place}: {error.exception_message}"
    return " ".join(str(error).split())


def _unknown_option(error: UnknownOptionError, chain: str, command: str) -> str:
    """Write that a command has no such option, and which it has."""
    written = (error.token.keyword or error.token.value).partition("=")[0]
    options = [name for one in error.argument_collection for name in one.names]
    known = sorted({name for name in options if name.startswith("--")} - NO_FLAGS)
    hint = f"{command} takes none"
    if written in OTHER_TOOLS and chain == "run":
        hint = OTHER_TOOLS[written]
    elif known:
        hint = _hint(written, known, f"{command} takes ")
    return f"Unknown option: {written}; {hint}"


def _unknown_kind(written: str, app: App) -> str:
    """Write that the first word of ``import KIND FILE`` is no kind."""
    kinds = [name for name in app if not name.startswith("-")]
    near = KINDS_OF_TOOLS.get(written) or nearest(written, kinds)
    hint = f"; did you mean {near}?" if near is not None else ""
    if written in PORTED_BY_HAND:
        hint = f"; docs/migrate/{written}.md says how to write such a scenario"
    return f'Unknown kind "{written}"; the kinds are {", ".join(kinds)}{hint}'


def _hint(written: str, known: list[str], heading: str) -> str:
    near = nearest(written, known)
    return f"did you mean {near}?" if near is not None else f"{heading}{', '.join(known)}"
