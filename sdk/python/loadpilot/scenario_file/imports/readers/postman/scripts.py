"""Reads what Postman's test scripts say in a few well-known lines: statuses, and values to keep.

Scripts are never executed; every other line is named as not carried over.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...imported_scenario import Check, Extraction

if TYPE_CHECKING:
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
    r"(?://.*|pm\.test\(.*(?:\{|=>)\s*|tests\[.*|\}\s*\)?\s*\)?\s*;?|\s*|console\.\w+\(.*)"
)
"""Lines around a check, and those that change nothing."""
LINE_MAX = 2_000
"""Maximum length of a line that is examined."""


def read_script(code: str, request: Request, place: Node) -> None:
    """Add the checks and extractions of a script to its request."""
    names = {"pm.response.json()"}
    for line in code.splitlines():
        text = line.strip()
        if len(text) > LINE_MAX:
            place.note("lines of test scripts that are very long are not carried over")
            continue
        named, kept, status = JSON_NAME.fullmatch(text), KEEP.search(text), STATUS.search(text)
        if named is not None:
            names.add(named[1])
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
