"""``loadpilot admin nats-user|nats-revoke``: users of a NATS server in operator mode.

Must never print a seed.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from .....control.exit_code import ExitCode
from .....control.terminal import safe, say
from .....local.fleet_server.operator_files import CONFIG
from .....local.fleet_server.operator_users import NewUser, issue, renew, revoke
from .....local.keys.key import written
from .....problem import Problem, Refused
from ....output.refusal import refuse
from ..key_commands import checked, lifetime_s

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTCOME = "nothing was changed"


@dataclass(frozen=True, slots=True)
class NatsUserFlags:
    """The flags of the command, unparsed."""

    keys: str | None
    role: str | None
    tenant: str | None
    name: str | None
    expires: str
    out: str | None
    renew: str | None


def nats_user(flags: NatsUserFlags) -> ExitCode:
    """Issue or renew a user, and print its name, role, lifetime and public key."""
    with _refusing() as outcome:
        problems = _keys_problems(flags.keys)
        lifetime = lifetime_s(flags.expires, problems)
        of_new = {"--role": flags.role, "--tenant": flags.tenant, "--out": flags.out}
        if flags.renew is None:
            problems += [
                Problem(one, "must be given") for one, value in of_new.items() if not value
            ]
        else:
            problems += [
                Problem(one, "has no meaning with --renew, which keeps the user of its file")
                for one, value in {**of_new, "--name": flags.name}.items()
                if value is not None
            ]
        checked(problems)
        keys, now = Path(flags.keys or ""), int(time())
        expires = None if lifetime is None else now + lifetime
        if flags.renew is not None:
            user, file = renew(keys, Path(flags.renew), expires, now), flags.renew
        else:
            file = flags.out or ""
            new = NewUser(
                keys, flags.role or "", flags.tenant or "", flags.name, Path(file), expires
            )
            user = issue(new, now)
        until = "never expires" if user.expires is None else f"until {written(user.expires)}"
        say(f"wrote {safe(file)}: {safe(user.name)}, role {user.role}, {until}")
        print(user.public)
    return outcome[-1]


def nats_revoke(keys: str | None, creds: str | None, user: str | None) -> ExitCode:
    """Revoke a user, and print what to do at the server."""
    with _refusing() as outcome:
        problems = _keys_problems(keys)
        if (creds is None) == (user is None):
            problems.append(Problem("--creds", "must be given, or --user instead of it"))
        checked(problems)
        public = revoke(Path(keys or ""), None if creds is None else Path(creds), user, int(time()))
        say(f"revoked {public}; reload the server, so that it reads {CONFIG} again")
    return outcome[-1]


def _keys_problems(keys: str | None) -> list[Problem]:
    must = "must be given: the folder that `loadpilot admin nats-config --jwt` wrote"
    return [] if keys else [Problem("--keys", must)]


@contextmanager
def _refusing() -> Iterator[list[ExitCode]]:
    """Print the mistakes or the failure of a command; the last element is its exit code."""
    outcome = [ExitCode.PASSED]
    try:
        yield outcome
    except Refused as refused:
        outcome.append(refuse(refused.problems, OUTCOME))
    except OSError as error:
        say(f"error: {safe(str(error))}")
        outcome.append(ExitCode.INFRASTRUCTURE)
