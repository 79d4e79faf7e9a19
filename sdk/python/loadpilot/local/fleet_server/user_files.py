"""Writes the server's configuration, and for each user a folder with its connection settings.

Must never overwrite a folder unless its keys are to be replaced, and never show a seed or password.
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from ... import _native
from ...problem import Problem, Refused, rule
from .. import private_file
from . import operator_files, roles
from .server_config import Account, User, accounts_text, shared_text
from .user_folder import Login, add_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .roles import Permissions
    from .user_folder import Request

CONFIG = "users.conf"
SEED = "user.nk"
TOKEN = "nats-token"  # noqa: S105  (the name of a file)
TENANT = re.compile(r"[a-z0-9_-]{1,128}")
TENANT_RULE = "must be 1 to 128 characters out of a-z 0-9 _ -"
TENANTS_MAX = 1000


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
        if not any((out / one).is_file() for one in (CONFIG, operator_files.CONFIG)):
            yield rule("--out", "must be empty, or a folder that this command wrote", str(out))
        elif not request.is_rotation:
            must = "must be new; --rotate replaces every key and password in it"
            yield rule("--out", must, str(out))
        else:
            yield from _kind_problems(request)


def _kind_problems(request: Request) -> Iterable[Problem]:
    """List the flags in which a rotation differs from the folder: its programs could not log in."""
    out = request.out
    owners = [one for one in out.iterdir() if one.is_dir() and one.name != operator_files.SIGNING]
    for flag, is_asked, is_there in (
        ("--jwt", request.has_jwts, (out / operator_files.CONFIG).is_file()),
        ("--passwords", request.has_passwords, any(out.glob(f"*/*/{TOKEN}"))),
        # Without accounts the coordinators of one tenant serve all.
        ("--accounts", request.has_accounts, all((one / "coordinator").is_dir() for one in owners)),
    ):
        if is_asked != is_there:
            must = "must be given: used by" if is_there else "must not be given: not used by"
            yield Problem(flag, f"{must} the folder that --rotate renews (another needs a new one)")


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
        yield rule("--home", TENANT_RULE, request.home)
    if request.has_jwts and operator_files.SIGNING in tenants:
        must = f"must not be {operator_files.SIGNING}, the folder of keys that sign"
        yield rule("--tenants", must, operator_files.SIGNING)
    if request.home == operator_files.SIGNING and request.has_jwts:
        must = f"must not be {operator_files.SIGNING}, the folder of keys that sign"
        yield rule("--home", must, request.home)
    if request.home in tenants and not request.has_accounts:
        yield rule("--home", "must not be one of the tenants", request.home)


def _fill(folder: Path, request: Request) -> None:
    if request.has_jwts:
        operator_files.fill(folder, request, int(time()))
        return
    if request.has_accounts:
        accounts = [
            Account(
                tenant,
                _users(folder, request, tenant, roles.ALONE),
                request.stored_max(tenant),
            )
            for tenant in request.tenants
        ]
        text = accounts_text(accounts)
    else:
        users = _users(folder, request, request.home, roles.FLEET, roles.EVERY)
        for tenant in request.tenants:
            users += _users(folder, request, tenant, roles.TENANT)
        text = shared_text(users)
    private_file.create(folder / CONFIG, text)


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
        allowed = permissions(tenant or owner)
        if request.has_passwords:
            user = User(owner, role, allowed, None, secrets.token_hex(24))
            token = f"{user.name}:{user.password}"
            login = Login(TOKEN, f"{token}\n", "token", token)
        else:
            seed, public = _native.new_nats_key()
            user = User(owner, role, allowed, public)
            login = Login(SEED, f"{seed}\n", "creds")
        add_user(folder, request, owner, role, login)
        users.append(user)
    return users
