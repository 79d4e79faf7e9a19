"""The scenario file of a load model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...problem import Problem, Refused

if TYPE_CHECKING:
    from pathlib import Path

ENDING = ".toml"
FOLDER = "models"


def scenario_path(path: Path, root: Path) -> Path:
    """Return the scenario file of a path: of a load model the one that is written below ``root``.

    Raises :class:`Refused` for an invalid model.
    """
    if path.suffix != ENDING:
        return path
    from .model import read  # noqa: PLC0415  (start-up is a promise)
    from .python_source import python_source  # noqa: PLC0415

    written = root / FOLDER / f"{path.stem}.py"
    text = python_source(read(path), path.name)
    draft = written.with_name(f".{written.name}.{os.getpid()}")
    try:
        written.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(written)
    except OSError as error:
        raise Refused([Problem(str(written), str(error.strerror or error))]) from None
    return written
