"""A real kube-apiserver with its etcd, on loopback: it admits objects, and nothing acts on them.

Must never end a process that it did not start.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import subprocess
from contextlib import ExitStack, contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import yaml
from tests.deploy.chart.tools import program
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 120.0
READY = ("/readyz", "/openapi/v3")


class ApiServer:
    """One server, used with the rights of an administrator."""

    def __init__(self, folder: Path) -> None:
        """Starts nothing yet."""
        self._folder = folder
        self._port = free_port()
        self._token = secrets.token_urlsafe(24)
        self.config = folder / "kubeconfig"

    @contextmanager
    def up(self) -> Iterator[ApiServer]:
        """Runs both processes until the end of the block."""
        with ExitStack() as running:
            url = self._start_etcd(running)
            self._start(running, url)
            self._write_config()
            yield self

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """Status and answer of a request."""
        trust = ssl.create_default_context(cafile=str(self._folder / "certs" / "apiserver.crt"))
        trust.check_hostname = False
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=60, context=trust)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if not answer.headers.get("Content-Type", "").startswith("application/json"):
            return answer.status, {"text": text.decode()}
        return answer.status, json.loads(text)

    def create(self, path: str, body: object) -> dict[str, Any]:
        """Creates an object, which must be admitted."""
        status, answer = self.ask("POST", path, body)
        assert status == http.client.CREATED, answer
        return answer

    def _start_etcd(self, running: ExitStack) -> str:
        url, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        words = [f"--data-dir={self._folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=error"]
        words += [f"--listen-client-urls={url}", f"--advertise-client-urls={url}"]
        words += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        self._run(running, "etcd", *words, f"--initial-cluster=default={peer}")
        return url

    def _start(self, running: ExitStack, etcd: str) -> None:
        key, tokens = self._folder / "accounts.key", self._folder / "tokens.csv"
        argv = ["/usr/bin/env", "openssl", "genrsa", "-out", str(key), "2048"]
        subprocess.run(argv, check=True, capture_output=True)
        tokens.write_text(f'{self._token},tests,1,"system:masters"\n', encoding="utf-8")
        tokens.chmod(0o600)
        settings = {
            "etcd-servers": etcd,
            "secure-port": self._port,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "cert-dir": self._folder / "certs",
            "service-cluster-ip-range": "10.96.0.0/16",
            "authorization-mode": "RBAC",
            "token-auth-file": tokens,
            "service-account-issuer": "https://localhost",
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
        }
        words = [f"--{name}={value}" for name, value in settings.items()]
        self._run(running, "kube-apiserver", *words)
        deadline = monotonic() + START_S
        while not all(self._answers(path) for path in READY):
            assert monotonic() < deadline, (self._folder / "kube-apiserver.log").read_text("utf-8")
            sleep(0.2)

    def _answers(self, path: str) -> bool:
        try:
            return self.ask("GET", path)[0] == http.client.OK
        except OSError:
            return False

    def _run(self, running: ExitStack, name: str, *words: str) -> None:
        log = running.enter_context((self._folder / f"{name}.log").open("wb"))
        process = subprocess.Popen([str(program(name)), *words], stdout=log, stderr=log)
        running.callback(process.wait)
        running.callback(process.terminate)

    def _write_config(self) -> None:
        authority = str(self._folder / "certs" / "apiserver.crt")
        cluster = {"server": f"https://127.0.0.1:{self._port}", "certificate-authority": authority}
        text = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": self._token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "current-context": "tests",
        }
        self.config.touch(0o600)
        self.config.write_text(yaml.safe_dump(text), encoding="utf-8")
