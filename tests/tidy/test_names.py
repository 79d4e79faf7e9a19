"""Names of source files and the glossary: the field's words, one meaning each."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tidy.tracked import ROOT, generated, lines, tracked

GLOSSARY = Path("docs/glossary.md")
TERMS = Path("tests/tidy/field_terms.txt")
"""Plain terms of the field, of English and of tools: singular, sorted, one a line."""

REPLACED = {
    "abreast": "concurrent",
    "about": "agent_info",
    "ahead": "preconnect",
    "alarm": "sleep_until",
    "alive": "liveness_file",
    "aside": "hooks",
    "asked": "query, request, params",
    "asking": "protocols",
    "attendance": "agent_stats",
    "book": "run_state",
    "broke": "first_breach",
    "broken": "error_classification",
    "called": "call_ids",
    "concern": "per_agent_view",
    "crew": "virtual_users",
    "debt": "teardown_locks",
    "decided": "steering_result",
    "drawn": "random",
    "ended": "ending",
    "gather": "initial_assignment",
    "given": "inputs, dependencies",
    "hearing": "liveness",
    "heard": "results",
    "inert": "import_safety",
    "inside": "greenlets",
    "join": "scale_up",
    "kept": "request_cache, response_capture, cache_codec",
    "kit": "scratch",
    "known": "interned",
    "ladder": "percentiles",
    "lane": "schedule_cursor",
    "looped": "asyncio_bridge",
    "made": "request_cache",
    "measured": "metrics",
    "mouth": "core_publisher",
    "moving": "in_python_flag",
    "note": "event",
    "ours": "builtins",
    "overasked": "overcommit",
    "owed": "teardown",
    "past": "run_list",
    "patience": "timeouts",
    "picked": "selection",
    "place": "server_address",
    "plausible": "delta_validation",
    "reading": "indexed_run",
    "revive": "resume",
    "roll": "agent_list",
    "roster": "closed_loop",
    "seen": "debug_exchange",
    "seqs": "seq_set",
    "sparse": "packed_histogram",
    "spoken": "plan_summary",
    "stamp": "envelope",
    "story": "timeline",
    "sums": "aggregates",
    "told": "replay, tracebacks",
    "troupe": "virtual_users",
    "turn": "generation, current_user",
    "voice": "stdio_protocol",
    "who": "auth",
    "whole": "parse_int",
    "wish": "operation",
    "words": "labels, repr",
}
"""Words that no file name may contain, and the words that the code uses instead."""


def entries() -> list[list[str]]:
    """Read the rows of the glossary's table, each as its cells."""
    rows = [line for line in lines(GLOSSARY) if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def vocabulary() -> set[str]:
    """Collect the words that file names may contain: glossary entries, the field's words, the
    terms."""
    named = " ".join(f"{entry[0]} {entry[-1]}" for entry in entries()).lower()
    return set(re.findall(r"[a-z]{3,}", named)) | set(terms())


def terms() -> list[str]:
    return (ROOT / TERMS).read_text(encoding="utf-8").split()


def singulars(part: str) -> set[str]:
    """List the words of which a word may be the plural, itself included."""
    endings = {"s": "", "es": "", "ies": "y"}
    return {part} | {
        part.removesuffix(end) + instead for end, instead in endings.items() if part.endswith(end)
    }


def foreign(stem: str, known: set[str]) -> list[str]:
    """List the parts of a file's stem that are not in the vocabulary, or that another word
    replaces."""
    parts = [part for part in stem.lower().removeprefix("test_").split("_") if part]
    return [
        part for part in parts if not singulars(part) & known or singulars(part) & REPLACED.keys()
    ]


def stems() -> dict[Path, str]:
    sources = tracked("*.rs", "*.py", "*.ts", "*.tsx")
    return {path: path.name.split(".")[0] for path in sources if not generated(path)}


def test_a_source_file_is_named_in_words_of_the_field() -> None:
    """Broken if a file is named by a coined word that the glossary does not have."""
    known = vocabulary()
    unknown = {str(path): foreign(stem, known) for path, stem in stems().items()}
    assert not {path: parts for path, parts in unknown.items() if parts}


def test_a_coined_name_is_seen() -> None:
    """Broken if the test above accepts every name."""
    known = vocabulary()
    assert foreign("request_cache", known) == []
    assert foreign("test_shards", known) == []
    assert foreign("crew", known) == ["crew"]
    assert foreign("what_was_told", known) == ["was", "told"]


def test_the_glossary_has_one_entry_a_word() -> None:
    """Broken if a word has two entries, or stands out of order."""
    words = [entry[0].casefold() for entry in entries()]
    assert len(words) > 100
    assert words == sorted(set(words))


def test_an_entry_has_a_word_a_meaning_and_the_fields_word() -> None:
    """Broken if an entry explains nothing, or a coined word hides what the field calls it."""
    assert not [entry for entry in entries() if len(entry) != 3 or not all(entry)]


def test_no_word_is_both_defined_and_replaced() -> None:
    """Broken if the glossary defines a word that the code no longer uses."""
    stored = {"owed"}  # in messages and the log, but in no file name
    defined = {entry[0] for entry in entries()} | set(terms())
    assert defined & REPLACED.keys() <= stored


def test_the_terms_are_sorted() -> None:
    """Broken if a term is listed twice, or out of order after a merge."""
    assert terms() == sorted(set(terms()))


def test_paths_in_the_architecture_lead_somewhere() -> None:
    """Broken if a document sends a newcomer to a file that was moved."""
    path = re.compile(r"`((?:proto|services|sdk|tests)/[\w./-]+)`")
    dead = [
        f"{document}: {named}"
        for document in ("ARCHITECTURE.md", "docs/failures.md")
        for line in lines(Path(document))
        for named in path.findall(line)
        if not (ROOT / named).exists()
    ]
    assert not dead
