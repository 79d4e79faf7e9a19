"""Access logs: each line is a request, a line that is not HTTP, or an error that names its
place."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadpilot.problem import Refused
from loadpilot.scenario_file.load_model.access_log import AccessLog, Visit

if TYPE_CHECKING:
    from pathlib import Path

COMMON = '10.0.0.1 - ann [26/Nov/2026:10:00:01 +0100] "GET /a?b=c HTTP/1.1" 200 512'
COMBINED = f'{COMMON} "http://x/" "Mozilla \\"5\\""'


def visits(path: Path, *lines: str) -> tuple[list[Visit], int]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = AccessLog(path)
    return list(log.visits()), log.malformed


def test_both_formats_are_read(tmp_path: Path) -> None:
    """Broken if a field of a line is read as another one."""
    found, malformed = visits(tmp_path / "a.log", COMMON, "", COMBINED)
    second = int(datetime(2026, 11, 26, 9, 0, 1, tzinfo=timezone.utc).timestamp())  # noqa: UP017
    assert [one.client for one in found] == ["10.0.0.1 ann ", '10.0.0.1 ann Mozilla \\"5\\"']
    for one in found:
        assert (one.second, one.method, one.path, one.status) == (second, "GET", "/a?b=c", 200)
    assert malformed == 0


@given(
    at=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)),  # noqa: DTZ001
    offset_min=st.integers(-14 * 60, 14 * 60),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_time_is_that_of_the_calendar(tmp_path: Path, at: datetime, offset_min: int) -> None:
    """Broken if a time with an offset is another instant than Python's calendar computes. 1 s."""
    at = at.replace(tzinfo=timezone(timedelta(minutes=offset_min)))
    line = COMMON.replace("26/Nov/2026:10:00:01 +0100", at.strftime("%d/%b/%Y:%H:%M:%S %z"))
    [found], _ = visits(tmp_path / "a.log", line)
    assert found.second == int(at.timestamp() // 1)


def test_what_is_no_http_is_counted(tmp_path: Path) -> None:
    """Broken if the bytes of a port scanner end the command, or count as a request."""
    noise = COMMON.replace("GET /a?b=c HTTP/1.1", r"\x16\x03\x01")
    proxied = COMMON.replace("/a?b=c", "http://elsewhere/")
    assert visits(tmp_path / "a.log", noise, proxied) == ([], 2)


WRONG = {
    "what is this": "line 2, column 9: must be a user before a time in brackets, such as",
    '1.2.3.4 - - "GET / HTTP/1.1" 200 1': "line 2, column 11: must be a user",
    COMMON.replace("26/Nov", "26/Now"): "line 2, column 17: must be a time such as 26/Nov/2026",
    COMMON.replace(":01 +", ":61 +"): "line 2, column 17: must be a time",
    COMMON.replace('"', ""): "line 2, column 45: must be a request in quotation marks",
    COMMON.replace(" 200 ", " 20 "): "line 2, column 67: must be a status of three digits",
    "x" * 70_000: "line 2: is longer than 64 KiB",
}


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    """Broken if a line of another format is skipped, or if the error does not name its place."""
    with pytest.raises(Refused) as refused:
        visits(tmp_path / "a.log", COMMON, line)
    assert WRONG[line] in str(refused.value)


@given(
    cut=st.integers(0, len(COMBINED)),
    insert=st.text(max_size=8),
    drop=st.integers(0, 12),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_line_is_read_or_refused(
    tmp_path: Path, cut: int, insert: str, drop: int
) -> None:
    """Broken if a damaged log ends the command with a traceback. 1 s."""
    insert = insert.encode("utf-8", "replace").decode()
    damaged = COMBINED[:cut] + insert + COMBINED[cut + drop :]
    # A line feed that is inserted makes two lines of one.
    lines = damaged.split("\n")
    try:
        found, malformed = visits(tmp_path / "a.log", damaged)
    except Refused as refused:
        named = re.search(r"line (\d+)", str(refused))
        assert named is not None
        assert lines[int(named[1]) - 1].strip()
    else:
        assert len(found) + malformed == sum(bool(one.strip()) for one in lines)
