"""The commands that set a project and a machine up: init, doctor, model, completion, version."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .flags.coordinator_flags import ApiFlags
from .flags.declaration import OUTPUT, flag
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

    The folder monitoring has Prometheus and Grafana for `docker compose`. Files
    that are there stay as they are.
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


model_app = App(
    name="model",
    help="Derive a load model from an access log; write one as Python.",
)
"""`loadpilot run MODEL.toml` runs a load model."""

ModelOutput = Annotated[
    str | None,
    flag(OUTPUT, "FILE", "New file to write, in place of standard output.", "--output", "-o"),
]


@model_app.command
def from_log(
    log: Annotated[str, Parameter(name="LOG", help="Access log, common or combined format.")],
    /,
    *,
    output: ModelOutput = None,
    session_timeout: Annotated[
        str,
        flag(OUTPUT, "DURATION", "Silence that ends the session of a client.", default="30m"),
    ] = "30m",
    with_assets: Annotated[
        bool, flag(OUTPUT, "", "Keep requests of scripts, styles, fonts and images.")
    ] = False,
) -> ExitCode:
    """Derive users, think times and the mix of requests from an access log.

    A client is a host, a user and a user agent. Only GET and HEAD requests
    that succeeded are in the model, since a log holds no bodies. What is left
    out is named.
    """
    from .commands.project.model import from_log as execute

    return execute(log, output, session_timeout, with_assets=with_assets)


@model_app.command
def to_python(
    model: Annotated[str, Parameter(name="MODEL", help="Load model, a TOML file.")],
    /,
    *,
    output: ModelOutput = None,
) -> ExitCode:
    """Write a load model as a scenario in Python."""
    from .commands.project.model import to_python as execute

    return execute(model, output)


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
