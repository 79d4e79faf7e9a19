"""The bundle of a scenario in Python: all files beside it that it needs, and no others."""

from __future__ import annotations

import io
import textwrap
import zipfile
from typing import TYPE_CHECKING

import pytest

from loadpilot.problem import Refused
from loadpilot.scenario_file.bundle import bundle
from loadpilot.scenario_file.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from loadpilot.scenario_file.bundle import Bundle

HEAD = "from loadpilot import VUser, file, scenario, task\n"
BODY = """
@scenario(mode="constant")
class S(VUser):
    @task
    def t(self, client):
        {}
"""


def packed(folder: Path, text: str) -> Bundle:
    path = folder / "scene.py"
    path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
    return bundle(load(path))


def beside(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_modules_and_files_beside_a_scenario_travel_with_it(tmp_path: Path) -> None:
    """Broken if agents lack a file that the scenario needs only under load."""
    beside(tmp_path, "mixin_top.py", "import mixin_below")
    beside(tmp_path, "mixin_below.py")
    beside(
        tmp_path, "mixin_late.py", "from mixin_pack.inner import x\nfrom mixin_pack import other"
    )
    beside(tmp_path, "mixin_pack/__init__.py")
    beside(tmp_path, "mixin_pack/inner.py", "from . import further\nx = 1")
    beside(tmp_path, "mixin_pack/further.py", "from .deep.est import z")
    beside(tmp_path, "mixin_pack/deep/est.py", "z = 1")
    beside(tmp_path, "mixin_pack/other.py")
    beside(tmp_path, "mixin_pack/never.py")
    beside(tmp_path, "image.jpg", "jpg")
    beside(tmp_path, "unused.py")
    beside(tmp_path, ".venv/lib/installed.py")
    text = "import mixin_top\nimport json\n" + BODY.format(
        "import mixin_late, json; client.post('/', content=file('image.jpg'))"
    )
    found = packed(tmp_path, text)
    assert found.file == "scene.py"
    assert found.names == (
        "image.jpg",
        "mixin_below.py",
        "mixin_late.py",
        "mixin_pack/__init__.py",
        "mixin_pack/deep/est.py",
        "mixin_pack/further.py",
        "mixin_pack/inner.py",
        "mixin_pack/other.py",
        "mixin_top.py",
        "scene.py",
    )
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        assert archive.read("mixin_pack/deep/est.py") == b"z = 1"
    assert packed(tmp_path, text).sha256 == found.sha256


def test_a_file_that_is_not_there_is_refused_before_the_start(tmp_path: Path) -> None:
    """Broken if a missing body file is detected only by arrivals."""
    with pytest.raises(Refused) as refused:
        packed(tmp_path, BODY.format("client.post('/', content=file('nowhere.jpg'))"))
    (problem,) = refused.value.problems
    assert "file('nowhere.jpg'): there is no such file" in problem.what
    assert problem.place == "scene.py:7"
