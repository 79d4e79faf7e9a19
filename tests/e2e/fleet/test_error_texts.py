"""Mistakes in settings that contain a secret: the message names the setting, and not its value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.fleet.canaries import Canaries
from tests.e2e.support.files import files_below

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAMS = Path(sys.executable).parent
SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=5, duration="1s", mode="constant")
class Looking(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")
"""
CLOSED = "127.0.0.1:1"
"""An address at which nothing listens."""
RUN = ("loadpilot", "run", "scene.py", "--target", "http://127.0.0.1:9")
SEARCH = ("loadpilot", "search", *RUN[2:], "--slo", "p95_ms=200", "--external-agents", "1")
LOGIN = "ann:SECRET@"
NATS = f"nats://{LOGIN}{CLOSED}"
CURL = (
    f"curl -u ann:SECRET http://{CLOSED}/x -H 'Authorization: Bearer SECRET' -H 'X-Api-Key: SECRET'"
    f" -b sid=SECRET -x http://{LOGIN}{CLOSED}"
)
GATEWAY = {"LOADPILOT_GATEWAY_NATS_URL": f"nats://{CLOSED}"}
COMMANDS: list[tuple[tuple[str, ...], Mapping[str, str]]] = [
    # The address of NATS, by flags and variables of each program.
    ((*RUN, "-v", "--nats-url", NATS), {}),
    (RUN, {"LOADPILOT_NATS_URL": NATS}),
    ((*RUN, "--nats-url", f"nats://{LOGIN}127.0.0.1:bad"), {}),
    ((*RUN, "--nats-url", f"http://{LOGIN}h"), {}),
    ((*RUN, "--nats-url", f"nats://{LOGIN}h o"), {}),
    ((*RUN, "--nats-url", f"nats://{LOGIN}nowhere.invalid:4222"), {}),
    ((*SEARCH, "--nats-url", NATS), {}),
    ((*SEARCH, f"--nats-url={NATS}"), {}),
    (("loadpilot", "runs", "--nats-url", NATS), {}),
    (("loadpilot", "report", "last", "--nats-url", NATS), {}),
    (("loadpilot", "doctor", "--nats-url", NATS), {}),
    (("loadpilot", "coordinator", "--check-config"), {"NATS_URL": f"ftp://{LOGIN}h"}),
    (("loadpilot", "coordinator", "--check-config"), {"NATS_URL": f"nats://{LOGIN}far.test:bad"}),
    (("loadpilot", "agent", "--id", "a"), {"NATS_URL": f"ftp://{LOGIN}h"}),
    (("loadpilot", "agent", "--id", "a"), {"NATS_URL": f"nats://{LOGIN}far.test:bad"}),
    (
        ("loadpilot-gateway", "--check-config"),
        {"LOADPILOT_GATEWAY_NATS_URL": f"nats://{LOGIN}h:bad:x"},
    ),
    # Tokens, keys and files of credentials.
    ((*RUN, "--nats-url", f"nats://{CLOSED}", "--nats-token", "SECRET"), {}),
    ((*RUN, "--nats-url", "nats://example.test:1", "--nats-token", "SECRET"), {}),
    ((*SEARCH, "--nats-url", f"nats://{CLOSED}", "--nats-token", "SECRET"), {}),
    ((*RUN, "--nats-url", f"nats://{CLOSED}", "--creds", "secret"), {}),
    (RUN, {"LOADPILOT_NATS_TOKEN": "SECRET"}),
    (
        ("loadpilot", "agent", "--id", "a", "--nats-url", f"nats://{CLOSED}", "--creds", "secret"),
        {},
    ),
    (("loadpilot", "agent", "--connect", "secret"), {}),
    ((*RUN, "--coordinator-url", f"http://{CLOSED}", "--coordinator-token-file", "secret"), {}),
    ((*RUN, "--coordinator-url", f"http://{LOGIN}{CLOSED}"), {}),
    ((*RUN, "--coordinator-url", f"ftp://{LOGIN}{CLOSED}"), {}),
    (("loadpilot-gateway", "--check-config"), {**GATEWAY, "LOADPILOT_GATEWAY_TOKEN": "SECRET"}),
    (
        ("loadpilot-gateway", "--check-config"),
        {**GATEWAY, "LOADPILOT_GATEWAY_KEYS_FILE": "keys.json"},
    ),
    (("loadpilot", "keys", "revoke", "lpk_000000000000_SECRET", "--file", "empty.json"), {}),
    (("loadpilot", "keys", "list", "--file", "secret"), {}),
    # What a run connects to.
    (("loadpilot", "run", "scene.py", "--target", f"http://{LOGIN}{CLOSED}"), {}),
    (("loadpilot", "run", "scene.py", "--target", f"http://{LOGIN}h:bad"), {}),
    (("loadpilot", "attack", f"http://{LOGIN}{CLOSED}", "--duration", "1s"), {}),
    ((*RUN, "--proxy", f"http://{LOGIN}{CLOSED}"), {}),
    ((*RUN, "--proxy", f"http://{CLOSED}", "--proxy-credentials-env", "PL"), {"PL": "SECRET"}),
    ((*RUN, "--connect-to", f"{LOGIN}h:1"), {}),
    ((*RUN, "--redirect-to", f"http://{LOGIN}h"), {}),
    (("loadpilot", "attack", f"http://{CLOSED}", "--header", "Authorization SECRET"), {}),
    (
        (
            *("loadpilot", "attack", f"http://{CLOSED}", "--duration", "1s", "--rps", "5", "-v"),
            *("--header", "Authorization: Bearer SECRET"),
        ),
        {},
    ),
    # Servers of metrics.
    ((*RUN, "--out", f"prometheus=http://{LOGIN}{CLOSED}"), {}),
    ((*RUN, "--out", f"otlp=http://{LOGIN}far.test:1"), {}),
    ((*RUN, "--out", f"prometheus=ftp://{LOGIN}h"), {}),
    ((*RUN, "--out", f"promtheus=http://{LOGIN}h"), {}),
    ((*RUN, "--out", "ann:SECRET"), {}),
    ((*RUN, "--metrics", f"{LOGIN}h:1"), {}),
    (RUN, {"LOADPILOT_OUT": f"prometheus=htp://{LOGIN}h"}),
    # Written commands of another tool: secrets become parameters.
    (("loadpilot", "import", "curl", "curl.txt", "-o", "imported.py"), {}),
]


def name_of(command: tuple[tuple[str, ...], Mapping[str, str]]) -> str:
    words, environ = command
    return " ".join([*environ, *(one for one in words if one not in RUN[2:])])


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_no_text_has_the_secret(
    command: tuple[tuple[str, ...], Mapping[str, str]], tmp_path: Path
) -> None:
    """Broken if a refusal, an error or a summary contains a password, a token or a key, or if a
    file does. 1 s each."""
    canaries = Canaries("it")
    for file, text in (("secret", "SECRET"), ("curl.txt", CURL), ("scene.py", SCENE)):
        _write(tmp_path / file, text, canaries)
    _write(tmp_path / "keys.json", '{"version": 1, "keys": [{"id": "SECRET"}]}', canaries)
    _write(tmp_path / "empty.json", '{"version": 1, "keys": []}', canaries)
    before = set(files_below(tmp_path))
    words, environ = command
    program, *rest = (word.replace("SECRET", canaries["it"]) for word in words)
    homes = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    variables = {name: text.replace("SECRET", canaries["it"]) for name, text in environ.items()}
    ended = subprocess.run(
        [str(PROGRAMS / program), *rest],
        cwd=tmp_path,
        env={**os.environ, **homes, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout + ended.stderr, "there is no message"
    assert ended.returncode in {0, 1, 2, 3, 4}, ended.stderr
    written = [file for file in files_below(tmp_path) if file not in before]
    canaries.assert_nowhere(written, {"stdout": ended.stdout, "stderr": ended.stderr})


def _write(file: Path, text: str, canaries: Canaries) -> None:
    file.write_text(text.replace("SECRET", canaries["it"]), encoding="utf-8")
    file.chmod(0o600)
