"""The generated pages of the reference agree with the code."""

from __future__ import annotations

import re

import pytest
from docs.generate import PAGES, ROOT
from docs.generate.cli import HEAD as OF_COMMANDS
from docs.generate.cli import NATIVE
from docs.generate.dsl import AS_INSTANCE, SECTIONS

import loadpilot
from loadpilot.cli.app import app


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_current(page: str) -> None:
    """Broken if a flag, a setting or a field changed without its page: run ./dev gen."""
    assert (ROOT / page).read_text(encoding="utf-8") == PAGES[page]()


def test_every_public_name_is_on_the_page() -> None:
    """Broken if something that scenarios or programs may import is not documented."""
    names = {name for modules in SECTIONS.values() for group in modules.values() for name in group}
    documented = {AS_INSTANCE.get(name, name) for name in names}
    # The page of metrics has their functions.
    assert {*loadpilot.__all__} - {"__version__", "metrics"} <= documented


def test_every_flag_is_on_the_page() -> None:
    """Broken if the page leaves out a command or a flag that `--help` has."""
    text = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert text.startswith(OF_COMMANDS)
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    by_command = {section.partition("\n")[0]: section for section in sections}
    for name in app:
        if name.startswith("-") or name in NATIVE or app[name].default_command is None:
            continue
        section = by_command[f"loadpilot {name}"]
        for one in app[name].assemble_argument_collection():
            if one.parse and one.name.startswith("--"):
                assert f"`{one.name}" in section, (name, one.name)
