"""``docs/reference/cli.md``: every command with its flags, from the declarations of the command."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

from loadpilot.cli.app import HELP, app

from .markdown import anchor, code, escaped, fenced, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclopts import App, Group
    from cyclopts.argument import Argument

HEAD = """# Commands

<!-- Written by `./dev gen` from the flags of the commands: never edit it. -->

`loadpilot COMMAND --help` prints the same at the terminal.
"""
NATIVE = ("agent", "coordinator")
"""Commands whose help the native module writes."""
GATEWAY = (
    "The settings of `loadpilot-gateway` come from the environment: "
    "[use the gateway](../howto/fleet/use-the-gateway.md)."
)
SHARED = "run"
"""The command whose flags other commands share."""


def cli_page() -> str:
    """Write the page."""
    commands = list(_commands(app, ()))
    parts = [HEAD, _index(commands), "## Exit codes", _exit_codes()]
    shared = {_identity(one) for one in _flags(app[SHARED])}
    for words, command in commands:
        parts += _section(words, command, shared)
    parts += ["## loadpilot-gateway", GATEWAY]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _commands(parent: App, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in parent:
        if name.startswith("-"):
            continue
        command = parent[name]
        yield (*words, name), command
        if name not in NATIVE:
            yield from _commands(command, (*words, name))


def _index(commands: list[tuple[tuple[str, ...], App]]) -> str:
    rows = []
    for words, command in commands:
        name = f"loadpilot {' '.join(words)}"
        rows.append((f"[{name}](#{anchor(name)})", escaped(_text(command).partition("\n")[0])))
    return table(("command", "what it does"), rows)


def _exit_codes() -> str:
    lines = HELP.partition("Exit codes:\n")[2].strip().splitlines()
    return table(("code", "meaning"), [line.strip().split("  ", 1) for line in lines])


def _section(words: tuple[str, ...], command: App, shared: set[Any]) -> Iterator[str]:
    yield f"## loadpilot {' '.join(words)}"
    if words[-1] in NATIVE:
        yield fenced(native_help(words[-1]), "text")
        return
    arguments = [one for one in _arguments(command) if not one.name.startswith("-")]
    flags = _flags(command)
    yield fenced(_usage(words, command, arguments, has_flags=bool(flags)), "text")
    yield escaped(_text(command))
    if arguments:
        rows = [(code(one.name), escaped(str(one.parameter.help or ""))) for one in arguments]
        yield table(("argument", "meaning"), rows)
    own = [one for one in flags if words == (SHARED,) or _identity(one) not in shared]
    for group in sorted({_group(one) for one in own}, key=lambda group: group.sort_key):
        yield f"*{group.name}*"
        flag_rows = [_row(one) for one in own if _group(one) == group]
        yield table(("flag", "default", "meaning"), flag_rows)
    others = [one for one in flags if one not in own]
    if others:
        names = ", ".join(code(one.name) for one in others)
        yield f"As in [loadpilot {SHARED}](#loadpilot-{SHARED}): {names}."


def _arguments(command: App) -> list[Argument]:
    if command.default_command is None:
        return []
    found = command.assemble_argument_collection()
    return [one for one in found if one.parse and one.name != "*"]


def _flags(command: App) -> list[Argument]:
    return [one for one in _arguments(command) if one.name.startswith("--")]


def _group(one: Argument) -> Group:
    """Return the group that a flag was declared with."""
    (group,) = cast("tuple[Group]", one.parameter.group)
    return group


def _identity(one: Argument) -> tuple[object, ...]:
    """Return a value that is equal for flags with the same meaning."""
    return (one.name, one.parameter.metavar, one.parameter.help, one.show_default)


def _row(one: Argument) -> tuple[str, str, str]:
    value = f" {one.parameter.metavar}" if one.parameter.metavar else ""
    names = one.parameter.name or (one.name,)
    shown = ", ".join(code(name + value * (name == one.name)) for name in names)
    default = str(one.show_default) if one.show_default else ""
    return shown, default, escaped(str(one.parameter.help))


def _text(command: App) -> str:
    text = command.help
    if command.default_command is not None and command.default_command.__doc__:
        text = command.default_command.__doc__
    return inspect.cleandoc(text)


def _usage(
    words: tuple[str, ...], command: App, arguments: list[Argument], *, has_flags: bool
) -> str:
    if command.usage:
        return str(command.usage).removeprefix("Usage: ").replace("\n       ", "\n")
    if command.default_command is None:
        return f"loadpilot {' '.join(words)} COMMAND"
    given = [one.name if one.required else f"[{one.name}]" for one in arguments]
    options = ["[OPTIONS]"] if has_flags else []
    return " ".join(["loadpilot", *words, *options, *given])


def native_help(name: str) -> str:
    """Return the help of a command of the native module, at the width of a page."""
    done = subprocess.run(
        [sys.executable, "-m", "loadpilot", name, "--help"],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())
