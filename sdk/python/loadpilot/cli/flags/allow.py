"""What a run may connect to beside public, loopback and private addresses: ``--allow-target``.

Judged are the addresses and sockets that a plan names; names are judged by each agent when it has
resolved them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ... import _native
from ...problem import Problem, Refused, rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...compile.plan import Compiled

VARIABLE = "LOADPILOT_ALLOW_TARGET"
"""Says what is open where no flag does, by commas."""


def allowed(flags: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Give what is open: what the flags say, else what the environment says."""
    return tuple(flags) or tuple(environ.get(VARIABLE, "").replace(",", " ").split())


def check(compiled: Compiled, opened: Sequence[str], target: str) -> None:
    """Refuse a plan that names an address or socket which is closed; ``target`` says where."""
    try:
        found = json.loads(_native.check_target(compiled.plan_json(), list(opened)))
    except _native.Refused as refused:
        wrong = json.loads(refused.problems)
        raise Refused([rule(one["field"], one["rule"], one["value"]) for one in wrong]) from None
    places = {"target": target, "connections.connect_to": "connect_to"}
    if found:
        raise Refused(
            [
                Problem(places[one["field"]], f"{one['rule']} (got {one['value']!r})")
                for one in found
            ]
        )


def words(opened: Sequence[str]) -> list[str]:
    """Put it as the flags of agents and coordinators."""
    return [word for one in opened for word in ("--allow-target", one)]
