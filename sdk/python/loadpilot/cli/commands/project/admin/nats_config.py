"""``loadpilot admin nats-config``: users and permissions of the NATS server of a fleet.

Must never print a seed or a password.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ..... import _native
from .....control.exit_code import ExitCode
from .....control.nats_settings import ADDRESS, URL_DEFAULT
from .....control.terminal import safe, say
from .....local.fleet_server import operator_files
from .....local.fleet_server.user_files import CONFIG, write
from .....local.fleet_server.user_folder import CONNECT, Request
from .....problem import Problem, Refused, rule
from ....output.refusal import refuse
from ..key_commands import NEVER, lifetime_s

OUTCOME = "nothing was written"
UNITS = {
    "TiB": 1 << 40,
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "KiB": 1 << 10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "B": 1,
}
SIZE = re.compile(rf"([1-9][0-9]{{0,11}}) ?({'|'.join(UNITS)})")


@dataclass(frozen=True, slots=True)
class NatsConfigFlags:
    """The flags of the command, unparsed."""

    out: str | None
    tenants: str | None
    nats_url: str | None
    nats_cacert: str | None
    home: str
    accounts: bool
    passwords: bool
    rotate: bool
    jwt: bool
    expires: str


def nats_config(flags: NatsConfigFlags) -> ExitCode:
    """Write the folder, and print its files and how to use them."""
    given = {"--out": flags.out, "--tenants": flags.tenants}
    problems = [Problem(place, "is needed") for place, value in given.items() if not value]
    url, cacert = _server(flags, problems)
    tenants, stored = _tenants(flags.tenants or "", problems)
    lifetime = lifetime_s(flags.expires, problems)
    if flags.jwt and flags.passwords:
        problems.append(Problem("--passwords", "has no meaning with --jwt, which signs keys"))
    if flags.expires != NEVER and not flags.jwt:
        problems.append(Problem("--expires", "needs --jwt: keys and passwords do not expire"))
    if flags.out is None or problems:
        return refuse(problems, OUTCOME)
    request = Request(
        out=Path(flags.out),
        tenants=tenants,
        url=url,
        home=flags.home,
        cacert=cacert,
        has_accounts=flags.accounts,
        has_passwords=flags.passwords,
        is_rotation=flags.rotate,
        max_stored=stored,
        has_jwts=flags.jwt,
        lifetime_s=lifetime,
    )
    try:
        files = write(request)
    except Refused as refused:
        return refuse(refused.problems, OUTCOME)
    except OSError as error:
        say(f"error: {safe(str(error))}")
        return ExitCode.INFRASTRUCTURE
    for name in files:
        print(f"created  {safe(str(request.out / name))}")
    config = operator_files.CONFIG if flags.jwt else CONFIG
    print(f'\nInclude {config} in the configuration of the server: include "{config}".')
    if flags.jwt:
        print(f"Keep {operator_files.SIGNING} off the server: its keys sign accounts and users.")
    print("Give each user its own folder only; `loadpilot coordinator --connect` takes one.")
    return ExitCode.PASSED


def _server(flags: NatsConfigFlags, problems: list[Problem]) -> tuple[str, Path | None]:
    """Read address and certificates of the server; a rotation keeps those of its folder."""
    url, cacert_file = flags.nats_url, flags.nats_cacert
    if flags.rotate and flags.out:
        out = Path(flags.out)
        if url is None:
            url = _kept_setting(out, "url", "--nats-url", problems)
        if cacert_file is None:
            cacert_file = _kept_setting(out, "cacert", "--nats-cacert", problems)
    if url is None:
        url = URL_DEFAULT
    if not all(ADDRESS.fullmatch(one.strip()) for one in url.split(",")):
        must = "must be nats://host:port or tls://host:port"
        problems.append(rule("--nats-url", must, url))
    if cacert_file is None:
        return url, None
    if not Path(cacert_file).is_file():
        must = "must be a file of certificates in PEM"
        problems.append(rule("--nats-cacert", must, str(Path(cacert_file))))
    return url, Path(cacert_file)


def _kept_setting(out: Path, setting: str, place: str, problems: list[Problem]) -> str | None:
    """Read a setting that a rotation keeps: that of the users in the folder, if they have one."""
    found: set[str] = set()
    for file in sorted(out.rglob(CONNECT)):
        try:
            value = json.loads(file.read_text(encoding="utf-8")).get(setting, "")
        except (OSError, ValueError, AttributeError):
            must = f"must be a connection file, or {place} must be given"
            problems.append(Problem(str(file), must))
        else:
            found.add(str(value))
    if len(found) > 1:
        several = ", ".join(_native.shown_address(one) or "none" for one in sorted(found))
        problems.append(Problem(place, f"must be given: the users have several, {several}"))
        return None
    return next(iter(found), "") or None


def _tenants(text: str, problems: list[Problem]) -> tuple[list[str], dict[str, int]]:
    """Read the names, and from a file the bytes that each may store."""
    if not text.endswith(".toml"):
        return [one.strip() for one in text.split(",")], {}
    try:
        found = tomllib.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        problems.append(Problem("--tenants", f"{text} is not readable as TOML: {error}"))
        return [], {}
    tables = found.get("tenants")
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        problems.append(rule(f"{text}: tenants", "must be tables, [tenants.NAME]", tables))
        return [], {}
    stored: dict[str, int] = {}
    for name, table in tables.items():
        written = table.get("max_stored")
        size = SIZE.fullmatch(written) if isinstance(written, str) else None
        if size is not None:
            stored[name] = int(size[1]) * UNITS[size[2]]
        elif written is not None:
            must = 'must be a size such as "10GiB"'
            problems.append(rule(f"{text}: tenants.{name}.max_stored", must, written))
    return list(tables), stored
