"""``loadpilot init``: the first files of a project, ready to run.

Must never change an existing file, except for lines added at the end of ``.gitignore``.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ....control.exit_code import ExitCode
from ....control.terminal import safe, say
from ....problem import rule
from ...flags.target import DEFAULT
from ...output.refusal import refuse

STARTER = Path(__file__).parents[2] / "starter"
FILES = {
    "scenarios/example.py": "example.py",
    "loadpilot.toml": "loadpilot.toml",
    ".env.example": "env_example.txt",
    **{
        f"monitoring/{name}": f"monitoring/{name}"
        for name in (
            "docker-compose.yml",
            "prometheus.yml",
            "alerts.yml",
            "grafana-datasource.yml",
            "grafana-provider.yml",
            "grafana-dashboard.json",
        )
    },
}
"""Files of a project, each with the file that it is a copy of."""
GITIGNORE, IGNORED = ".gitignore", "gitignore.txt"
SCENARIO = "scenarios/example.py"
COMPOSE = "monitoring/docker-compose.yml"
METRICS_ADDRESS = "127.0.0.1:9090"
"""Where monitoring/prometheus.yml reads the metrics of runs."""


def init(directory: str) -> ExitCode:
    """Create the files that are missing, and print what to do next."""
    root = Path(directory)
    if root.exists() and not root.is_dir():
        must = "must be a directory, or the name of a new one"
        return refuse([rule("DIR", must, directory)], "nothing was created")
    try:
        for name, source in FILES.items():
            is_new = create(root / name, (STARTER / source).read_bytes())
            print(f"{'created' if is_new else 'left'}  {safe(str(root / name))}")
        print(f"{ignore(root / GITIGNORE)}  {safe(str(root / GITIGNORE))}")
    except OSError as error:
        say(f"error: {safe(str(error))}")
        return ExitCode.INFRASTRUCTURE
    print(next_steps(root), end="")
    return ExitCode.PASSED


def create(path: Path, content: bytes) -> bool:
    """Create a file; False when there is one, or anything else, of that name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def ignore(path: Path) -> str:
    """Make git ignore the logs of runs; returns a line about the change."""
    wanted = (STARTER / IGNORED).read_bytes()
    if create(path, wanted):
        return "created"
    present = path.read_bytes()
    lines = {line.strip().strip(b"/*") for line in present.splitlines()}
    if b".loadpilot" in lines:
        return "left"
    with path.open("ab") as file:
        file.write((b"" if present.endswith(b"\n") or not present else b"\n") + b"\n" + wanted)
    return "added to"


def next_steps(root: Path) -> str:
    """Write what to do next; the commands work as they are."""
    enter = "" if root.absolute() == Path.cwd() else f"  cd {shlex.quote(os.fspath(root))}\n"
    run = f"loadpilot run {SCENARIO}"
    return (
        "\nNext, with the service to test at "
        f"{DEFAULT} or another --target that is yours to load:\n"
        f"{enter}"
        f"  {run} --dry-run          # check it and print the plan\n"
        f"  {run} --target {DEFAULT}\n"
        f"  {run} --profile low      # the profiles are in loadpilot.toml\n"
        "  loadpilot doctor                                      # if something does not work\n"
        "\nTo see runs in Grafana, http://localhost:3000 (admin/admin), with Docker:\n"
        f"  docker compose -f {COMPOSE} up -d\n"
        f"  {run} --metrics {METRICS_ADDRESS}\n"
    )
