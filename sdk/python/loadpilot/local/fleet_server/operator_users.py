"""Users of a server in operator mode: issued, renewed and revoked without the server.

Must never show a seed, never sign a user whose permissions the account does not hold, and never
renew a JWT that its signing key did not sign.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...problem import Problem, Refused, one_of, rule
from .. import private_file
from .jwt import TENANT_OF_USER, Key, claims_of, credentials, is_signed_by, signed
from .jwt import user as user_jwt
from .operator_files import CONFIG, SIGNING, SYSTEM
from .user_files import TENANT, TENANT_RULE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LINE = re.compile(r"^ *(operator|system_account|A[A-Z2-7]{55}): (\S+)$", re.MULTILINE)
BEGIN = re.compile(r"-----BEGIN NATS USER JWT-----\s+(\S+)")
SEED = re.compile(r"^(SU[A-Z2-7]{56})\s*$", re.MULTILINE)
NAME = re.compile(r"[A-Za-z0-9_.@-]{1,128}")
PUBLIC = re.compile(r"U[A-Z2-7]{55}")
EVERY_USER = "*"
"""Every user of an account, among those that are revoked."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account as the operator signed it."""

    public: str
    jwt: str
    claims: dict[str, Any]

    @property
    def scopes(self) -> dict[str, dict[str, Any]]:
        """Its signing keys, by role."""
        return {one["role"]: one for one in self.claims["nats"].get("signing_keys", [])}

    @property
    def revoked(self) -> dict[str, int]:
        """Public keys of users, and the second up to which their JWTs are refused."""
        return dict(self.claims["nats"].get("revocations", {}))

    def is_shared_in(self, role: str) -> bool:
        """Whether users of a role share the account with users of other tenants."""
        allowed = self.scopes[role]["template"]["pub"]["allow"]
        return any(TENANT_OF_USER in subject for subject in allowed)


@dataclass(frozen=True, slots=True)
class User:
    """A user that was issued, renewed or revoked."""

    name: str
    public: str
    role: str
    expires: int | None
    """Seconds since 1970; None: never."""


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to be issued."""

    keys: Path
    role: str
    tenant: str
    name: str | None
    out: Path
    expires: int | None


def issue(new: NewUser, now: int) -> User:
    """Make a key, sign its JWT and write the credentials file; raises Refused, OSError."""
    if not TENANT.fullmatch(new.tenant):
        raise Refused([rule("--tenant", TENANT_RULE, new.tenant)])
    if new.name is not None and not NAME.fullmatch(new.name):
        raise Refused(
            [rule("--name", "must be 1 to 128 characters out of A-Z a-z 0-9 _ . @ -", new.name)]
        )
    accounts = _accounts(new.keys)
    account = _account_of(accounts, new.role, new.tenant)
    signer = _signer(new.keys, account, new.role)
    is_shared = account.is_shared_in(new.role)
    key = Key.new("user")
    jwt = user_jwt(
        signer,
        account.public,
        key.public,
        new.name or f"{new.tenant}-{new.role}",
        now,
        tags={"tenant": new.tenant} if is_shared else {},
        expires=new.expires,
    )
    try:
        private_file.create(new.out, credentials(jwt, key))
    except FileExistsError:
        must = "must be a new file; --renew gives the user of a file a new JWT"
        raise Refused([rule("--out", must, str(new.out))]) from None
    return User(claims_of(jwt)["name"], key.public, new.role, new.expires)


def renew(keys: Path, file: Path, expires: int | None, now: int) -> User:
    """Replace the JWT of a credentials file, for the same user; raises Refused, OSError."""
    jwt, claims, key = _read_credentials("--renew", file)
    account, role = _issuer(_accounts(keys), claims, "--renew", file)
    if key.public in account.revoked or EVERY_USER in account.revoked:
        must = "must be of a user that is not revoked; issue a new one with --out"
        raise Refused([rule("--renew", must, str(file))])
    signer = _signer(keys, account, role)
    if not is_signed_by(signer, jwt):
        # Its claims may be false, such as the name of another tenant.
        raise Refused([rule("--renew", "must hold a JWT that is signed", str(file))])
    nats = {name: value for name, value in claims["nats"].items() if name != "version"}
    jwt = signed(signer, key.public, claims["name"], now, nats, expires)
    private_file.replace(file, credentials(jwt, key))
    return User(claims["name"], key.public, role, expires)


def revoke(keys: Path, file: Path | None, public: str | None, now: int) -> str:
    """Have servers refuse a user, and return its public key; raises Refused, OSError.

    All JWTs that were issued for it up to now are refused, once servers read the configuration.
    """
    config = keys / CONFIG
    with private_file.locked(config):
        accounts = _accounts(keys)
        until = now
        if file is not None:
            _, claims, key = _read_credentials("--creds", file)
            of, _ = _issuer(accounts, claims, "--creds", file)
            chosen, public = {of.public}, key.public
            until = max(now, int(claims["iat"]))
        else:
            if public is None or not PUBLIC.fullmatch(public):
                raise Refused([rule("--user", "must be the public key of a user, U…", public)])
            chosen = {one.public for name, one in accounts.items() if name != SYSTEM}
        signer = _key_in(keys / SIGNING / "operator.nk", "operator")
        text = config.read_text(encoding="utf-8")
        for one in accounts.values():
            if one.public in chosen:
                revoked = {**one.revoked, public: until}
                nats = {**one.claims["nats"], "revocations": revoked}
                fresh = signed(signer, one.public, one.claims["name"], now, nats)
                text = text.replace(one.jwt, fresh)
        private_file.replace(config, text)
    return public


def _accounts(keys: Path) -> dict[str, Account]:
    """Read the accounts of `operator.conf`, by name."""
    config = keys / CONFIG
    must = "must be a folder that `loadpilot admin nats-config --jwt` wrote"
    try:
        found = LINE.findall(config.read_text(encoding="utf-8"))
        accounts = {}
        for public, jwt in found:
            if public not in ("operator", "system_account"):
                claims = claims_of(jwt)
                accounts[str(claims["name"])] = Account(public, jwt, claims)
    except (OSError, ValueError, KeyError):
        raise Refused([rule("--keys", must, str(keys))]) from None
    if not accounts:
        raise Refused([rule("--keys", must, str(keys))])
    return accounts


def _account_of(accounts: Mapping[str, Account], role: str, tenant: str) -> Account:
    """Find the account in which a tenant has a role."""
    own = accounts.get(tenant)
    if own is None:
        shared = [one for one in accounts.values() if _is_for_tenants(one)]
        if not shared:
            raise Refused([one_of("--tenant", sorted(set(accounts) - {SYSTEM}), tenant)])
        own = shared[0]
        known = [one for one in own.scopes if own.is_shared_in(one)]
    else:
        known = [one for one in own.scopes if not own.is_shared_in(one)]
    if role not in known:
        raise Refused([one_of("--role", known, role)])
    return own


def _is_for_tenants(account: Account) -> bool:
    return any(account.is_shared_in(role) for role in account.scopes)


def _signer(keys: Path, account: Account, role: str) -> Key:
    file = keys / SIGNING / str(account.claims["name"]) / f"{role}.nk"
    key = _key_in(file, "account")
    if key.public != account.scopes[role]["key"]:
        must = f"must be the signing key of {role} in {CONFIG}, which names another"
        raise Refused([Problem(str(file), must)])
    return key


def _key_in(file: Path, kind: str) -> Key:
    """Read a seed that signs."""
    must = f"must hold the seed of a key of kind {kind}"
    try:
        with file.open(encoding="utf-8") as opened:
            if private_file.is_open_to_others(os.fstat(opened.fileno())):
                what = "must be readable by its owner only (chmod 600)"
                raise Refused([Problem(str(file), what)])
            key = Key.of(opened.read().strip())
    except FileNotFoundError:
        raise Refused([Problem(str(file), f"{must}, and is not there")]) from None
    except ValueError:
        raise Refused([Problem(str(file), must)]) from None
    if key.kind != kind:
        raise Refused([Problem(str(file), must)])
    return key


def _read_credentials(place: str, file: Path) -> tuple[str, dict[str, Any], Key]:
    must = "must be a credentials file that `loadpilot admin` wrote, with a JWT and its key"
    try:
        text = file.read_text(encoding="utf-8")
        begin, seed = BEGIN.search(text), SEED.search(text)
        if begin is None or seed is None:
            raise Refused([rule(place, must, str(file))])
        claims, key = claims_of(begin[1]), Key.of(seed[1])
        is_whole = {"name", "iat", "iss", "sub"} <= set(claims) and claims["sub"] == key.public
    except (FileNotFoundError, ValueError):
        raise Refused([rule(place, must, str(file))]) from None
    if not is_whole:
        raise Refused([rule(place, must, str(file))])
    return begin[1], claims, key


def _issuer(
    accounts: Mapping[str, Account], claims: Mapping[str, Any], place: str, file: Path
) -> tuple[Account, str]:
    """Find account and role of a credentials file."""
    for one in accounts.values():
        for role, scope in one.scopes.items():
            if scope["key"] == claims["iss"]:
                return one, role
    must = "must be of an account in --keys, whose signing keys did not sign it"
    raise Refused([rule(place, must, str(file))])
