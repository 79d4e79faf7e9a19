"""``loadpilot completion``: scripts for shells, made from the declared commands and flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.terminal import write_product

if TYPE_CHECKING:
    from typing import Literal

FILES_TOO = {
    "bash": ("complete -F _loadpilot", "complete -o bashdefault -o default -F _loadpilot"),
    "fish": ("complete -c loadpilot -f\n", ""),
}
"""By shell: text of the script and its replacement, which completes files if nothing else fits."""


def completion(shell: Literal["bash", "zsh", "fish"]) -> ExitCode:
    """Print the script."""
    from ...app import app  # noqa: PLC0415  (it imports this module's command)

    script = app.generate_completion(prog_name="loadpilot", shell=shell)
    before, after = FILES_TOO.get(shell, ("", ""))
    write_product(script.replace(before, after) if before else script)
    return ExitCode.PASSED
