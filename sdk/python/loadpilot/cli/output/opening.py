"""The opening of a run: what runs where, how much load, for how long, on how many agents.

A pure function from plan and flags to text. Whatever else there is to say is for ``-v``, but for
what is not as usual: a run over unverified TLS must not open like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...control.figures import closed_loop, count, number, plural, seconds
from ...control.terminal import safe
from .plan_summary import pairs, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...compile.plan import Compiled
    from ...compile.scenario.hooks import SubmitterHooks
    from ..flags.options import Options


def opening(compiled: Compiled, options: Options) -> str:
    """Write the opening, without a line break at its end."""
    return "\n".join(_lines(compiled, options))


def _lines(compiled: Compiled, options: Options) -> Iterator[str]:
    plan, profile = compiled.plan, compiled.plan["profile"]
    place = options.target.place
    named = "" if place == "--target" and not options.verbose else f" ({place})"
    yield f"LoadPilot  {safe(plan['scenario'])} → {safe(plan['target'])}{named}"
    yield f"  load       {_load(compiled)}"
    total = seconds(sum(piece["duration_us"] for piece in profile["pieces"]))
    warm_up = f", of which warm-up {seconds(plan['warm_up_us'])}" if plan["warm_up_us"] else ""
    yield f"  duration   {total}{warm_up}"
    yield f"  on         {_agents(options)}"
    words = spoken(plan.get("connections", {}))
    if words:
        yield f"  connections {words}"
    yield from (f"  {line}" for line in given_lines(plan))
    if options.verbose:
        yield execution(compiled).rstrip("\n")
        yield "             redirects and retries are off"
        yield f"  seed       {options.seed}"
    else:
        yield f"  execution  {_execution(plan)}"


def _execution(plan: Mapping[str, Any]) -> str:
    """Say in a line whether Python runs under load."""
    if "script" in plan:
        users = plural(plan["script"]["users"], "user")
        return f"Python: {users}, each with one arrival at a time (why: -v)"
    if "code" in plan:
        users = plural(plan["code"]["users"], "user")
        return f"compiled: {users}, and no Python runs under load"
    return "static: every task is compiled, no Python runs under load"


def _load(compiled: Compiled) -> str:
    """Say how much load there will be."""
    plan, profile = compiled.plan, compiled.plan["profile"]
    if "users" in plan:
        put_aside = compiled.replaced
        instead = f"; not used: {', '.join(put_aside)}" if put_aside else ""
        return f"{closed_loop(plan['users'], plan.get('rest'))}{instead}"
    peak = max(max(piece["from"], piece["to"]) for piece in profile["pieces"]) / 1e6
    poisson = ", at random times (poisson)" if plan["arrivals"] == "poisson" else ""
    rate = f"{number(peak)} arrivals/s"
    shape = _shape(profile, compiled.ramp_cut_from_us)
    return f"{rate} at the peak, {shape}{poisson}" if shape else f"{rate}{poisson}"


def _shape(profile: Mapping[str, Any], cut_from_us: int | None) -> str:
    pieces = profile["pieces"]
    if profile["shape"] == "ramp":
        if len(pieces) == 1:
            return ""
        cut = f" (not {seconds(cut_from_us)}: as long as the duration)" if cut_from_us else ""
        return f"ramp, {seconds(pieces[0]['duration_us'])} up from 0{cut}"
    if profile["shape"] == "constant":
        return ""
    return f"{profile['shape']}, {plural(len(pieces), 'piece')}"


def _agents(options: Options) -> str:
    """Say how many agents there are to be, and whose."""
    here, crew, fleet = options.here, options.crew, options.fleet
    if here == crew.want:
        return plural(here, "agent")
    least = f", at least {crew.least} after {seconds(crew.wait_us)}"
    needs = f" with {' and '.join(crew.needs)}" if crew.needs else ""
    if fleet is None:
        told = f"{plural(here, 'agent')} here and {crew.want - here} of other machines{needs}"
    else:
        told = f"{plural(crew.want, 'agent')}{needs} of the fleet at {safe(fleet.server.place)}"
    return told + (least if crew.least < crew.want else "")


def given_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Say what a plan was given, its feeds and its tags, a line each."""
    parameters, tags = plan.get("parameters", {}), plan.get("tags", {})
    feeds = plan.get("script", {}).get("feeds", [])
    if parameters:
        yield f"parameters {pairs(parameters)}"
    if feeds:
        rows = ((safe(feed["name"]), feed["rows"]) for feed in feeds)
        told = (f"{name}, {plural(of, 'row')}" for name, of in rows)
        yield f"feeds      {'; '.join(told)}"
    if tags:
        yield f"tags       {pairs(tags)}"


def execution(compiled: Compiled) -> str:
    """Say whether Python runs under load, and why, in whole lines."""
    script, code = compiled.plan.get("script"), compiled.plan.get("code")
    if code is not None:
        users = code["users"]
        return (
            f"  execution  compiled: {plural(users, 'user')}, "
            f"each with one arrival at a time;\n"
            f"             their tasks look at answers, and no Python runs under load;\n"
        )
    if script is None:
        return "  execution  static: every task is compiled, no Python runs under load;\n"
    users = script["users"]
    why = compiled.reasons[0]
    more = len(compiled.reasons) - 1
    others = f", and for {count(more)} more reasons (loadpilot explain)" if more else ""
    return (
        f"  execution  Python: {plural(users, 'user')}, "
        f"each with one arrival at a time;\n"
        f"             {safe(str(why))}{others};\n"
    )


def on_this_side(aside: SubmitterHooks) -> list[str]:
    """Say what is played on this side and when, and why, a line each."""
    told = [f"{hook.place}: {hook.name}() runs once, before the users" for hook in aside.setups]
    if aside.start is not None:
        because = f": {aside.why.what}" if aside.why is not None else ""
        place = aside.start.place if aside.why is None else aside.why.place
        told.append(f"{place}: users are prepared once, on this side{because}")
    over = "runs once, when the run is over"
    return told + [f"{hook.place}: {hook.name}() {over}" for hook in aside.teardowns]
