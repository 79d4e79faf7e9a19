"""The index of a long run: answers are the same with it, without it, and with a damaged one."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench.single.synthetic_log import Stored, stretched
from tests.e2e.support.command import UNTRUSTED

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import LoadClient, VUser, metrics, scenario, task

@scenario(rps=20, duration="4s", mode="constant")
class Long(VUser):
    @task(weight=3)
    def get(self, client: LoadClient) -> None:
        client.get("/get")
        metrics.trend("size").add(7)

    @task(weight=1)
    def fail(self, client: LoadClient) -> None:
        client.get("/status/500")
"""
SECS = 600
"""Length of the run: an index is written from 256 deltas on."""
OTHER_SECS = 400
QUESTIONS = (
    ("report", "--json"),
    ("verdict", "--threshold", "p99_ms=60000", "--threshold", "error_rate=0.99", "--to", "5m"),
    ("dump", "--format", "ndjson", "--by", "task", "--every", "10s"),
)
MAGIC_BYTES = 20
"""Length of the first line of an index, with the version of its layout."""


@pytest.fixture
def long_run(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> str:
    """The file of a run of ten minutes, made of one of four seconds."""
    recorded = loadpilot.run(SCENE, oracle.url)
    assert recorded.code in (0, 1, 3), recorded.stderr
    short = tmp_path / "short.lprun"
    assert loadpilot.call("export", "last", str(short)).code == 0
    long = tmp_path / "long.lprun"
    stretch(short, long, SECS)
    return str(long)


def stretch(short: Path, long: Path, secs: int) -> None:
    """Make a run file of the same run, stretched to a number of seconds."""
    with zipfile.ZipFile(short) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        names = [one["name"] for one in manifest["members"] if "records" in one]
        lines = [json.loads(line) for name in names for line in archive.read(name).splitlines()]
    messages = [Stored(one["subject"], one["event"]) for one in lines]
    write(long, manifest, list(stretched(messages, secs)))


def write(path: Path, manifest: dict[str, Any], messages: list[Stored]) -> None:
    """Write a run file in its documented format."""
    members = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for stream in ("ctl", "data"):
            of = [one for one in messages if (one.kind == "delta") == (stream == "data")]
            lines = [
                json.dumps({"seq": seq, "at_us": 0, "subject": one.subject, "event": one.envelope})
                for seq, one in enumerate(of, 1)
            ]
            content = "".join(f"{line}\n" for line in lines).encode()
            name = f"{stream}-00001.ndjson"
            archive.writestr(name, content)
            records = {"stream": stream, "count": len(of), "first_seq": 1, "last_seq": len(of)}
            digest = hashlib.sha256(content).hexdigest()
            members.append(
                {"name": name, "bytes": len(content), "sha256": digest, "records": records}
            )
        archive.writestr("manifest.json", json.dumps(manifest | {"members": members}))
        archive.comment = b"sha256:" + b"0" * 64
    whole = path.read_bytes()[:-64]
    path.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode())


def answers(loadpilot: Loadpilot, file: str) -> list[tuple[int, str]]:
    """Exit codes and outputs of commands about the run: one needs the fold, the others the index. A
    verdict on a log that a busy machine made INVALID ends with 3."""
    said = []
    for command, *flags in QUESTIONS:
        answer = loadpilot.call(command, file, *flags)
        assert answer.code in ({0, UNTRUSTED} if command == "verdict" else {0}), answer.stderr
        said.append((answer.code, answer.stdout))
    return said


@pytest.mark.slow
def test_an_index_changes_no_answer(long_run: str, loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if an index changes a byte of an answer or makes a command fail. The index is whole,
    damaged, or of another version or run."""
    first = loadpilot.call("report", long_run, "--json").stdout
    (index,) = (loadpilot.log / "cache").glob("*/*.reading")
    whole = index.read_bytes()
    index.unlink()
    expected = answers(loadpilot, long_run)
    assert expected[0] == (0, first)
    assert answers(loadpilot, long_run) == expected, "the index changes an answer"
    damaged = {f"byte {at}": flipped(whole, at) for at in (40, len(whole) // 2, len(whole) - 1)}
    damaged["half of it"] = whole[: len(whole) // 2]
    damaged["another version"] = flipped(whole, MAGIC_BYTES - 2)
    other = tmp_path / "other.lprun"
    stretch(Path(long_run), other, OTHER_SECS)
    loadpilot.call("report", str(other))
    damaged["another run"] = index.read_bytes()
    assert damaged["another run"] != whole
    for what, content in damaged.items():
        index.write_bytes(content)
        assert answers(loadpilot, long_run) == expected, what
        assert index.read_bytes() == whole, f"{what}: the index is not written again"


@pytest.mark.slow
def test_a_damaged_run_is_never_read_from_its_index(long_run: str, loadpilot: Loadpilot) -> None:
    """Broken if an index hides that its log is damaged, or verify trusts it."""
    report = json.loads(loadpilot.call("report", long_run, "--json").stdout)
    verified = json.loads(loadpilot.call("verify", long_run, "--json").stdout)
    assert verified["holds"], verified
    assert verified["digest"] == report["digest"]
    file = Path(long_run)
    whole = file.read_bytes()
    for content in (flipped(whole, len(whole) // 2), whole[: len(whole) // 2]):
        file.write_bytes(content)
        for command in ("report", "verify"):
            refused = loadpilot.call(command, long_run, "--json")
            assert (refused.code, refused.stdout) == (2, ""), refused.stderr


def flipped(content: bytes, at: int) -> bytes:
    """The content with one flipped bit."""
    return content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :]
