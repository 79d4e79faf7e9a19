"""A project as documents presuppose it: scenarios, files of other tools, and past runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sdk.tests.support.documents import blocks
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.short_run import rerun_until_trusted
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Finished
    from tests.oracle.oracle import Oracle

SEED = "SUAELDCCD5VTBRODPLUYC5Q6KYWKKU35EAPPUZHRMMPQFI6RFKDHTKXDU4"
"""The seed of the key that documents show; it signs nothing else."""
RUN = "01k2"
"""Id with which documents name a past run."""
IMPORTED = {
    "shop.sh": "commands.sh",
    "shop.har": "session.har",
    "shop.postman_collection.json": "shop.json",
    "shop.openapi.yaml": "openapi.yaml",
    "shop.k6.js": "script.js",
    "shop.jmx": "plan.jmx",
    "shop.targets": "targets.txt",
    "order.json": "order.json",
    "photo.txt": "photo.txt",
}
"""Files of other tools, by the names in documents."""
LEVELS = ("--stages", "0s:20,1s:20,0s:30,1s:30", "--tag", "team=shop")
"""A load of two levels that are long enough to be judged, so that the run has a knee."""
SHOP = """from loadpilot import LoadClient, VUser, env, scenario, task

SERVER = env("SERVER", "v1")
BASE = env("BASE", "")


@scenario(rps=20, duration="30s")
class {name}(VUser):
    @task
    def {task}(self, client: LoadClient) -> None:
        client.get("/api/products")
"""
SHARED = SHOP.replace('duration="30s"', 'duration="30s", share=1')
ACCESS_LOG = "".join(
    f'10.0.0.{client} - - [26/Nov/2026:10:00:{second:02} +0000] "GET /{page} HTTP/1.1" 200 5\n'
    for second in range(0, 50, 10)
    for client, page in ((1, "products"), (2, "cart"))
)


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of a project, and the ids of its runs, the oldest first."""

    folder: Path
    runs: tuple[str, ...]

    def copy(self, folder: Path) -> Project:
        """Copy the project, so that a document does not see files that another one wrote."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder, self.runs)


def recorded(folder: Path, oracle: Oracle) -> Project:
    """Make the files, and two runs of the first scenario of the README; about ten seconds.

    The first run is repeated on a busy machine: an INVALID run cannot be a baseline."""
    loadpilot = Loadpilot(folder)
    (hello,) = [one for one in blocks() if one.document == ROOT / "README.md" and one.is_whole]
    (folder / "hello.py").write_text(hello.text)
    for name, text in _files().items():
        (folder / name).write_text(text)
    for source, name in IMPORTED.items():
        shutil.copy(ROOT / "sdk/tests/imports/files" / source, folder / name)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "scenarios").mkdir()
    shutil.copy(ROOT / "sdk/python/loadpilot/cli/starter/example.py", folder / "scenarios")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)  # noqa: S607
    run = ("run", "hello.py", "--target", oracle.url, *LEVELS)

    def saved() -> Finished:
        finished = loadpilot.call(*run, "--save-baseline", "--results-json", "old.json")
        return replace(finished, results=folder / "old.json")

    first = rerun_until_trusted(saved)
    last = loadpilot.call(*run, "--samples", "calls.csv", "--results-json", "new.json")
    # A busy machine may fail the threshold of 200 ms, too.
    assert last.code in {0, 1, 3}, last.stderr
    shutil.copy(folder / "new.json", folder / "results.json")
    files = {"old.lprun": first.run, "new.lprun": last.run, "nightly.lprun": first.run}
    for name, exported in files.items():
        assert loadpilot.call("export", exported, name).code == 0
    for name in ("a.lprun", "checkout.lprun"):
        shutil.copy(folder / "new.lprun", folder / name)
    signed = loadpilot.call("export", "last", "run.lprun", "--sign", "release.seed")
    assert signed.code == 0, signed.stderr
    return Project(folder, (first.run, last.run))


def _files() -> dict[str, str]:
    return {
        "shop.py": SHOP.format(name="Checkout", task="browse"),
        "scenario.py": SHOP.format(name="Load", task="browse"),
        "browse.py": SHARED.format(name="Browse", task="browse"),
        "buy.py": SHARED.format(name="Buy", task="buy").replace('rps=20, duration="30s", ', ""),
        "access.log": ACCESS_LOG,
        "curve.csv": "0,10\n1,20\n2,10\n",
        "release.seed": f"{SEED}\n",
        "fleet.creds": "",
        "fleet.creds.new": "",
        "ca.pem": "",
        "plan.json": json.dumps({}),
    }
