"""Real proxies, tinyproxy and microsocks, as processes of a test."""

from __future__ import annotations

import shutil
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, PASSWORD = "loader", "made-up-word"
LISTENS_S = 10.0
"""Longest wait for a proxy to listen."""
CONFIG = """
Port {port}
Listen 127.0.0.1
Timeout 60
MaxClients 100
LogFile "{log}"
LogLevel Connect
Allow 127.0.0.1
"""


def needed(program: str) -> str:
    """The path of a proxy; skips the test where it is absent."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program} on this machine; apt-get install {program}")
    return path


@contextmanager
def tinyproxy(folder: Path, *lines: str) -> Iterator[tuple[str, Path]]:
    """A proxy for CONNECT; gives its URL and its log."""
    program = needed("tinyproxy")
    port, config, log = free_port(), folder / "tinyproxy.conf", folder / "tinyproxy.log"
    config.write_text("\n".join([CONFIG.format(port=port, log=log), *lines, ""]), "utf-8")
    with _running([program, "-d", "-c", str(config)], port):
        yield f"http://127.0.0.1:{port}", log


@contextmanager
def microsocks(*flags: str) -> Iterator[str]:
    """A proxy for SOCKS 5; gives its URL."""
    port = free_port()
    with _running([needed("microsocks"), "-i", "127.0.0.1", "-p", str(port), *flags], port):
        yield f"socks5://127.0.0.1:{port}"


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def _running(argv: list[str], port: int) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            _wait(process, port)
            yield
        finally:
            process.kill()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(int(LISTENS_S / 0.05)):
        try:
            socket.create_connection(("127.0.0.1", port), LISTENS_S).close()
        except ConnectionRefusedError:
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError("the proxy ended before it listened") from None
        else:
            return
    raise AssertionError("the proxy does not listen")
