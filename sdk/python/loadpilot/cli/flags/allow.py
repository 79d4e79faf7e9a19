"""Targets beside public, loopback and private addresses that a run may use: ``--allow-target``.

Here the addresses and sockets that a plan names are checked; each agent checks the names that it
resolves.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ... import _native
from ...problem import Problem, Refused, rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...compile.plan import Compiled


def check(compiled: Compiled, opened: Sequence[str], target: str) -> None:
    """Refuse a plan with a closed address or socket; ``target`` is the place of the target."""
    try:
        found = json.loads(_native.check_target(compiled.plan_json(), list(opened)))
    except _native.Refused as refused:
        wrong = json.loads(refused.problems)
        raise Refused([rule(one["field"], one["rule"], one["value"]) for one in wrong]) from None
    places = {"target": target}
    places |= {f"connections.{name}": name for name in ("connect_to", "proxy")}
    places["connections.redirect_origins"] = "redirect_to"
    problems = []
    for one in found:
        field, _, _ = one["field"].partition("[")
        what = f"{one['rule']} (got {one['value']!r})"
        problems.append(Problem(places.get(field, target), what))
    if problems:
        raise Refused(problems)


def proxy_arguments(plan: Mapping[str, Any]) -> list[str]:
    """Write the argument of local agents for a plan with a proxy, which the user requested."""
    return ["--allow-proxy"] if "proxy" in plan.get("connections", {}) else []


def arguments(opened: Sequence[str]) -> list[str]:
    """Write the open targets as arguments of agents and coordinators."""
    return [word for target in opened for word in ("--allow-target", target)]
