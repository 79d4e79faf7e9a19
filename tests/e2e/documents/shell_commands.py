"""The commands in documents, as pipelines of words: all lines in a block of `sh`, and those behind
`$ ` in a block of `console`.

Understands the syntax that documents use: comments, continued lines, quotes, pipes, redirections,
`&`, `||`, variables and here-documents. Must never run anything.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.tidy.tracked import ROOT, tracked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md")
"""The documents of the site. The star is that of git, which also matches folders."""
BLOCK = re.compile(r"^ *```(sh|console)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PROMPT = "$ "
HERE = re.compile(r"<<'(\w+)'")
ASSIGNMENT = re.compile(r"(?P<name>[A-Z_]+)=(?P<value>.*)", re.DOTALL)
ENDS = ("\\", "|", "||", "&&")
"""Ends of a line after which its command goes on."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a document, as it is written."""

    document: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Stage:
    """One program of a pipeline: the variables set for it, its words, and its output file."""

    environ: Mapping[str, str]
    words: tuple[str, ...]
    output: str | None


def documents() -> list[Path]:
    """List the documents that have commands."""
    skipped = ("docs/adr/", "docs/reference/")
    found = [path for path in tracked(*DOCUMENTS) if not str(path).startswith(skipped)]
    return [path for path in found if BLOCK.search((ROOT / path).read_text(encoding="utf-8"))]


def commands(document: Path) -> Iterator[Command]:
    """Yield the commands of a document, in its order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start()) + 2
        gathered: list[str] = []
        for number, line in enumerate(textwrap.dedent(block[2]).splitlines(), first):
            if block[1] == "console" and not line.startswith(PROMPT):
                continue
            gathered.append(line.removeprefix(PROMPT))
            joined = "\n".join(gathered)
            if _is_whole(joined):
                if joined.strip() and not joined.lstrip().startswith("#"):
                    yield Command(document, number - len(gathered) + 1, joined.strip())
                gathered = []


def _is_whole(text: str) -> bool:
    here = HERE.search(text)
    if here is not None:
        return text.splitlines()[-1] == here[1] and "\n" in text
    try:
        tokens = _tokens(text)
    except ValueError:
        return False
    return not text.rstrip().endswith("\\") and (not tokens or tokens[-1] not in ENDS)


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split = True
    return list(lexer)


def pipeline(text: str) -> list[Stage]:
    """Split a command at its pipes; what follows `||`, and a last `&`, are left out."""
    tokens = _tokens(text)
    if "||" in tokens:
        tokens = tokens[: tokens.index("||")]
    stages: list[list[str]] = [[]]
    for word in tokens:
        if word == "|":
            stages.append([])
        elif word != "&":
            stages[-1].append(word)
    return [_stage(words) for words in stages]


def _stage(words: list[str]) -> Stage:
    environ: dict[str, str] = {}
    while words and (set_ := ASSIGNMENT.fullmatch(words[0])):
        environ[set_["name"]] = set_["value"]
        words = words[1:]
    output = None
    if ">" in words:
        place = words.index(">")
        output, words = words[place + 1], [*words[:place], *words[place + 2 :]]
    return Stage(environ, tuple(words), output)
