"""``--help`` of every command: groups, types of values, defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

import pytest

from loadpilot.cli import main
from loadpilot.cli.app import FLEETS, PAST_RUNS, PROJECT, RUN, RUNS_SHOWN, app
from loadpilot.cli.commands.search.search_flags import (
    CONFIRM,
    COOLDOWN,
    LIMIT,
    PRECISION,
    PROBE,
    START,
)
from loadpilot.cli.flags import declaration, target
from loadpilot.cli.flags.agent_flags import WAIT_DEFAULT
from loadpilot.cli.live_commands import LIVE_RUNS
from loadpilot.compile.scenario.connections import HTTP
from loadpilot.control.nats_settings import TENANT_DEFAULT

if TYPE_CHECKING:
    from cyclopts import Group
    from cyclopts.argument import Argument

NATIVE = {"agent", "coordinator"}
"""Commands whose help the native module writes."""
SUBCOMMANDS = {"admin", "keys", "model"}
"""Commands that do nothing without a subcommand."""
COMMANDS = [
    *((name,) for name in app if not name.startswith("-") and name not in NATIVE | SUBCOMMANDS),
    ("runs", "prune"),
    *(("admin", name) for name in ("nats-config", "nats-revoke", "nats-user", "ownership-token")),
    *(("keys", name) for name in ("init", "create", "list", "revoke")),
    *(("model", name) for name in ("from-log", "to-python")),
    *(("import", name) for name in ("curl", "har", "jmx", "k6", "openapi", "postman", "targets")),
]
GROUPS = sorted(
    (one for one in vars(declaration).values() if type(one).__name__ == "Group"),
    key=lambda one: one.sort_key,
)
DEFAULTS = {
    "--agents": "1",
    "--confirm": CONFIRM,
    "--cooldown": COOLDOWN,
    "--debug-requests": "0",
    "--duration": "the scenario's",
    "--http": HTTP[0],
    "--last": str(RUNS_SHOWN),
    "--limit": f"{LIMIT}/s",
    "--name-a": "A",
    "--name-b": "B",
    "--precision": PRECISION,
    "--probe": PROBE,
    "--reuse": "always",
    "--rps": "the scenario's",
    "--samples-share": "1",
    "--session-timeout": "30m",
    "--shortfall": "5",
    "--start": f"{START}/s",
    "--target": target.DEFAULT,
    "--speed": "1",
    "--tenant": TENANT_DEFAULT,
    "--wait-agents": WAIT_DEFAULT,
}
DEFAULTS_OF: dict[tuple[str, ...], dict[str, str]] = {
    ("admin", "nats-user"): {},
    ("deploy",): {"--agents": "3"},
}
"""Where a command has others."""


def flags_of(command: tuple[str, ...]) -> list[Argument]:
    found = app
    for name in command:
        found = found[name]
    arguments = found.assemble_argument_collection()
    return [one for one in arguments if one.parse and one.name.startswith("--")]


def help_of(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out


def titles(text: str) -> list[str]:
    return re.findall(r"^╭─ ([\w ]+) ─", text, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_flag_has_a_group_and_the_type_of_its_value(command: tuple[str, ...]) -> None:
    """Broken if a flag is in no group, or if its value is called STR."""
    for one in flags_of(command):
        (group,) = one.parameter.group
        assert group.name in {known.name for known in GROUPS} | {"Runs to delete"}, one.name
        assert one.parameter.help, one.name
        assert one.parameter.metavar in get_args(declaration.Value), one.name
        assert (one.parameter.metavar == "") == (one.hint is bool), one.name


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_default_is_shown_as_one(
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a default is hidden, or written in another form than the others."""
    shown = help_of(command, capsys, monkeypatch)
    text = " ".join(shown.replace("│", " ").split())
    for one in flags_of(command):
        assert one.field_info.default in (None, False, ()) or one.show_default, one.name
        assert "default" not in one.parameter.help, one.name
        wanted = DEFAULTS_OF.get(command, DEFAULTS).get(one.name)
        if wanted is not None:
            assert one.show_default == wanted, one.name
        if one.show_default:
            assert f"[default: {one.show_default}]" in text, one.name


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_groups_of_a_command_are_in_order_and_fit_80_columns(
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a group is missing, appears twice, or is cut at the edge of a terminal."""
    used = {one.parameter.group[0].name for one in flags_of(command)}
    text = help_of(command, capsys, monkeypatch)
    in_order = [group.name for group in GROUPS if group.name in used]
    assert [title for title in titles(text) if title in in_order] == in_order
    assert max(map(len, text.splitlines())) <= 80
    assert " STR" not in text


def test_a_run_shows_the_five_flags_of_every_user_first() -> None:
    """Broken if the most used flags are not first."""
    first: list[str] = [
        one.name for one in flags_of(("run",)) if one.parameter.group == (declaration.MOST_USED,)
    ]
    assert first == ["--target", "--rps", "--users", "--duration", "--threshold"]


def test_the_commands_are_grouped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a new command is in no group."""
    groups: list[Group] = [RUN, PAST_RUNS, LIVE_RUNS, FLEETS, PROJECT]
    assert titles(help_of((), capsys, monkeypatch)) == [group.name for group in groups]
