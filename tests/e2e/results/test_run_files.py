"""`export`, `import` and run files: a file gives the same answers as the log, without a server."""

from __future__ import annotations

import json
import shutil
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import COMMAND, SCENARIOS, Loadpilot
from tests.e2e.support.rawlog import read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

VARIED = SCENARIOS / "varied.py"
TALKATIVE = """
from loadpilot import VUser, scenario, task

@scenario(rps=50, duration="2s", mode="constant", tags={"team": "tag-marker"})
class Talkative(VUser):
    greeting = "attribute-marker"

    @task
    def buy(self, client):
        client.post("/cart?of=query-marker", json={"card": "body-marker"},
                    headers={"X-Note": "header-marker"})

    def check_buy(self, status_code, body):
        assert self.greeting == "error-marker", "error-marker"
"""
MARKERS = ["tag", "attribute", "query", "body", "header", "error"]
"""Words of the scenario that a redacted file must not contain, each followed by -marker."""


@pytest.fixture
def exported(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> tuple[str, Path]:
    """A run with failed calls and two agents, and its file."""
    oracle.status(503, fraction=0.1)
    finished = loadpilot.run(VARIED, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    path = tmp_path / "new folder" / "varied.lprun"
    written = loadpilot.call("export", "last", str(path))
    assert written.code == 0, written.stderr
    return finished.run, path


@pytest.mark.slow
def test_a_file_answers_as_its_log_does(
    exported: tuple[str, Path], loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a report from a file differs from that of the log, or needs the log. 6 s."""
    run, path = exported
    report = loadpilot.call("report", run, "--json").stdout
    (log,) = loadpilot.log.glob("log-*")
    stored = {(one.subject, one.seq): one.event for one in read(log, tmp_path / "raw")}
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        names = [one["name"] for one in manifest["members"] if "records" in one]
        lines = [json.loads(line) for name in names for line in archive.read(name).splitlines()]
    filed = {(one["subject"], one["seq"]): one["event"]["event"] for one in lines}
    assert filed == stored

    elsewhere = Loadpilot(tmp_path / "elsewhere")
    assert elsewhere.call("report", str(path), "--json").stdout == report
    verified = elsewhere.call("verify", str(path))
    assert (verified.code, "17 of 17 invariants hold" in verified.stdout) == (0, True)
    assert not elsewhere.log.exists(), "reading a file leaves other files behind"

    assert elsewhere.call("import", str(path)).code == 0
    assert elsewhere.call("report", "last", "--json").stdout == report
    (row,) = elsewhere.call("runs").stdout.splitlines()[1:]
    assert row.startswith(run)
    again = elsewhere.call("import", str(path))
    assert (again.code, "already" in again.stderr) == (2, True)
    assert elsewhere.call("watch", "last").code == 0
    copy = tmp_path / "copy.lprun"
    assert elsewhere.call("export", "last", str(copy)).code == 0
    assert copy.read_bytes() == path.read_bytes()
    assert elsewhere.call("runs", "prune", "--all").code == 0
    assert "no runs" in elsewhere.call("runs").stderr


@pytest.mark.slow
def test_a_damaged_file_gives_no_report(
    exported: tuple[str, Path], loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a command reports figures of a damaged file, or hides other runs because of it.
    4 s."""
    run, path = exported
    damaged = tmp_path / "damaged.lprun"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    for command in (["report"], ["verify"], ["watch"], ["import"], ["report", "--json"]):
        refused = loadpilot.call(*command, str(damaged))
        assert (refused.code, refused.stdout) == (2, ""), command
        assert f"{damaged}: must be whole" in refused.stderr
    for name, rule in [("missing.lprun", "readable"), ("scene.txt", "loadpilot export")]:
        (tmp_path / "scene.txt").write_text("no run", encoding="utf-8")
        refused = loadpilot.call("report", str(tmp_path / name))
        assert (refused.code, rule in refused.stderr) == (2, True), refused.stderr
    imported = loadpilot.log / "imported"
    imported.mkdir()
    shutil.copy(damaged, imported / "x.lprun")
    listed = loadpilot.call("runs")
    assert (listed.code, run in listed.stdout) == (0, True)
    assert "left out" in listed.stderr


def test_a_file_is_whole_or_not_there(exported: tuple[str, Path], loadpilot: Loadpilot) -> None:
    """Broken if a failed export leaves half a file, or destroys the earlier one. 3 s."""
    _, path = exported
    target = path.with_name("target.lprun")
    target.write_text("the one before", encoding="utf-8")
    limits = ("sh", "-c", 'ulimit -f 2; exec "$@"', "sh", str(COMMAND))
    limited = Loadpilot(loadpilot.folder, limits)
    failed = limited.call("export", str(path), str(target))
    assert (failed.code, "File too large" in failed.stderr) == (4, True), failed.stderr
    assert target.read_text(encoding="utf-8") == "the one before"
    assert sorted(path.parent.iterdir()) == [target, path], "a temporary file is left"
    for name, rule in [("plain", "must end in .lprun"), (f"{path}/x.lprun", "not a directory")]:
        refused = loadpilot.call("export", "last", name)
        assert (refused.code, rule in refused.stderr) == (2, True), refused.stderr


@pytest.mark.slow
def test_a_redacted_file_says_nothing_of_the_target(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a redacted file names the target, or contains a body, a tag or a header. 5 s."""
    oracle.status(503, path="/cart", fraction=0.2)
    finished = loadpilot.run(TALKATIVE, oracle.url, "--debug-requests", "2")
    report = finished.report
    texts = {}
    for flags in ((), ("--redact",)):
        path = tmp_path / f"run{len(flags)}.lprun"
        assert loadpilot.call("export", "last", str(path), *flags).code == 0
        with zipfile.ZipFile(path) as archive:
            texts[flags] = "".join(archive.read(one).decode() for one in archive.namelist())
    words = [f"{one}-marker" for one in MARKERS] + [oracle.url.removeprefix("http://")]
    assert [word for word in words if word not in texts[()]] == []
    assert [word for word in words if word in texts[("--redact",)]] == []
    redacted = json.loads(loadpilot.call("report", str(path), "--json").stdout)
    assert redacted["target_url"] == "http://redacted.invalid"
    for same in ("arrivals", "calls", "latency", "rates", "certificate"):
        assert redacted[same] == report[same], same
    assert redacted["run"]["plan_hash"] == report["run"]["plan_hash"]
    assert loadpilot.call("verify", str(path)).code == 0


SEED = "SUAELDCCD5VTBRODPLUYC5Q6KYWKKU35EAPPUZHRMMPQFI6RFKDHTKXDU4"
KEY = "UDKXPNMALIMNYY34LHUNLLGNPRGG3ZBBZ72E6B4JBVPGP7YF5S2TQCYV"
OTHER_KEY = "UDNXC2FXHP6TGHPHATA7FQIWEB2CWVNNDIFDSOUUJG3C44LMIQENJOUC"
"""Keys made with OpenSSL for this test, in the form of NATS."""


@pytest.mark.slow
def test_a_signature_is_checked(
    exported: tuple[str, Path], loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if an unsigned file, or one signed with another key, passes as signed. 5 s."""
    _, unsigned = exported
    seed = tmp_path / "seed"
    seed.write_text(f"{SEED}\n", encoding="utf-8")
    signed = tmp_path / "signed.lprun"
    assert loadpilot.call("export", "last", str(signed), "--sign", str(seed)).code == 0
    for path, named, code in [(signed, KEY, 0), (signed, OTHER_KEY, 3), (unsigned, KEY, 3)]:
        verified = loadpilot.call("verify", str(path), "--key", named)
        assert verified.code == code, verified.stdout
        holds = json.loads(loadpilot.call("verify", str(path), "--key", named, "--json").stdout)
        assert holds["holds"] == (code == 0)
    assert loadpilot.call("verify", "last", "--key", KEY).code == 2
    wrong = loadpilot.call("verify", str(signed), "--key", "xx")
    assert (wrong.code, "must be a public nkey" in wrong.stderr) == (2, True), wrong.stderr
    seed.write_text("SUAnone", encoding="utf-8")
    refused = loadpilot.call("export", "last", str(signed), "--sign", str(seed))
    assert (refused.code, "SUAnone" in refused.stderr) == (2, False), refused.stderr
