"""The text of a release: its section of CHANGELOG.md.

    python3 deploy/release/changelog.py TAG [CHANGELOG]

Must need nothing but Python: the workflow calls it before anything is built.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USAGE = 2
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:-[0-9a-z.]+)?)")
HEADING = re.compile(r"^## \[?(?P<version>[^\]\s]+)\]?(?: - (?P<date>\d{4}-\d{2}-\d{2}))?$")
REFERENCE = re.compile(r"^\[[^\]]+\]: ", re.MULTILINE)
"""A definition of a link, at the end of the file."""


class InvalidRelease(ValueError):
    """A release that must not be published; the text says what to change."""


def version_of(tag: str, workspace: str) -> str:
    """Return the version that a tag names, if it is that of the workspace (a Cargo.toml).

    Raises InvalidRelease.
    """
    found = TAG.fullmatch(tag)
    if found is None:
        raise InvalidRelease(f"tag {tag}: a release is tagged vMAJOR.MINOR.PATCH, such as v0.1.0")
    version = found[1]
    built: str = tomllib.loads(workspace)["workspace"]["package"]["version"]
    if version != built:
        raise InvalidRelease(
            f"tag {tag}: Cargo.toml has version {built}; tag it v{built}, or raise the version"
        )
    return version


def notes(changelog: str, version: str) -> str:
    """Return the text below the heading of a version, in Markdown.

    Raises InvalidRelease when there is no such section, it has no date, or it is empty.
    """
    sections: dict[str, list[str]] = {}
    dates: dict[str, str | None] = {}
    lines: list[str] = []
    for line in changelog.splitlines():
        if line.startswith("## "):
            heading = HEADING.match(line)
            if heading is None:
                raise InvalidRelease(f"CHANGELOG.md: '{line}' is not '## VERSION - YYYY-MM-DD'")
            name = heading["version"]
            if name in sections:
                raise InvalidRelease(f"CHANGELOG.md: two sections '## {name}'")
            lines = sections[name] = []
            dates[name] = heading["date"]
        else:
            lines.append(line)
    if version not in sections:
        raise InvalidRelease(
            f"CHANGELOG.md: no section '## {version} - YYYY-MM-DD'; its sections: "
            + ", ".join(sections)
        )
    if dates[version] is None:
        raise InvalidRelease(f"CHANGELOG.md: section '## {version}' has no date")
    text = "\n".join(sections[version])
    if (links := REFERENCE.search(text)) is not None:
        text = text[: links.start()]
    if not text.strip():
        raise InvalidRelease(f"CHANGELOG.md: section '## {version}' is empty")
    return text.strip() + "\n"


def main(arguments: list[str]) -> int:
    """Print the text of the release; returns the exit code."""
    if not 1 <= len(arguments) <= 2:
        print("usage: python3 deploy/release/changelog.py TAG [CHANGELOG]", file=sys.stderr)
        return USAGE
    tag, *file = arguments
    changelog = Path(file[0]) if file else ROOT / "CHANGELOG.md"
    try:
        workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
        version = version_of(tag, workspace)
        print(notes(changelog.read_text(encoding="utf-8"), version), end="")
    except (InvalidRelease, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
