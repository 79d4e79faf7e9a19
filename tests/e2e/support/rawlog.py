"""The log of a directory, read without the product: a separate nats-server serves a copy of the
store, nats-py reads it, and this module decodes the histograms.

It uses no code of the product: where both agree, the format is as documented.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.js import JetStreamContext

NATS_SERVER = Path(sys.executable).with_name("nats-server")
READY = b"Server is ready"
LISTENING = b"Listening for client connections on 127.0.0.1:"
COMPRESSED_COOKIE = 0x1C849304
COOKIE = 0x1C849303
COOKIE_BYTES = 8
HEADER_BYTES = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored message."""

    stream: str
    seq: int
    subject: str
    event: dict[str, Any]

    @property
    def kind(self) -> str:
        """Kind of the message, from its subject: req, ctl, evt or delta."""
        return self.subject.split(".")[4]

    @property
    def writer(self) -> tuple[str, str]:
        """The writer of the message: the agent in the subject and the boot in the payload."""
        return self.subject.split(".")[5], self.event["boot_id"]


def read(log: Path, folder: Path) -> list[Entry]:
    """All messages in the two streams of a log, in the order of each stream."""
    with served(log, folder) as url:
        return read_from(url)


def read_from(url: str) -> list[Entry]:
    """The same, from a server that runs."""
    return asyncio.run(_read(url))


def objects(log: Path, folder: Path) -> dict[str, bytes]:
    """The content of every object in a log's object store, by name."""
    with served(log, folder) as url:
        return asyncio.run(_objects(url))


@contextmanager
def served(log: Path, folder: Path) -> Iterator[str]:
    """Starts a server on a copy of a log; yields its address."""
    folder.mkdir(exist_ok=True)
    store = folder / "store"
    shutil.copytree(log / "store", store)
    config = folder / "server.conf"
    config.write_text(
        f'listen: "127.0.0.1:-1"\njetstream {{ store_dir: "{store}", max_file: 8G }}\n',
        encoding="utf-8",
    )
    with subprocess.Popen([NATS_SERVER, "-c", config], stderr=subprocess.PIPE) as server:
        try:
            assert server.stderr is not None
            yield f"nats://127.0.0.1:{_port(server.stderr)}"
        finally:
            server.kill()


def _port(lines: Any) -> int:
    port = 0
    for line in lines:
        if LISTENING in line:
            port = int(line.rpartition(b":")[2])
        if READY in line:
            return port
    raise AssertionError("nats-server did not start")


async def _read(url: str) -> list[Entry]:
    connection = await nats.connect(url)
    try:
        jetstream = connection.jetstream()
        return [entry for name in ("LP_CTL", "LP_DATA") for entry in await _of(jetstream, name)]
    finally:
        await connection.close()


async def _objects(url: str) -> dict[str, bytes]:
    connection = await nats.connect(url)
    try:
        jetstream = connection.jetstream()
        if (await jetstream.stream_info("OBJ_LP")).state.messages == 0:
            return {}
        store = await jetstream.object_store("LP")
        names = [str(found.name) for found in await store.list()]
        return {name: (await store.get(name)).data or b"" for name in names}
    finally:
        await connection.close()


def has_strides(event: dict[str, Any]) -> bool:
    """Whether a decision stores strides of shards."""
    pieces = [piece for holding in event.get("holdings", ()) for piece in holding["shards"]]
    return not all(isinstance(piece, int) for piece in pieces)


def _version(event: dict[str, Any]) -> int:
    """The expected version: 2 for assignments with strides of shards, 3 for a run whose plan is in
    its request, otherwise 1."""
    if event.get("type") == "RunCreated":
        return 1 if "plan" in event else 3
    return 2 if has_strides(event) else 1


async def _of(jetstream: JetStreamContext, stream: str) -> list[Entry]:
    state = (await jetstream.stream_info(stream)).state
    entries: list[Entry] = []
    for seq in range(max(state.first_seq, 1), state.last_seq + 1):  # an empty stream has 0 and 0
        message = await jetstream.get_msg(stream, seq)
        assert message.data is not None
        assert message.subject is not None
        envelope = json.loads(message.data)
        assert envelope["v"] == _version(envelope["event"])
        entries.append(Entry(stream, seq, message.subject, envelope["event"]))
    return entries


@dataclass(frozen=True, slots=True)
class Histogram:
    """An HdrHistogram: the number of values at each index."""

    counts: Counter[int]
    half_bits: int
    unit_bits: int

    @property
    def total(self) -> int:
        return self.counts.total()

    def percentile(self, percent: float) -> int:
        """The greatest value of the bucket that contains the value at this rank."""
        rank = max(1, -(-percent * self.total // 100))
        for index in sorted(self.counts):
            rank -= self.counts[index]
            if rank <= 0:
                return self._highest(index)
        raise AssertionError("an empty histogram has no percentiles")

    def _highest(self, index: int) -> int:
        half = 1 << self.half_bits
        bucket, sub = (index >> self.half_bits) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub = 0, sub - half
        shift = bucket + self.unit_bits
        return (sub << shift) + (1 << shift) - 1


def decoded(text: str) -> Histogram:
    """Reads V2 deflate (encodeIntoCompressedByteBuffer in HdrHistogram's own Java)."""
    compressed = base64.b64decode(text)
    assert int.from_bytes(compressed[:4]) == COMPRESSED_COOKIE | 0x10
    plain = zlib.decompress(compressed[COOKIE_BYTES:])
    assert int.from_bytes(plain[:4]) == COOKIE | 0x10
    digits, lowest = int.from_bytes(plain[12:16]), int.from_bytes(plain[16:24])
    counts: Counter[int] = Counter()
    index = 0
    for number in _zigzag(plain[HEADER_BYTES:]):
        if number > 0:
            counts[index] = number
        index += max(1, -number)
    half_bits = (2 * 10**digits - 1).bit_length() - 1
    return Histogram(counts, half_bits, lowest.bit_length() - 1)


def _zigzag(data: bytes) -> Iterator[int]:
    """Zigzag LEB128 of at most nine bytes, of which the ninth is whole."""
    value = shift = 0
    for byte in data:
        whole = shift == 56
        value |= (byte if whole else byte & 0x7F) << shift
        shift += 7
        if whole or byte < 0x80:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0


def merged(histograms: list[Histogram]) -> Histogram:
    """The sum of histograms of one shape."""
    (shape,) = {(one.half_bits, one.unit_bits) for one in histograms}
    return Histogram(sum((one.counts for one in histograms), Counter()), *shape)
