"""What a scenario sends, beside what the file of another tool says: bodies, cookies, secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sdk.tests.imports.test_bad_files import written

from loadpilot.scenario_file.imports.readers.curl.reader import read_curl
from loadpilot.scenario_file.imports.source import Source

if TYPE_CHECKING:
    from sdk.tests.conftest import Compile

JSON_WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc"  # noqa: S105


def of_curl(text: str) -> str:
    """Return the scenario of curl commands."""
    return written(read_curl, Source("shop.sh", text.encode()))


def test_a_here_document_holds_no_commands() -> None:
    """Broken if its lines are requests, or its quotes end the import."""
    text = of_curl("cat <<EOF >f\ncurl http://h/no\nit's\nEOF\ncurl http://h/yes --max-filesize 10")
    assert "/no" not in text
    assert '"/yes"' in text


@pytest.mark.parametrize("count", [100, 101, 2_001])
def test_a_scenario_of_many_requests_is_compiled(compile_text: Compile, count: int) -> None:
    """Broken if the command refuses what it wrote itself."""
    text = of_curl("".join(f"curl http://h/a{number}b\n" for number in range(count)))
    plan = compile_text(text).plan
    assert len(plan["tasks"][0]["steps"]) == (count if count <= 100 else 0)
    assert ("code" in plan or "script" in plan) == (count > 100)
