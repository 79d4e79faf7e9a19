"""The message for a command line that cannot be parsed: the problem and the known names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts import UnknownCommandError, UnknownOptionError

from ...problem import nearest

if TYPE_CHECKING:
    from cyclopts import CycloptsError

NO_FLAGS = frozenset({"--help", "-h", "--version"})


def misread(error: CycloptsError) -> str:
    """Write the message, with the nearest known name, else with all of them."""
    chain = " ".join(error.command_chain or ())
    command = f"loadpilot {chain}".strip()
    if isinstance(error, UnknownOptionError):
        written = (error.token.keyword or error.token.value).partition("=")[0]
        options = [name for one in error.argument_collection for name in one.names]
        known = sorted({name for name in options if name.startswith("--")} - NO_FLAGS)
        if not known:
            return f"Unknown option: {written}; {command} takes none"
        return f"Unknown option: {written}; {_hint(written, known, f'{command} takes ')}"
    if isinstance(error, UnknownCommandError) and error.unused_tokens and error.app is not None:
        written = error.unused_tokens[0]
        known = [name for name in error.app if not name.startswith("-")]
        hint = _hint(written, known, f"the commands of {command} are ")
        return f'Unknown command "{written}"; {hint}'
    return " ".join(str(error).split())


def _hint(written: str, known: list[str], heading: str) -> str:
    near = nearest(written, known)
    return f"did you mean {near}?" if near is not None else f"{heading}{', '.join(known)}"
