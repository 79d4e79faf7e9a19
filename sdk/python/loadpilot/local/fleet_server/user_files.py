"""Writes the server's configuration, and for each user a folder with what it connects with.

Must never overwrite a folder unless its keys are to be replaced, and never show a seed or password.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ... import _native
from ...problem import Problem, Refused, rule
from . import roles
from .server_config import Account, User, accounts_text, shared_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .roles import Permissions

CONFIG = "users.conf"
SEED = "user.nk"
TOKEN = "nats-token"  # noqa: S105  (the name of a file)
TENANT = re.compile(r"[a-z0-9_-]{1,128}")
TENANTS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be written."""

    out: Path
    tenants: Sequence[str]
    url: str
    home: str = "fleet"
    """Tenant of coordinators and agents that serve all of them."""
    cacert: Path | None = None
    has_accounts: bool = False
    """Whether each tenant has an account, a coordinator and agents to itself."""
    has_passwords: bool = False
    is_rotation: bool = False
    max_stored: Mapping[str, int] | None = None
    """Bytes in the streams of an account, by tenant."""


MAX_STORED = 10 << 30
"""Bytes in the streams of an account at most, unless the tenants file says otherwise."""


def write(request: Request) -> list[str]:
    """Write the folder at once; return the names of its files. Raises Refused, OSError."""
    problems = list(_problems(request))
    if problems:
        raise Refused(problems)
    out = request.out
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder and made whole first: an interruption leaves the old one as it was.
    made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        _fill(made, request)
        if out.exists():
            replaced = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
            out.rename(replaced / out.name)
            made.rename(out)
            shutil.rmtree(replaced)
        else:
            made.rename(out)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return sorted(str(one.relative_to(out)) for one in out.rglob("*") if one.is_file())


def _problems(request: Request) -> Iterable[Problem]:
    yield from _name_problems(request)
    out = request.out
    if out.exists() and not out.is_dir():
        yield rule("--out", "must be a folder, or the name of a new one", str(out))
    elif out.is_dir() and any(out.iterdir()):
        if not (out / CONFIG).is_file():
            yield rule("--out", "must be empty, or a folder that this command wrote", str(out))
        elif not request.is_rotation:
            must = "must be new; --rotate replaces every key and password in it"
            yield rule("--out", must, str(out))


def _name_problems(request: Request) -> Iterable[Problem]:
    tenants = request.tenants
    if not 1 <= len(tenants) <= TENANTS_MAX:
        yield rule("--tenants", f"must name 1 to {TENANTS_MAX} tenants", len(tenants))
    for one in tenants:
        if not TENANT.fullmatch(one):
            yield rule("--tenants", "must be names of 1 to 128 characters out of a-z 0-9 _ -", one)
    for one in sorted({one for one in tenants if tenants.count(one) > 1}):
        yield rule("--tenants", "must name each tenant once", one)
    if not TENANT.fullmatch(request.home):
        must = "must be 1 to 128 characters out of a-z 0-9 _ -"
        yield rule("--home", must, request.home)
    if request.home in tenants and not request.has_accounts:
        yield rule("--home", "must not be one of the tenants", request.home)


def _fill(folder: Path, request: Request) -> None:
    if request.has_accounts:
        stored = request.max_stored or {}
        accounts = [
            Account(
                tenant,
                _users(folder, request, tenant, roles.ALONE),
                stored.get(tenant, MAX_STORED),
            )
            for tenant in request.tenants
        ]
        text = accounts_text(accounts)
    else:
        users = _users(folder, request, request.home, roles.FLEET, roles.EVERY)
        for tenant in request.tenants:
            users += _users(folder, request, tenant, roles.TENANT)
        text = shared_text(users)
    _write(folder / CONFIG, text)


def _users(
    folder: Path,
    request: Request,
    owner: str,
    wanted: Mapping[str, Callable[[str], Permissions]],
    tenant: str | None = None,
) -> list[User]:
    """Make the users of an owner, each with a folder of its own."""
    users = []
    for role, permissions in wanted.items():
        own = folder / owner / role
        own.parent.mkdir(mode=0o700, exist_ok=True)
        own.mkdir(mode=0o700)
        # What the programs read is the folder as it will be called.
        final = (request.out / owner / role).absolute()
        connect: dict[str, object] = {"url": request.url}
        allowed = permissions(tenant or owner)
        if request.has_passwords:
            user = User(owner, role, allowed, None, secrets.token_hex(24))
            token = f"{user.name}:{user.password}"
            _write(own / TOKEN, f"{token}\n")
            connect["token"] = token
        else:
            seed, public = _native.new_nats_key()
            user = User(owner, role, allowed, public)
            _write(own / SEED, f"{seed}\n")
            connect["creds"] = str(final / SEED)
        if request.cacert is not None:
            connect["cacert"] = str(request.cacert.absolute())
        _write(own / "connect.json", json.dumps(connect) + "\n")
        users.append(user)
    return users


def _write(file: Path, text: str) -> None:
    """Write a file that only its owner reads."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
