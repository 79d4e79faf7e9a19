"""A real Prometheus and its query API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

START_S = 30.0
NATIVE = "--enable-feature=native-histograms"


def installed(program: str) -> str:
    """Path of a program of Prometheus; skips the test if it is absent."""
    binary = shutil.which(program)
    if binary is None:
        pytest.skip(f"no {program} on this machine; apt-get install prometheus")
    return binary


class Server:
    """The query API of a server that runs."""

    def __init__(self, address: str) -> None:
        self.address = address

    def wait_ready(self, why_not: Callable[[], str] = str) -> None:
        """Waits until the server answers; `why_not` explains a timeout."""
        give_up = time.monotonic() + START_S
        while True:
            try:
                self._get("/-/ready")
            except OSError:
                assert time.monotonic() < give_up, why_not()
                time.sleep(0.1)
            else:
                return

    def series(self, question: str, **parameters: str) -> list[dict[str, Any]]:
        """The answer to `query` or `query_range`, as the server gives it."""
        answer = json.loads(self._get(f"/api/v1/{question}", **parameters))
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def query(self, text: str, at: float | None = None) -> dict[str, float]:
        """The values of an instant query by their labels."""
        instant = {} if at is None else {"time": f"{at:.3f}"}
        found = self.series("query", query=text, **instant)
        return {",".join(one["metric"].values()): float(one["value"][1]) for one in found}

    def until(
        self, text: str, holds: Callable[[dict[str, float]], bool], timeout_s: float = START_S
    ) -> dict[str, float]:
        """Repeats a query until its answer satisfies a condition."""
        give_up = time.monotonic() + timeout_s
        while not holds(found := self.query(text)):
            assert time.monotonic() < give_up, found
            time.sleep(0.1)
        return found

    def points(self, text: str) -> list[float]:
        """The values of a series over a range."""
        (one,) = self.series("query", query=text)
        return [float(value) for _, value in one["values"]]

    def _get(self, path: str, **query: str) -> bytes:
        url = f"http://{self.address}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bytes(answer.read())


class Prometheus(Server):
    """A server that scrapes the configured jobs and accepts remote write."""

    def __init__(self, folder: Path, scraped: str = "", *flags: str) -> None:
        binary = installed("prometheus")
        folder.mkdir(exist_ok=True)
        configs = scraped or "scrape_configs: []\n"
        (folder / "prometheus.yml").write_text(configs, encoding="utf-8")
        super().__init__(f"127.0.0.1:{free_port()}")
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                binary,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={self.address}",
                "--web.enable-remote-write-receiver",
                *flags,
            ],
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        self.wait_ready(lambda: (folder / "log").read_text(encoding="utf-8"))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._log.close()


def scraping(jobs: dict[str, str], more: str = "", interval: str = "1s") -> str:
    """The configuration of a server that scrapes jobs by their addresses."""
    text = (
        f"global:\n  scrape_interval: {interval}\n  scrape_timeout: {interval}\nscrape_configs:\n"
    )
    for job, address in jobs.items():
        text += f"  - job_name: {job}\n    static_configs:\n      - targets: ['{address}']\n"
    return text + more


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    """A server that accepts remote write and scrapes nothing."""
    server = Prometheus(tmp_path / "prometheus")
    yield server
    server.stop()
