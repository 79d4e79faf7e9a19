"""The stored log: every message of the two streams, whether it can be parsed or not.

It is read with nats-py, from a server that runs or from the store of one that has ended. Must never
judge what it reads.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import nats
from nats.js.errors import NotFoundError
from tests.e2e.support.rawlog import served
from tests.faults.support.checker import VERSION, Message

if TYPE_CHECKING:
    from pathlib import Path

    from nats.js import JetStreamContext

STREAMS = ("LP_CTL", "LP_DATA")


def of_store(log: Path, folder: Path) -> list[Message]:
    """All messages in the store of a server that has ended (`log/store`)."""
    with served(log, folder) as url:
        return of_server(url)


def of_server(url: str | list[str], token: str | None = None) -> list[Message]:
    """All messages of a server that runs."""
    return asyncio.run(_read(url, token))


def of_run(messages: list[Message], run: str) -> list[Message]:
    """The messages of one run."""
    return [one for one in messages if one.subject.split(".")[3] == run]


async def _read(url: str | list[str], token: str | None) -> list[Message]:
    connection = await nats.connect(url, token=token)
    try:
        jetstream = connection.jetstream()
        return [one for name in STREAMS for one in await _stream(jetstream, name)]
    finally:
        await connection.close()


async def _stream(jetstream: JetStreamContext, stream: str) -> list[Message]:
    state = (await jetstream.stream_info(stream)).state
    found: list[Message] = []
    for seq in range(state.first_seq, state.last_seq + 1):
        try:
            message = await jetstream.get_msg(stream, seq)
        except NotFoundError:
            continue  # purged
        assert message.subject is not None
        found.append(Message(stream, seq, message.subject, _event(message.data or b"")))
    return found


def _event(data: bytes) -> dict[str, Any] | None:
    try:
        envelope = json.loads(data)
        if envelope["v"] > VERSION or not isinstance(envelope["event"], dict):
            return None
        event: dict[str, Any] = envelope["event"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return event
