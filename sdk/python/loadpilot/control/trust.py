"""Whether this command may execute the files of a scenario that a log names.

It may execute files that this user submitted from this machine, with the plan of that time; others
only when the user types their hash. Must never load a file to find out.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

from .. import _native
from ..local import submitted
from .terminal import safe, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..problem import Problem

HASH = re.compile(r"[0-9a-f]{64}")
FLAG = "--trust"
NAMES_MAX = 20
"""Maximum number of file names in a message."""


class Untrusted(Exception):
    """The files were not submitted by this user from this machine; the message lists them."""


def problems(trusted: str | None) -> list[Problem]:
    """List the problems of the hash in the flag."""
    from ..problem import rule  # noqa: PLC0415  (start-up is a promise)

    if trusted is None or HASH.fullmatch(trusted):
        return []
    return [rule(FLAG, "must be the hash of a bundle, 64 characters of 0-9 a-f", trusted)]


def record_submission(bundle: str, plan_json: str) -> None:
    """Record the files that this command submits; otherwise they need ``--trust`` later."""
    try:
        submitted.record(bundle, _plan_hash(plan_json))
    except (OSError, RuntimeError) as error:
        what = f"cannot be recorded here, and `loadpilot resume` will need {FLAG}"
        say(f"warning: the hash of the scenario's files {what}: {safe(str(error))}")


def check(run: str, setup: Mapping[str, Any], bundle: bytes, trusted: str | None) -> None:
    """Raise Untrusted unless the files may be executed; raises zipfile.BadZipFile."""
    found = hashlib.sha256(bundle).hexdigest()
    if trusted == found:
        return
    plan_hash = _plan_hash(json.dumps(setup["plan"], ensure_ascii=False, allow_nan=False))
    try:
        if submitted.is_recorded(found, plan_hash):
            return
    except OSError as error:
        say(f"warning: {safe(str(error))}")
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        names = [safe(name) for name in archive.namelist()]
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    raise Untrusted(
        "its files and plan were not submitted by you from this machine\n"
        f"  hash       {found}\n"
        f"  author     {safe(setup['by'])} (as the log says; not proven)\n"
        f"  files      {', '.join(names[:NAMES_MAX])}{more}\n"
        f"  target     {safe(setup['plan']['target'])}\n"
        f"`loadpilot resume {run} {FLAG} {found}` executes them here, with your rights"
    )


def _plan_hash(plan_json: str) -> str:
    facts: dict[str, Any] = json.loads(_native.plan_facts(plan_json, 0))
    return str(facts["hash"])
