"""How a streamed answer is listened to: what its tokens are, and when the client hangs up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from ..problem import shown
from ..units import duration_us

if TYPE_CHECKING:
    from collections.abc import Mapping

STREAMS = ("sse", "lines", "chunks")
"""What a token can be."""
KEYWORDS = ("stream", "tokens_max", "listen")
TOKENS_MAX = 2**32 - 1
LISTEN_US_MIN = 1_000


class StreamOptions(TypedDict, total=False):
    """What a step of a plan says of it."""

    stream: str
    tokens_max: int
    listen_us: int


def stream_options(extras: Mapping[str, Any]) -> StreamOptions:
    """Read what the keywords of a request say of it; raises ValueError, a line for each rule."""
    said = {name: extras[name] for name in KEYWORDS if name in extras}
    if not said:
        return {}
    told: StreamOptions = {}
    wrong = []
    if "stream" not in said:
        wrong.append(f"tokens_max and listen need stream=, one of {', '.join(STREAMS)}")
    elif said["stream"] in STREAMS:
        told["stream"] = said["stream"]
    else:
        wrong.append(f"stream must be one of {', '.join(STREAMS)} (got {shown(said['stream'])})")
    if "tokens_max" in said:
        told["tokens_max"] = most = said["tokens_max"]
        if not _is_whole(most) or not 1 <= most <= TOKENS_MAX:
            wrong.append(f"tokens_max must be a whole number from 1 (got {shown(most)})")
    if "listen" in said:
        told["listen_us"] = duration_us("listen", said["listen"])
        if told["listen_us"] < LISTEN_US_MIN:
            wrong.append(f"listen must be at least 1ms (got {shown(said['listen'])})")
    if wrong:
        raise ValueError("\n".join(wrong))
    return told


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
