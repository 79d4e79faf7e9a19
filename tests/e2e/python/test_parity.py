"""A task in Python makes the same requests as httpx, and reads responses in the same way."""

from __future__ import annotations

import io
import json
from typing import Any

import httpx
import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.echo import echo


def by_httpx(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests of the table, made by httpx."""
    monkeypatch.syspath_prepend(str(SCENARIOS))
    import parity_cases  # noqa: PLC0415

    with echo() as (url, received), httpx.Client(base_url=url) as client:
        for method, path, extras in parity_cases.CASES:
            cookies = extras.get("cookies")
            # httpx deprecates cookies for one request; a header says the same.
            given = {name: value for name, value in extras.items() if name != "cookies"}
            if cookies:
                pairs = "; ".join(f"{name}={value}" for name, value in cookies.items())
                given["headers"] = {"Cookie": pairs}
            rewind(given.get("files"))
            answer = client.request(method, path, **given)
            client.post("/seen", json=parity_cases.described(answer))
        return list(received)


def rewind(files: Any) -> None:
    """Sets open files back to their start."""
    for given in files.values() if isinstance(files, dict) else ():
        for part in given if isinstance(given, tuple) else ():
            if isinstance(part, io.BytesIO):
                part.seek(0)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["Parity", "Awaited"])
def test_a_task_makes_the_requests_that_httpx_makes(
    loadpilot: Loadpilot, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    """Broken if a keyword has another meaning than in httpx, or if a response is read
    differently."""
    expected = by_httpx(monkeypatch)
    with echo() as (url, received):
        finished = loadpilot.run(SCENARIOS / "parity.py", url, "--scenario", scenario)
        assert finished.judged in {0, 1}, finished.stderr
    raised = [task.get("raised") for task in finished.report["tasks"]]
    assert raised == [None], raised
    for seen, wanted in zip(received, expected, strict=True):
        assert shown(seen) == shown(wanted)


def shown(request: tuple[str, str, list[tuple[str, str]], bytes]) -> tuple[Any, ...]:
    """A request in the form in which it is compared: JSON by its values, since spaces have no
    meaning."""
    method, path, headers, body = request
    if path == "/seen":
        headers = [pair for pair in headers if pair[0] != "content-length"]
        return method, path, headers, json.loads(body)
    return method, path, headers, body
