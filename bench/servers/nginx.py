"""The target of the closed loops: nginx with one worker, keep-alive, 25 bytes of JSON, a counter.

On a core of its own it is faster than any tool of the table. The bench uses nginx's own count of
answers. It listens on loopback only, and ends with the block.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from enum import Enum
from typing import TYPE_CHECKING, Self

from bench.measure.process_tree import ToolFault
from bench.measure.procfs import children, cpu_secs

if TYPE_CHECKING:
    from pathlib import Path

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
        listen 127.0.0.1:{port} {listen} backlog=16384;
        {tls}
        default_type application/json;
        location / {{ return 200 '{body}'; }}
    }}
    server {{
        listen 127.0.0.1:{status_port};
        location / {{ stub_status; }}
    }}
}}
"""

TLS = """
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites {cipher};
        ssl_session_tickets off;
"""
CIPHER = "TLS_AES_128_GCM_SHA256"
"""The one cipher that is offered, so that every tool pays for the same."""
CERTIFICATE = """
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = loadpilot-bench
[extensions]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1, DNS:localhost
"""


class Speaks(Enum):
    """Protocol of the target."""

    HTTP1 = "HTTP/1.1"
    H2C = "HTTP/2 without TLS, known beforehand"
    TLS = "HTTP/1.1 over TLS 1.3"


class Nginx:
    """One nginx; it inherits the cores of this process."""

    def __init__(self, path: Path, folder: Path, speaks: Speaks = Speaks.HTTP1) -> None:
        """Start it and wait until it answers; raises ToolFault."""
        port, self._status_port = _free_port(), _free_port()
        scheme, listen, tls = "http", "", ""
        self.cacert: Path | None = None
        """The certificate to trust, where it has one; made for this nginx."""
        match speaks:
            case Speaks.H2C:
                listen = "http2"
            case Speaks.TLS:
                scheme, listen = "https", "ssl"
                tls = TLS.format(folder=folder, cipher=CIPHER)
                self.cacert = _certify(folder)
            case Speaks.HTTP1:
                pass
        self.url = f"{scheme}://127.0.0.1:{port}/"
        config = folder / "nginx.conf"
        config.write_text(
            CONFIG.format(
                folder=folder,
                port=port,
                listen=listen,
                tls=tls,
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
        """Return it."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End it."""
        self.stop()

    def stop(self) -> None:
        """End it; requests in flight are dropped."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()

    def requests(self) -> int:
        """Read how many requests it answered so far, without those that ask for the count."""
        return self.counted()[1]

    def counted(self) -> tuple[int, int]:
        """Read how many connections and requests came so far, without those for the count."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self._status_port}/", timeout=START_SECS
        ) as answer:
            found = re.search(r"^ (\d+) (\d+) (\d+)", answer.read().decode(), re.MULTILINE)
        if found is None:
            raise ToolFault("nginx's counter cannot be read")
        self._own_requests += 1
        return int(found[1]) - self._own_requests, int(found[3]) - self._own_requests

    def stall(self, secs: float) -> None:
        """Stop its workers for a time; requests wait in its sockets meanwhile."""
        workers = children(self._process.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(secs)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)

    def cpu_secs(self) -> float:
        """Read the processor seconds of its worker so far."""
        return sum(cpu_secs(pid) for pid in children(self._process.pid))

    _own_requests = 0

    def _answers(self) -> bool:
        try:
            return self.requests() >= 0
        except OSError:
            return False


def _certify(folder: Path) -> Path:
    """Make a key and a certificate that signs itself, for a day; raises ToolFault."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ToolFault("no certificate: openssl is missing (apt-get install openssl)")
    config, certificate = folder / "certificate.conf", folder / "certificate.pem"
    config.write_text(CERTIFICATE, encoding="utf-8")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-config", str(config), "-keyout", str(folder / "key.pem"), "-out", str(certificate)]
    argv = [openssl, "req", "-x509", "-days", "1", *curve, *files]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolFault(f"no certificate: {done.stderr.strip()}")
    return certificate


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
