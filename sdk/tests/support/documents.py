"""The Python in READMEs and docs, as whole scenario files: examples that people copy must work.

A block that is not a whole file is completed with what its text presupposes. Must never let a block
that looks like Python pass for something else.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "sdk" / "README.md",
    ROOT / "docs" / "start.md",
    *sorted((ROOT / "docs" / "howto").rglob("*.md")),
    *sorted((ROOT / "docs" / "migrate").glob("*.md")),
)
PYTHON = re.compile(
    r"^\s*(from|import|class|def|async def|@|client\.|await |with |\w+ = )", re.MULTILINE
)
"""How a line of Python begins, in a fenced block."""
FENCE = "```"
IMPORTS = (
    "import threading\n"
    "from loadpilot import LoadClient, VUser, env, feed, file, metrics, now, rand, scenario, task\n"
    "from loadpilot import exponential, lognormal\n"
    "PROMPT = {}\n"
)
CLASS = "class Shop(VUser):\n"
ON_START = "    def on_start(self, client: LoadClient) -> None:\n        self.known = 1\n"
TASK = "    @task\n    def example(self, client: LoadClient) -> None:\n"
LEFT_OUT = "…"
"""The line that stands for what is around the lines below it."""


@dataclass(frozen=True, slots=True)
class Block:
    """Python in a document."""

    document: Path
    line: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.document.name}:{self.line}"

    @property
    def is_scenario(self) -> bool:
        """Whether it shows a part of a scenario."""
        return "client." in self.text or "@scenario" in self.text

    @property
    def is_whole(self) -> bool:
        """Whether it can be saved and run as it is."""
        return all(word in self.text for word in ("import LoadClient", "@scenario", "class "))

    @property
    def file(self) -> str:
        """A scenario file that contains the block."""
        if self.is_whole:
            return self.text
        text, decorator = self.text, "@scenario\n"
        if LEFT_OUT in text:
            above, _, below = text.partition(LEFT_OUT)
            return IMPORTS + above + decorator + CLASS + TASK + _within_a_task(below)
        if text.startswith("@scenario"):
            return IMPORTS + text + CLASS + ON_START + TASK + _within_a_task('client.get("/")')
        if text.startswith("class "):
            return IMPORTS + decorator + text + "\n" + TASK + _within_a_task('client.get("/")')
        return IMPORTS + decorator + CLASS + TASK + _within_a_task(text)


def blocks() -> list[Block]:
    """List all Python of all documents."""
    return [block for document in DOCUMENTS for block in _blocks_of(document)]


def _blocks_of(document: Path) -> list[Block]:
    """Find the fenced blocks that are Python, by their tag or, without one, by how lines begin.

    The tag `py` is for Python of other tools.
    """
    found: list[Block] = []
    opening = 0
    gathered: list[str] = []
    language = ""
    for number, line in enumerate(document.read_text("utf-8").split("\n"), 1):
        if not line.lstrip().startswith(FENCE):
            gathered.append(line)
        elif not opening:
            opening, language = number, line.strip().removeprefix(FENCE)
            gathered = []
        else:
            text = textwrap.dedent("\n".join(gathered)).strip("\n") + "\n"
            if language == "python" or (not language and PYTHON.search(text)):
                found.append(Block(document, opening, text))
            opening = 0
    return found


def _within_a_task(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text.strip("\n")), " " * 8) + "\n"
