"""The opening of a run: scenario and target, load, duration, number of agents.

A pure function from plan and flags to text. Further details need ``-v``, except unusual settings:
a run over unverified TLS must not open like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _native
from ...compile.scenario.profile import duration_us, peak_urps
from ...control.figures import (
    closed_loop,
    count,
    number,
    percent,
    plural,
    seconds,
    user_times,
)
from ...control.terminal import safe
from ..configuration.sources import current
from ..flags.target import FLAG as TARGET_FLAG
from .plan_summary import connections_text, pairs

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
    named = "" if place == TARGET_FLAG and not options.verbose else f" ({place})"
    yield f"LoadPilot  {safe(plan['scenario'])} → {safe(plan['target'])}{named}"
    yield f"  load       {_load(compiled)}"
    total = seconds(duration_us(profile))
    warm_up = f", of which warm-up {seconds(plan['warm_up_us'])}" if plan["warm_up_us"] else ""
    yield from (f"  {line}" for line in type_lines(plan))
    yield f"  duration   {total}{warm_up}{_ends(plan)}"
    yield f"  on         {agents_text(options)}"
    words = connections_text(plan.get("connections", {}))
    if words:
        yield f"  connections {words}"
    yield from (f"  {line}" for line in input_lines(plan))
    if options.verbose:
        yield from (f"  {line}" for line in setting_lines(compiled))
        yield execution(compiled).rstrip("\n")
        yield f"             {_off(plan)}"
        yield f"  seed       {options.seed}"
    else:
        yield f"  execution  {_execution(plan)}"


def _off(plan: Mapping[str, Any]) -> str:
    """Write what calls never do: retry, and follow redirects unless the plan allows that."""
    looks_at_answers = "script" in plan or "code" in plan
    may_redirect = looks_at_answers or "redirects_max" in plan.get("connections", {})
    return "retries are off" if may_redirect else "redirects and retries are off"


def setting_lines(compiled: Compiled) -> Iterator[str]:
    """Write each value that is not a default with its source, a line each; options come first."""
    head = "settings   "
    for line in current().lines(compiled.settings):
        yield f"{head}{line}"
        head = " " * len(head)


def _ends(plan: Mapping[str, Any]) -> str:
    """Write which feeds may end the run before."""
    feeds = plan.get("script", plan.get("code", {})).get("feeds", [])
    names = [f"feed {safe(feed['name'])}" for feed in feeds if feed.get("stops")]
    return f", or until {' or '.join(names)} has no row left" if names else ""


def _execution(plan: Mapping[str, Any]) -> str:
    """Write in one line whether Python runs under load."""
    if "script" in plan:
        users = plural(plan["script"]["users"], "user")
        return f"Python: {users}, each with one arrival at a time (why: -v)"
    if "code" in plan:
        users = plural(plan["code"]["users"], "user")
        return f"compiled: {users}, and no Python runs under load"
    return "static: every task is compiled, no Python runs under load"


def _load(compiled: Compiled) -> str:
    """Write the planned load."""
    plan, profile = compiled.plan, compiled.plan["profile"]
    if "users" in plan:
        unused = compiled.replaced
        instead = f"; not used: {', '.join(unused)}" if unused else ""
        return f"{closed_loop(plan)}{instead}"
    peak = peak_urps(profile) / 1e6
    poisson = ", at random times (poisson)" if plan["arrivals"] == "poisson" else ""
    rate = f"{number(peak)} arrivals/s"
    shape = _shape(profile, compiled.ramp_cut_from_us)
    return f"{rate} at the peak, {shape}{poisson}" if shape else f"{rate}{poisson}"


def _shape(profile: Mapping[str, Any], cut_from_us: int | None) -> str:
    if "curve" in profile:
        return f"replay of {seconds(profile['curve']['duration_us'])}, second by second"
    pieces = profile["pieces"]
    if pieces[0]["from"] == pieces[0]["to"] == 0 and len(pieces) > 1:
        rest = _shape({**profile, "pieces": pieces[1:]}, cut_from_us)
        idle = f"idle for {seconds(pieces[0]['duration_us'])} first"
        return f"{idle}, {rest}" if rest else idle
    if profile["shape"] == "ramp":
        if len(pieces) == 1:
            return ""
        cut = f" (not {seconds(cut_from_us)}: as long as the duration)" if cut_from_us else ""
        return f"ramp, {seconds(pieces[0]['duration_us'])} up from 0{cut}"
    if profile["shape"] == "constant":
        return ""
    return f"{profile['shape']}, {plural(len(pieces), 'piece')}"


def agents_text(options: Options) -> str:
    """Write the number of agents and where they run."""
    local, agents, fleet = options.local_agents, options.agents, options.fleet
    if local == agents.want:
        build = ", development build" if _native.DEVELOPMENT_BUILD else ""
        return f"{plural(local, 'agent')}{build}"
    least = f", at least {agents.least} after {seconds(agents.wait_us)}"
    needs = f" with {' and '.join(agents.needs)}" if agents.needs else ""
    if fleet is None:
        text = f"{plural(local, 'agent')} here and {agents.want - local} of other machines{needs}"
    else:
        text = f"{plural(agents.want, 'agent')}{needs} of the fleet at {safe(fleet.server.place)}"
    return text + (least if agents.least < agents.want else "")


def type_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Write the user types of a mix with their shares and the times of their users, a line each."""
    types = plan.get("types", [])
    if plan.get("paired"):
        yield from _side_lines(plan)
        return
    shares = sum(one["share"] for one in types)
    head = "types      "
    for one in types:
        share = percent(one["share"] * 100 / shares)
        yield f"{head}{safe(one['name'])} {share}{user_times(one)}"
        head = " " * len(head)


def _side_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Write the two targets that are compared, a line each."""
    targets = [plan["target"], *plan["connections"]["other_targets"]]
    head = "compares   "
    for one, target in zip(plan["types"], targets, strict=True):
        half = f"half of the load{user_times(one)}"
        yield f"{head}{safe(one['name'])} {safe(target)}, {half}"
        head = " " * len(head)


def input_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Write the parameters, feeds and tags of a plan, a line each."""
    parameters, tags = plan.get("parameters", {}), plan.get("tags", {})
    feeds = plan.get("script", {}).get("feeds", [])
    if "requests" in plan:
        calls = plural(len(plan["tasks"][0]["steps"]), "call")
        yield f"requests   {count(plan['requests']['rows']['rows'])} in turn, reported as {calls}"
    if parameters:
        yield f"parameters {pairs(parameters)}"
    if feeds:
        rows = ((safe(feed["name"]), feed["rows"]) for feed in feeds)
        texts = (f"{name}, {plural(number_of_rows, 'row')}" for name, number_of_rows in rows)
        yield f"feeds      {'; '.join(texts)}"
    if tags:
        yield f"tags       {pairs(tags)}"


def execution(compiled: Compiled) -> str:
    """Write whether Python runs under load, and why, as lines."""
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


def hook_lines(hooks: SubmitterHooks) -> list[str]:
    """Write which hooks this command plays, when and why, a line each."""
    lines = [f"{hook.place}: {hook.name}() runs once, before the users" for hook in hooks.setups]
    if hooks.start is not None:
        because = f": {hooks.why.what}" if hooks.why is not None else ""
        place = hooks.start.place if hooks.why is None else hooks.why.place
        lines.append(f"{place}: users are prepared once, on this side{because}")
    over = "runs once, when the run is over"
    return lines + [f"{hook.place}: {hook.name}() {over}" for hook in hooks.teardowns]
