"""The commands that set a project and a machine up: init, doctor, completion, version."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .flags.coordinator_flags import ApiFlags
from .flags.shared_flags import NO_SERVER, Json, Server

NO_COORDINATOR = ApiFlags()


def init(
    directory: Annotated[
        str,
        Parameter(
            name="DIR", show_default=True, help="Directory of the project; created if absent."
        ),
    ] = ".",
    /,
) -> ExitCode:
    """Create a first scenario, loadpilot.toml, .env.example and lines of .gitignore.

    Files that are there stay as they are.
    """
    from .commands.project.init import init as execute

    return execute(directory)


def doctor(
    *,
    json: Json = False,
    server: Server = NO_SERVER,
    api: Annotated[ApiFlags, Parameter(name="*")] = NO_COORDINATOR,
) -> ExitCode:
    """Check this machine, and a fleet if one is named: what is wrong, and how to mend it.

    Exit code 4 when a problem keeps runs from working; warnings leave it 0.
    """
    from .commands.project.doctor import doctor as execute

    return execute(server, api, as_json=json)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Shell that completes.")],
    /,
) -> ExitCode:
    """Print a script that completes commands, flags, files and runs in a shell.

    bash: `source <(loadpilot completion bash)`, in ~/.bashrc. zsh: write it to a file _loadpilot in
    a folder of fpath. fish: write it to ~/.config/fish/completions/loadpilot.fish.
    """
    from .commands.project.completion import completion as execute

    return execute(shell)


def version() -> ExitCode:
    """Print the installed version, its commit and its build profile."""
    from .commands.project.version import version as execute

    return execute()
