"""``--dry-run``: the plan, its load and the data beside it; nothing is started."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from .... import _native
from ....compile.plan import row_files
from ....control.exit_code import ExitCode
from ....control.figures import closed_loop, count, number, seconds
from ....control.terminal import safe, say, write_product
from ...output.opening import execution, hook_lines, input_lines, setting_lines, type_lines

if TYPE_CHECKING:
    from ....compile.plan import Compiled
    from ...flags.options import Options


def dry_run(compiled: Compiled, options: Options, stdout: TextIO) -> ExitCode:
    """Print the plan, its load, settings, hooks and the data beside it; starts nothing."""
    facts = json.loads(_native.plan_facts(compiled.plan_json(), options.seed))
    plan = facts["canonical"]
    text = _request_json(compiled, plan) if options.as_json else plan
    write_product(f"{text}\n", stdout)
    length, users = seconds(facts["duration_us"]), facts["users"]
    if users is None:
        load_text = f"{count(facts['planned'])} arrivals in {length}, "
        load_text += f"peak {number(facts['peak_rps'])} arrivals/s"
        if facts["rows_end"] is not None:
            load_text += f"; {safe(facts['rows_end'])}"
    else:
        load_text = f"{closed_loop(compiled.plan)} for {length}"
    say(f"{load_text}, seed {options.seed}, plan {facts['hash']}")
    for line in type_lines(compiled.plan):
        say(f"  {line}")
    names = [task["name"] for task in compiled.plan["tasks"]]
    for name, planned in zip(names, facts["planned_per_task"], strict=True):
        if users is None:
            say(f"  {safe(name)}: {count(planned)}")
    _print_beside(compiled)
    settings = "".join(f"  {line}\n" for line in setting_lines(compiled))
    say(f"{settings}{execution(compiled).rstrip()}")
    for line in input_lines(compiled.plan):
        say(f"  {line}")
    if compiled.hooks is not None:
        for line in hook_lines(compiled.hooks):
            say(f"  {safe(line)}")
    for handle in compiled.secrets:
        say(f"  secret kept out of the plan: {handle}")
    say("nothing was started")
    return ExitCode.PASSED


def _print_beside(compiled: Compiled) -> None:
    """Print the bodies, bundle and rows that agents get beside the plan."""
    bundle = compiled.plan.get("script", {}).get("bundle", {}).get("sha256")
    for digest, content in compiled.bodies.items():
        what = "the files of the scenario" if digest == bundle else "body"
        say(f"  {what} kept beside the plan: {digest}, {count(len(content))} bytes")
    for name in compiled.files:
        say(f"    {safe(name)}")
    for file in row_files(compiled.plan):
        digest, size = file["content"]["sha256"], count(file["content"]["bytes"])
        say(f"  rows of {safe(file['name'])}: {digest}, {size} bytes")


def _request_json(compiled: Compiled, plan: str) -> str:
    """Write the plan with its bodies, and the hooks that only this command plays."""
    from ....control.http_teardown_ledger import encoded

    bodies = {digest: encoded(content) for digest, content in compiled.beside().items()}
    beside: dict[str, Any] = {"bodies": bodies}
    if compiled.hooks is not None:
        beside["hooks"] = hook_lines(compiled.hooks)
    return f'{{"plan":{plan},{json.dumps(beside, ensure_ascii=False)[1:]}'
