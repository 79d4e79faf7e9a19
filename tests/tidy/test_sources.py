"""Rules for all sources: sizes, names, and words that they must not contain."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.tidy.tracked import ROOT, generated, lines, tracked

LINES_MAX = 500
COLUMNS_MAX = 100
SIBLINGS_MAX = 18
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}


def sources() -> list[Path]:
    named = ("*.rs", "*.py", "*.ts", "*.tsx", "*.mjs", "*.css", "dev", ".ci/run")
    return [path for path in tracked(*named) if not generated(path)]


def test_no_file_grows_beyond_one_idea() -> None:
    """Broken if a file mixes several ideas."""
    long = {str(path): len(lines(path)) for path in sources() if len(lines(path)) > LINES_MAX + 1}
    assert not long


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    """Broken if a folder of sources has so many files and folders that it needs groups."""
    siblings: dict[Path, set[str]] = {}
    for path in tracked("*.rs", "*.py", "*.ts", "*.tsx", "*.mjs"):
        if not generated(path):
            for folder in path.parents:
                siblings.setdefault(folder, set()).add(path.relative_to(folder).parts[0])
    crowded = {
        str(folder): len(names) for folder, names in siblings.items() if len(names) > SIBLINGS_MAX
    }
    assert not crowded


def test_lines_fit() -> None:
    """Broken if a line is too long for a screen."""
    wide = [
        f"{path}:{number}"
        for path in sources()
        for number, line in enumerate(lines(path), 1)
        if len(line.split("  # noqa")[0]) > COLUMNS_MAX and "http" not in line
    ]
    assert not wide


def test_names_say_what_is_inside() -> None:
    """Broken if the name of a file or folder does not say what it contains."""
    assert not [path for path in tracked() if EMPTY_NAMES & {Path(p).stem for p in path.parts}]


def test_nothing_is_left_for_later_in_the_sources() -> None:
    """Broken if an open task is in a comment instead of an issue."""
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    assert not [
        f"{path}:{number}"
        for path in sources()
        for number, line in enumerate(lines(path), 1)
        if marks.search(line)
    ]


def test_the_product_does_not_say_how_it_was_built() -> None:
    """Broken if a text refers to a document that is not part of the product."""
    foreign = re.compile(r"DES" r"IGN\.md|FEA" r"TURES\.md|STY" r"LE\.md|\.\./sha" r"red")
    texts = tracked("*.md", "*.rs", "*.py", "*.toml", "dev", ".ci/run")
    assert not [
        f"{path}:{number}"
        for path in texts
        for number, line in enumerate(lines(path), 1)
        if foreign.search(line)
    ]


def test_nothing_refers_to_a_list_that_is_not_here() -> None:
    """Broken if a text names a row or a ticket that a reader cannot look up."""
    named = re.compile(r"\b[A-Z]{1,2}-\d{2}\b|\b[Ii]ssue #?\d")
    assert not [
        f"{path}:{number}"
        for path in tracked("*.md", "*.rs", "*.py", "*.toml", "dev", ".ci/run")
        for number, line in enumerate(lines(path), 1)
        if named.search(line)
    ]


def test_no_document_installs_a_foreign_package() -> None:
    """Broken if the README installs the package of the same name that belongs to another
    project."""
    assert "pip install loadpilot" not in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_ignored_lint_has_a_reason() -> None:
    """Broken if a rule is switched off without a reason."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ignored = re.findall(r'^    "[A-Z]+[0-9]*",(.*)$', text, flags=re.MULTILINE)
    assert ignored
    assert all("#" in rest for rest in ignored)


def anchors(path: Path) -> set[str]:
    """List the anchors that a forge gives the headings of a document."""
    headings = re.findall(r"^#{1,6} (.*)$", document(path), re.MULTILINE)
    found: dict[str, int] = {}
    for heading in headings:
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, 0) + 1
    return {
        anchor + (f"-{number}" if number else "")
        for anchor, count in found.items()
        for number in range(count)
    }


def document(path: Path) -> str:
    """Read a document without its blocks of code."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def test_links_between_documents_lead_somewhere() -> None:
    """Broken if a document links to a file that was moved, or to a heading that was reworded."""
    link = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
    dead = []
    for path in tracked("*.md"):
        for target, anchor in link.findall(document(path)):
            if "://" in target:
                continue
            file = Path(os.path.normpath(path.parent / target)) if target else path
            is_there = (ROOT / file).exists()
            if not is_there or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
                dead.append(f"{path}: {target}#{anchor}")
    assert not dead


def test_every_page_is_listed_on_the_site() -> None:
    """Broken if a page of the documentation is in no list of docs/index.rst: its readers would
    have to search for it."""
    index = (ROOT / "docs/index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (?:.*<)?([\w./*-]+)>?$", index, re.MULTILINE)
    pages = [path for path in tracked("docs/*.md") if path.parent != Path("docs/adr")]
    unlisted = [
        str(path)
        for path in pages
        if not any(path.relative_to("docs").with_suffix("").match(entry) for entry in listed)
    ]
    assert not unlisted


def test_every_decision_is_in_the_index() -> None:
    """Broken if a decision is missing in the index."""
    index = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    assert not [path.name for path in tracked("docs/adr/0*.md") if path.name not in index]


def test_every_measurement_is_in_the_index() -> None:
    """Broken if no index links to a page of results."""
    index = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert not [path.name for path in tracked("bench/results/*.md") if path.name not in index]
