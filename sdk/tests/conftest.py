"""Fixtures of several test files: a scenario file on disk, loaded and compiled as by the
command."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Protocol

import pytest

from loadpilot.compile.code.program import CodeCompiler
from loadpilot.compile.plan import Compiled, compile_scenario
from loadpilot.compile.scenario.settings import Overrides
from loadpilot.inputs.params import ParameterSource
from loadpilot.problem import Problem, Refused
from loadpilot.scenario_file.load import choose, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TARGET = "http://localhost:8000"
NONE = Overrides()
ENVIRON = {"TOKEN": "hunter2", "SIZE": "7"}
"""The environment in which every scenario of these tests is compiled."""
HEAD = "from loadpilot import LoadClient, VUser, exponential, lognormal, scenario, task\n"


class Compile(Protocol):
    """Compiles the text of a scenario file."""

    def __call__(
        self, text: str, overrides: Overrides = ..., scenario: str | None = ...
    ) -> Compiled: ...


class Refuse(Protocol):
    """Compiles the text of a scenario file that must be refused; returns the problems."""

    def __call__(self, text: str, overrides: Overrides = ...) -> list[Problem]: ...


class Reasons(Protocol):
    """Compiles the text of a scenario file that must run in Python; returns why."""

    def __call__(self, text: str) -> Sequence[Problem]: ...


@pytest.fixture(autouse=True)
def _clean_imports() -> Iterator[None]:
    """Remove what a scenario file added to the interpreter."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("loadpilot_scenario_", "mixin_")):
            del sys.modules[name]


@pytest.fixture
def compile_text(tmp_path: Path) -> Compile:
    """Return a function that compiles a scenario file of the given text."""

    def compile_(text: str, overrides: Overrides = NONE, scenario: str | None = None) -> Compiled:
        path = tmp_path / "scene.py"
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        loaded = load(path, ParameterSource(ENVIRON, overrides.env))
        return compile_scenario(loaded, choose(loaded, scenario), TARGET, overrides)

    return compile_


@pytest.fixture
def refuse_text(compile_text: Compile) -> Refuse:
    """Return a function that expects a scenario file to be refused."""

    def refuse(text: str, overrides: Overrides = NONE) -> list[Problem]:
        with pytest.raises(Refused) as refused:
            compile_text(text, overrides)
        return refused.value.problems

    return refuse


@pytest.fixture
def reasons_of(compile_text: Compile, monkeypatch: pytest.MonkeyPatch) -> Reasons:
    """Return a function that expects a file to be more than requests that can be recorded. The
    result is the reason. Whether the scenario can be compiled to code is another question."""
    monkeypatch.setattr(CodeCompiler, "compile", lambda *_: None)

    def reasons(text: str) -> Sequence[Problem]:
        compiled = compile_text(text)
        assert "script" in compiled.plan, "it was recorded"
        assert all(task["steps"] == [] for task in compiled.plan["tasks"])
        return compiled.reasons

    return reasons
