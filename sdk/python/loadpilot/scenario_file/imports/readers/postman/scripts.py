"""Reads a few well-known lines of Postman's test scripts: checks of statuses, and values to keep.

Scripts are never executed. Every other line, and code under a condition, is noted as not carried
over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...imported_scenario import Check, Extraction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...imported_scenario import Request
    from ...source import Node

STATUS = re.compile(
    r"(?:pm\.response\.to\.have\.status\(\s*|"
    r"pm\.expect\(\s*pm\.response\.code\s*\)\.to\.(?:be\.)?(?:equal|eql|eq)\(\s*|"
    r"responseCode\.code\s*===?\s*)(\d{3})\b"
)
JSON_NAME = re.compile(
    r"(?:const|let|var)\s+(\w+)\s*=\s*(?:pm\.response\.json\(\)|JSON\.parse\(responseBody\))\s*;?"
)
KEEP = re.compile(
    r"(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|"
    r"postman\.set(?:Environment|Global)Variable)"
    r"\(\s*(?:'([^'\\]+)'|\"([^\"\\]+)\")\s*,\s*"
    r"(pm\.response\.json\(\)|\w+)((?:\.\w+|\[\d+\]|\['[^'\\]+'\]|\[\"[^\"\\]+\"\])+)\s*\)\s*;?"
)
STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\['([^'\\]+)'\]|\[\"([^\"\\]+)\"\]")
FRAME = re.compile(
    r"(?:pm\.test\(.*(?:\{|=>)\s*|tests\[.*|\}\s*\)?\s*\)?\s*;?|\s*|console\.\w+\(.*)"
)
"""Lines around a check, and those that change nothing."""
TEXT_OR_COMMENT = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?|`(?:[^`\\]|\\.)*`?"""
    r"""|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))""",
    re.DOTALL,
)
CONTROL = re.compile(
    r"[(){};]|(?<![\w$.])(?P<condition>if|else|for|while|switch|catch)(?![\w$])"
    r"|(?P<choice>\|\||&&|\?(?!\.))"
)
LINE_MAX = 2_000
"""Maximum length of a line that is examined."""


def read_script(code: str, request: Request, place: Node) -> None:
    """Add the checks and extractions of a script to its request."""
    names = {"pm.response.json()"}
    for text, is_conditional in _lines(code):
        if len(text) > LINE_MAX:
            place.note("lines of test scripts that are very long are not carried over")
            continue
        named, kept, status = JSON_NAME.fullmatch(text), KEEP.search(text), STATUS.search(text)
        if named is not None:
            names.add(named[1])
        elif is_conditional:
            place.note("lines of test scripts under a condition are left out")
        elif kept is not None and kept[3] in names:
            steps = tuple(
                int(index) if index else word or one or other
                for word, index, one, other in STEP.findall(kept[4])
            )
            request.extractions.append(Extraction(kept[1] or kept[2], steps))
        elif status is not None:
            check = Check(status=int(status[1]))
            if check not in request.checks:
                request.checks.append(check)
        elif not FRAME.fullmatch(text):
            place.note("lines of test scripts other than statuses and kept values are left out")


def _lines(code: str) -> Iterator[tuple[str, bool]]:
    """List the lines without comments, each with whether it runs under a condition only."""

    def blanks(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n") or " "

    code = "\n".join(code.splitlines())
    shown = TEXT_OR_COMMENT.sub(lambda one: blanks(one) if one["comment"] else one[0], code)
    bare = TEXT_OR_COMMENT.sub(blanks, code)
    blocks: list[bool] = []
    """Whether each open block is one of a condition."""
    depth, head_depth = 0, None
    """Number of open brackets: here, and where a condition stands whose block is not yet open."""
    for line, words in zip(shown.split("\n"), bare.split("\n"), strict=True):
        is_conditional = any(blocks) or head_depth is not None
        for one in CONTROL.finditer(words):
            is_here = depth == head_depth
            if one["condition"] and head_depth is None:
                head_depth = depth
            elif one[0] in "()":
                depth = max(0, depth + (1 if one[0] == "(" else -1))
            elif one[0] == "{":
                blocks.append(is_here)
            elif one[0] == "}" and blocks:
                blocks.pop()
            if one[0] in "{};" and is_here:
                head_depth = None
            is_conditional |= any(blocks) or head_depth is not None or one["choice"] is not None
        yield line.strip(), is_conditional
