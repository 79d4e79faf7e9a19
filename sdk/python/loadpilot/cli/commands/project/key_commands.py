"""``loadpilot keys init|create|list|revoke``: keys of the callers of a gateway.

Must never print a key a second time, nor a part of its secret.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.terminal import safe, say, write_product
from ....inputs.units import Wrong, duration_us
from ....local.keys.key import NAME, NAME_RULE, TENANT, TENANT_RULE, Key, Role, new_key, written
from ....local.keys.key_file import changing, create_file, read_keys
from ....problem import Problem, Refused, nearest, one_of, rule
from ...output.refusal import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY_S = 86_400
EXPIRES_MAX_S = 3650 * DAY_S
NEVER = "never"
EXPIRES_RULE = "must be a duration of 1s to 3650d such as 90d or 12h, or never"


def init(file: str | None, name: str, tenant: str, expires: str) -> ExitCode:
    """Create the file with a first key, of role admin, and print that key."""
    with refusing() as outcome:
        key, text = checked_key(name, tenant, Role.ADMIN, expires, path_problems(file))
        create_file(Path(file or ""), [key])
        show(key, text)
    return outcome[-1]


def create(file: str | None, name: str | None, tenant: str, role: str, expires: str) -> ExitCode:
    """Add a key to the file, and print it."""
    with refusing() as outcome:
        problems = path_problems(file)
        if name is None:
            problems.append(Problem("--name", "must be given: it is the author of requests"))
        if role not in list(Role):
            problems.append(one_of("--role", list(Role), role))
        as_role = Role(role) if role in list(Role) else Role.VIEWER
        key, text = checked_key(
            "absent" if name is None else name, tenant, as_role, expires, problems
        )
        with changing(Path(file or "")) as keys:
            for one in keys:
                is_same = (one.name, one.tenant) == (key.name, key.tenant)
                if is_same and one.state(key.created) == "valid":
                    must = f"must be new in tenant {tenant}; the valid key {one.id} has it"
                    raise Refused([rule("--name", must, name)])
            keys.append(key)
        show(key, text)
    return outcome[-1]


def list_keys(file: str | None, *, as_json: bool) -> ExitCode:
    """Print all keys of the file, without hashes."""
    with refusing() as outcome:
        checked(path_problems(file))
        keys, now = read_keys(Path(file or "")), time()
        if as_json:
            rows = [row_of(one, now) for one in keys]
            write_product(json.dumps({"keys": rows}, indent=2, ensure_ascii=False) + "\n")
        else:
            write_product("".join(f"{line}\n" for line in table(keys, now)))
    return outcome[-1]


def revoke(wanted: str, file: str | None) -> ExitCode:
    """Revoke a key by id or name; the gateway refuses it from its next request on."""
    with refusing() as outcome:
        checked(path_problems(file))
        with changing(Path(file or "")) as keys:
            at = place_of(wanted, keys)
            since = keys[at].revoked
            if since is None:
                keys[at] = replace(keys[at], revoked=int(time()))
            done = keys[at]
        key = f"{done.id} ({safe(done.name)}, tenant {done.tenant})"
        if since is None:
            say(f"revoked {key}")
        else:
            say(f"{key} is revoked since {written(since)}")
    return outcome[-1]


def place_of(wanted: str, keys: list[Key]) -> int:
    """Find a key by its id, or by the name of exactly one key that is not revoked.

    Without one, the name is that of the key that was revoked last. Raises Refused.
    """
    found = [at for at, one in enumerate(keys) if one.id == wanted]
    named = [at for at, one in enumerate(keys) if one.name == wanted]
    found = found or [at for at in named if keys[at].revoked is None]
    found = found or sorted(named, key=lambda at: keys[at].revoked or 0)[-1:]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(keys[at].id for at in found)
        raise Refused([rule("KEY", f"must be one key; {ids} have that name", wanted)])
    near = nearest(wanted, [name for one in keys for name in (one.id, one.name)])
    hint = f"; did you mean {near}?" if near else "; `loadpilot keys list` shows them"
    raise Refused([rule("KEY", f"must be the id or name of a key{hint}", shown_name(wanted))])


def shown_name(wanted: str) -> str:
    """Quote an argument, but not a whole key that was given by mistake."""
    return "not shown" if wanted.startswith("lpk_") else wanted


def checked_key(
    name: str, tenant: str, role: Role, expires: str, problems: list[Problem]
) -> tuple[Key, str]:
    """Make a key; raises Refused with the problems so far and its own."""
    if not NAME.fullmatch(name):
        problems.append(rule("--name", NAME_RULE, name))
    if not TENANT.fullmatch(tenant):
        problems.append(rule("--tenant", TENANT_RULE, tenant))
    lifetime = lifetime_s(expires, problems)
    checked(problems)
    now = int(time())
    ends = None if lifetime is None else now + lifetime
    return new_key(name, tenant, role, now, ends)


def lifetime_s(expires: str, problems: list[Problem]) -> int | None:
    """Read a lifetime in seconds: days, or a duration as everywhere; None for never."""
    if expires == NEVER:
        return None
    days = re.fullmatch(r"([0-9]{1,5})d", expires)
    try:
        found = int(days[1]) * DAY_S if days else duration_us("--expires", expires) // 1_000_000
    except Wrong:
        found = 0
    if not 1 <= found <= EXPIRES_MAX_S:
        problems.append(rule("--expires", EXPIRES_RULE, expires))
    return found


def path_problems(file: str | None) -> list[Problem]:
    """List a problem where no file is named, or one in a folder that is absent."""
    if not file:
        return [Problem("--file", "must be given: the file of the gateway's keys")]
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        return [rule("--file", "must be in a folder that exists", str(folder))]
    return []


def checked(problems: list[Problem]) -> None:
    """Raise Refused if there are problems."""
    if problems:
        raise Refused(problems)


def show(key: Key, text: str) -> None:
    """Print the key alone on standard output, and its description on standard error."""
    write_product(f"{text}\n")
    until = "never expires" if key.expires is None else f"until {written(key.expires)}"
    say(f"key {key.id}: {safe(key.name)}, tenant {key.tenant}, role {key.role.value}, {until}")
    say("it is not shown again; the file holds its hash only")


def row_of(key: Key, now: float) -> dict[str, str | None]:
    """Build the row of a key for programs."""
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "role": key.role.value,
        "state": key.state(now),
        "created": written(key.created),
        "expires": None if key.expires is None else written(key.expires),
        "revoked": None if key.revoked is None else written(key.revoked),
    }


def table(keys: list[Key], now: float) -> Iterator[str]:
    """Write the keys as rows under a heading."""
    width = max([4, *(len(one.name) for one in keys)])
    tenants = max([6, *(len(one.tenant) for one in keys)])
    yield f"{'ID':<12}  {'NAME':<{width}}  {'TENANT':<{tenants}}  ROLE    STATE    EXPIRES"
    for one in keys:
        until = NEVER if one.expires is None else written(one.expires)
        yield (
            f"{one.id}  {safe(one.name):<{width}}  {one.tenant:<{tenants}}  "
            f"{one.role.value:<6}  {one.state(now):<7}  {until}"
        )


@contextmanager
def refusing() -> Iterator[list[ExitCode]]:
    """Print the mistakes or the failure of a command; the last element is its exit code."""
    outcome = [ExitCode.PASSED]
    try:
        yield outcome
    except Refused as refused:
        outcome.append(refuse(refused.problems, "nothing was changed"))
    except FileNotFoundError as error:
        must = "must be a file; `loadpilot keys init` creates it"
        outcome.append(refuse([rule("--file", must, str(error.filename))], "nothing was changed"))
    except OSError as error:
        say(f"error: {safe(str(error))}")
        outcome.append(ExitCode.INFRASTRUCTURE)
