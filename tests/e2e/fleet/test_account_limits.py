"""A fleet in an account of a shared NATS server, with the limits that the document names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import COMMAND, Running
from tests.e2e.support.fleet import JETSTREAM, Fleet
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

DOCUMENT = ROOT / "docs/howto/fleet/use-a-cloud-nats.md"
VARIABLE = "SHOP_KEY"
SCENE = """
from loadpilot import LoadClient, VUser, env, scenario, task
@scenario(rps=20, duration="2s", mode="constant")
class Shop(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.post("/a", content="x" * 70_000, headers={"X-Key": env("SHOP_KEY", secret=True)})
"""
"""A scenario that needs the key-value bucket, for a secret, and the object store, for a large
body."""


def limited(fleet: Fleet, max_file: int, streams: int) -> None:
    """Give the fleet an account with limits, as services do, and a login for it."""
    account = (
        f"jetstream: {{max_memory: 0, max_file: {max_file}, max_streams: {streams}, "
        "max_bytes_required: true}, users: [{user: fleet, password: made-up}]"
    )
    (fleet.folder / "nats.conf").write_text(
        f'listen: "127.0.0.1:{fleet.port}"\n'
        f"{JETSTREAM.format(store=fleet.folder / 'store')}\n"
        f"accounts {{ FLEET: {{ {account} }} }}\n",
        encoding="utf-8",
    )


def documented() -> tuple[int, int]:
    """Read from the document how many bytes and streams an account needs."""
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.search(r"\*\*([\d.]+) GiB\*\* of JetStream file storage, and (\d) streams", text)
    assert found is not None
    return int(float(found[1]) * (1 << 30)), int(found[2])


@pytest.mark.parametrize("enough", [True, False])
def test_an_account_needs_what_the_document_says(
    enough: bool,  # noqa: FBT001  (a case)
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a fleet needs more or fewer bytes, streams or memory than the document says.

    With one stream less no coordinator starts. 6 s."""
    fleet = Fleet(tmp_path, monkeypatch)
    max_file, streams = documented()
    limited(fleet, max_file, streams if enough else streams - 1)
    monkeypatch.setenv("NATS_TOKEN", "fleet:made-up")
    monkeypatch.setenv(VARIABLE, "hush")
    with fleet:
        if not enough:
            argv = (str(COMMAND), "coordinator", "--nats-url", fleet.url)
            with Running(argv, fleet.folder, fleet.folder / "no") as coordinator:
                ended = coordinator.end(20)
            assert ended.code == 4, ended.stderr
            assert "3 more streams, and the log needs 4" in ended.stderr
            return
        fleet.coordinator()
        fleet.agent("a-1")
        finished = fleet.run(loadpilot, SCENE, oracle.url, "--external-agents", "1")
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == 40
