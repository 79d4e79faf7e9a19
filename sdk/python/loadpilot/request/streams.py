"""Options of streamed responses: what counts as a token, and when the client hangs up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from ..inputs.units import duration_us
from ..problem import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

STREAMS = ("sse", "lines", "chunks")
"""Kinds of tokens."""
KEYWORDS = ("stream", "tokens_max", "listen")
TOKENS_MAX = 2**32 - 1
LISTEN_US_MIN = 1_000


class StreamOptions(TypedDict, total=False):
    """The stream options of a step in the plan."""

    stream: str
    tokens_max: int
    listen_us: int


def stream_options(extras: Mapping[str, Any]) -> StreamOptions:
    """Read the stream options of a request; raises ValueError with a line for each broken rule."""
    given = {name: extras[name] for name in KEYWORDS if name in extras}
    if not given:
        return {}
    options: StreamOptions = {}
    broken = []
    if "stream" not in given:
        broken.append(f"tokens_max and listen need stream=, one of {', '.join(STREAMS)}")
    elif given["stream"] in STREAMS:
        options["stream"] = given["stream"]
    else:
        broken.append(f"stream must be one of {', '.join(STREAMS)} (got {shown(given['stream'])})")
    if "tokens_max" in given:
        options["tokens_max"] = most = given["tokens_max"]
        is_whole = isinstance(most, int) and not isinstance(most, bool)
        if not is_whole or not 1 <= most <= TOKENS_MAX:
            broken.append(f"tokens_max must be a whole number from 1 (got {shown(most)})")
    if "listen" in given:
        options["listen_us"] = duration_us("listen", given["listen"])
        if options["listen_us"] < LISTEN_US_MIN:
            broken.append(f"listen must be at least 1ms (got {shown(given['listen'])})")
    if broken:
        raise ValueError("\n".join(broken))
    return options
