"""The target of *max*: nginx with one worker, keep-alive, 25 bytes of JSON, and a counter.

It is faster than any tool of the table on a core of its own, and it counts what it answered, which
is what counts: not what a tool says. Must only listen on loopback, and ends with the block.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING, Self

from bench.measured import ToolFault, children, cpu_secs

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

START_SECS = 10.0
BODY = '{"status":"ok","id":1234}'
CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 16384; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    server {{
        listen 127.0.0.1:{port} backlog=16384;
        default_type application/json;
        location / {{ return 200 '{body}'; }}
    }}
    server {{
        listen 127.0.0.1:{status_port};
        location / {{ stub_status; }}
    }}
}}
"""


class Nginx:
    """One nginx; it inherits the cores of this process."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Start it and wait until it answers; raises ToolFault."""
        port, self._status_port = _free_port(), _free_port()
        self.url = f"http://127.0.0.1:{port}/"
        config = folder / "nginx.conf"
        config.write_text(
            CONFIG.format(
                folder=folder,
                port=port,
                status_port=self._status_port,
                body=BODY,
                user="user root;" if os.geteuid() == 0 else "",
            ),
            encoding="utf-8",
        )
        argv = [str(path), "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        give_up = time.monotonic() + START_SECS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                self.stop()
                raise ToolFault(f"nginx did not start: {(folder / 'error.log').read_text()}")
            time.sleep(0.05)

    def __enter__(self) -> Self:
        """Hand it out."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.stop()

    def stop(self) -> None:
        """End it; requests in flight are dropped."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()

    def requests(self) -> int:
        """Read how many requests it answered so far, without those that ask for the count."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self._status_port}/", timeout=START_SECS
        ) as answer:
            found = re.search(r"^ (\d+) (\d+) (\d+)", answer.read().decode(), re.MULTILINE)
        if found is None:
            raise ToolFault("nginx's counter cannot be read")
        self._asked += 1
        return int(found[3]) - self._asked

    def cpu_secs(self) -> float:
        """Read what its worker has spent so far."""
        return sum(cpu_secs(pid) for pid in children(self._process.pid))

    _asked = 0

    def _answers(self) -> bool:
        try:
            return self.requests() >= 0
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
