"""Damaged files of other tools: the result is a scenario in Python, or an error with its place."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sdk.tests.support.imported_scenario import written

from loadpilot.problem import Refused
from loadpilot.scenario_file.imports.readers.curl.reader import read_curl
from loadpilot.scenario_file.imports.readers.har import read_har
from loadpilot.scenario_file.imports.readers.jmx.reader import read_jmx
from loadpilot.scenario_file.imports.readers.k6.reader import read_k6
from loadpilot.scenario_file.imports.readers.openapi.reader import read_openapi
from loadpilot.scenario_file.imports.readers.postman.reader import read_postman
from loadpilot.scenario_file.imports.readers.targets import read_targets
from loadpilot.scenario_file.imports.source import FILE_BYTES_MAX, Source

if TYPE_CHECKING:
    from sdk.tests.support.imported_scenario import Read

FILES = Path(__file__).parent / "files"
READERS: dict[str, Read] = {
    "shop.sh": read_curl,
    "shop.har": functools.partial(read_har, with_assets=False),
    "shop.postman_collection.json": read_postman,
    "shop.openapi.yaml": read_openapi,
    "shop.k6.js": read_k6,
    "shop.jmx": read_jmx,
    "shop.targets": lambda source: read_targets(source, FILES),
}
HOSTILE = (
    b"",
    b'"',
    b"'",
    b'"""',
    b"\\",
    b"\n",
    b"\x00",
    b"\xff",
    "\u2028".encode(),
    b"{",
    b"[",
    b"<",
)
"""Bytes that end a text, a line or a value."""
damage = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 30),
        st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=4), st.just(b"-1e999")),
    ),
    min_size=1,
    max_size=4,
)
"""Where bytes are replaced, how many, and by which."""


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None)
@given(damage=damage)
def test_a_damaged_file_is_a_scenario_or_a_mistake_with_its_place(
    name: str, damage: list[tuple[float, int, bytes]]
) -> None:
    """Broken if a file ends the command with a traceback, or becomes something else than Python."""
    content = (FILES / name).read_bytes()
    for at, length, replacement in damage:
        begin = int(at * len(content))
        content = content[:begin] + replacement + content[begin + length :]
    text, mistakes = "", []
    try:
        text = written(READERS[name], Source(name, content))
    except Refused as refused:
        mistakes = [f"{problem}" for problem in refused.problems]
    ast.parse(text)
    assert all(name in mistake for mistake in mistakes)


@pytest.mark.parametrize(
    "flags",
    ["'http://a/b?q='$WORD", "-G http://a -d q=$WORD", '-G http://a --data-urlencode "q=a $WORD"'],
)
def test_an_unset_variable_of_a_query_is_a_parameter(flags: str) -> None:
    """Broken if a variable that the file does not set ends the command with a traceback."""
    text = written(read_curl, Source("shop.sh", f"curl {flags}\n".encode()))
    assert 'WORD = env("WORD")' in text


@pytest.mark.parametrize("name", READERS)
def test_what_is_too_large_or_nested_too_deep_is_refused(name: str) -> None:
    """Broken if memory or the stack grows with the content of a file."""
    for content in (b" " * (FILE_BYTES_MAX + 1), b"[" * 100_000, b"{" * 100_000):
        with pytest.raises(Refused):
            written(READERS[name], Source(name, content))


@pytest.mark.parametrize("name", READERS)
def test_texts_of_a_file_never_become_code(name: str) -> None:
    """Broken if a name or a value of a file could end its quotes in the scenario."""
    hostile = "x');raise SystemExit('"
    content = (FILES / name).read_text(encoding="utf-8").replace("product", hostile)
    try:
        text = written(READERS[name], Source(name, content.encode()))
    except Refused:
        return
    tree = ast.parse(text)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
