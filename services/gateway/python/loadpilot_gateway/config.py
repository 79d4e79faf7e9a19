"""The operator's settings, read once before any port opens. Must never quote a secret.

Each setting is a variable ``LOADPILOT_GATEWAY_…``; ``loadpilot-gateway --help`` lists them.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from loadpilot.control.nats_settings import INSECURE_VARIABLE, ServerFlags, read_server
from loadpilot.local.keys.key_file import read_keys
from loadpilot.local.private_file import is_open_to_others
from loadpilot.problem import Problem, Refused, rule

from .limits import (
    ADDRESS_CONNECTIONS_DEFAULT,
    LIVE_VIEWS_DEFAULT,
    LIVE_VIEWS_MAX,
    REQUEST_BURST_DEFAULT,
    REQUEST_CONNECTIONS_MAX,
    REQUEST_LIMIT_MAX,
    REQUESTS_PER_SECOND_DEFAULT,
)
from .server.auth import SECRET_HEADER, Proxy, digest
from .server.proxy_rules import read_rules
from .server.request_limit import RequestLimit
from .server.serve import files_lacking
from .tenants import RotatingServer, read_tenants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PREFIX = "LOADPILOT_GATEWAY_"
TOKEN = re.compile(r"[!-~]{16,512}")
NAME = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9._-]+")
LOOPBACK = tuple(
    ipaddress.ip_network(one) for one in ("127.0.0.0/8", "::1/128", "::ffff:127.0.0.0/104")
)
FLAGS = {
    "--nats-url": "NATS_URL",
    "--nats-token-file": "NATS_TOKEN_FILE",
    "--creds": "NATS_CREDS",
    "--nats-cacert": "NATS_CACERT",
    "--nats-cert": "NATS_CERT",
    "--nats-key": "NATS_KEY",
    "--nats-domain": "NATS_DOMAIN",
    "--nats-api-prefix": "NATS_API_PREFIX",
    "--nats-connections": "NATS_CONNECTIONS",
    "--insecure-nats": "INSECURE_NATS",
    "--tenant": "TENANT",
}
"""Flags of the command line and the variables that stand for them here."""


class Settings(BaseSettings):
    """The variables as their types allow; files and addresses are not read yet."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    nats_url: str = Field(
        default="nats://127.0.0.1:4222", description="the fleet's server; tls:// too"
    )
    nats_token_file: Path | None = Field(
        default=None, description="the file of its token; else NATS_TOKEN"
    )
    nats_creds: Path | None = Field(
        default=None, description="a credentials file instead of a token"
    )
    nats_cacert: Path | None = Field(
        default=None, description="certificates to trust for it, a PEM file"
    )
    nats_cert: Path | None = Field(
        default=None, description="the certificate that it asks for, a PEM file"
    )
    nats_key: Path | None = Field(default=None, description="its private key, a PEM file")
    nats_domain: str | None = Field(default=None, description="JetStream domain of the log")
    nats_api_prefix: str | None = Field(
        default=None, description="prefix of the JetStream API, if it is not $JS.API"
    )
    nats_connections: str | None = Field(
        default=None,
        description="number of connections that the account allows; runs that need more are "
        "refused",
    )
    insecure_nats: bool = Field(
        default=False, description="send the token unencrypted to nats:// off loopback"
    )
    tenant: str = Field(default="local", description="tenant whose runs are shown")
    host: str = Field(default="127.0.0.1", description="address to listen at")
    port: int = Field(default=8088, ge=0, le=65_535, description="port to listen at; 0 takes any")
    token_file: Path | None = Field(
        default=None, description="the file of the bearer token of callers"
    )
    keys_file: Path | None = Field(
        default=None, description="the file of `loadpilot keys`, in place of one token"
    )
    session_secret_file: Path | None = Field(
        default=None,
        description="file of a secret that signs browser sessions of keys; gateways may share it",
    )
    tenants_file: Path | None = Field(
        default=None, description="a TOML file of the tenants that are shown, in place of TENANT"
    )
    metrics_token_file: Path | None = Field(
        default=None, description="the file of a bearer token that reads /metrics and nothing else"
    )
    tls_cert: Path | None = Field(default=None, description="the server's certificate, a PEM file")
    tls_key: Path | None = Field(default=None, description="its private key, a PEM file")
    proxy_header: str | None = Field(
        default=None, description="header in which a proxy that ends TLS names the caller"
    )
    proxy_from: str | None = Field(
        default=None, description="addresses or networks of the proxy, with commas between"
    )
    proxy_rules_file: Path | None = Field(
        default=None, description="a TOML file: tenant and role of the callers that it names"
    )
    proxy_group_header: str | None = Field(
        default=None, description="header in which the proxy names the caller's groups"
    )
    proxy_secret_file: Path | None = Field(
        default=None,
        description=f"file of the secret that the proxy sends in the header {SECRET_HEADER}",
    )
    public_names: str | None = Field(
        default=None,
        description="names that callers know the proxy by, with commas between; Host must be one",
    )
    address_connections: int = Field(
        default=ADDRESS_CONNECTIONS_DEFAULT,
        ge=1,
        le=REQUEST_CONNECTIONS_MAX + LIVE_VIEWS_MAX,
        description="maximum number of connections of one address; a proxy's are not counted",
    )
    live_views: int = Field(
        default=LIVE_VIEWS_DEFAULT,
        ge=1,
        le=LIVE_VIEWS_MAX,
        description="maximum number of live views of a tenant",
    )
    requests_per_second: int = Field(
        default=REQUESTS_PER_SECOND_DEFAULT,
        ge=1,
        le=REQUEST_LIMIT_MAX,
        description="maximum requests/s of a tenant, and of an address without a valid key",
    )
    request_burst: int = Field(
        default=REQUEST_BURST_DEFAULT,
        ge=1,
        le=REQUEST_LIMIT_MAX,
        description="maximum number of its requests at once, before that rate holds",
    )
    cache: Path | None = Field(default=None, description="a folder that may be deleted at any time")


@dataclass(frozen=True, slots=True)
class Config:
    """Where the log is, where the gateway listens, and how callers authenticate."""

    server: RotatingServer
    tenants: tuple[RotatingServer, ...]
    """All tenants; the first is that of callers without one."""
    has_tenants_file: bool
    """Whether they are those of a file."""
    host: str
    port: int
    token: bytes | None
    metrics_token: bytes | None
    tls: tuple[Path, Path] | None
    proxy: Proxy | None
    cache: Path
    is_loopback: bool
    address_connections: int
    live_views: int
    keys: Path | None
    session_secret: bytes | None
    rules: Path | None
    group_header: str | None


def read(environ: Mapping[str, str]) -> tuple[Config | None, list[Problem]]:
    """Read all settings, or all mistakes in them."""
    problems = [*unknown(environ)]
    settings = parsed(problems)
    server = fleet(settings, environ, problems)
    token = bearer("TOKEN_FILE", settings.token_file, problems)
    metrics_token = bearer("METRICS_TOKEN_FILE", settings.metrics_token_file, problems)
    tls = certificate(settings, problems)
    session_secret = bearer("SESSION_SECRET_FILE", settings.session_secret_file, problems)
    check_keys(settings, problems)
    tenants = tenants_of(settings, server, problems)
    check_files(settings, tenants, problems)
    is_loopback = on_loopback(settings.host, problems)
    proxy = in_front(settings, problems, is_loopback=bool(is_loopback))
    if is_loopback is False and proxy is None and not settings.proxy_header:
        missing = {
            "a token or keys (LOADPILOT_GATEWAY_TOKEN_FILE, LOADPILOT_GATEWAY_KEYS_FILE)": (
                settings.token_file or settings.keys_file
            ),
            "TLS (LOADPILOT_GATEWAY_TLS_CERT, LOADPILOT_GATEWAY_TLS_KEY)": settings.tls_cert,
        }
        for what, said in missing.items():
            if said is None:
                must = f"must be on loopback, or have {what}, or a proxy in front"
                problems.append(rule(f"{PREFIX}HOST", must, settings.host))
    if problems or server is None:
        return None, problems
    cache = settings.cache or default_cache(environ)
    texts = (token, metrics_token, session_secret)
    secrets = [None if one is None else digest(one) for one in texts]
    return Config(
        server=server,
        tenants=tuple(tenants),
        has_tenants_file=settings.tenants_file is not None,
        host=settings.host,
        port=settings.port,
        token=secrets[0],
        metrics_token=secrets[1],
        tls=tls,
        proxy=proxy,
        cache=cache,
        is_loopback=bool(is_loopback),
        address_connections=settings.address_connections,
        live_views=settings.live_views,
        keys=settings.keys_file,
        session_secret=secrets[2],
        rules=settings.proxy_rules_file,
        group_header=settings.proxy_group_header and settings.proxy_group_header.lower(),
    ), []


def check_files(
    settings: Settings, tenants: Sequence[RotatingServer], problems: list[Problem]
) -> None:
    """Check that the process may open a file for each live view that the operator wants."""
    views = settings.live_views * max(1, len(tenants))
    hard = files_lacking(views)
    if hard is not None and "live_views" in settings.model_fields_set:
        must = (
            f"must fit the limit of open files, {hard}; raise it (ulimit -Hn), to {views + 5_000}"
        )
        problems.append(rule(f"{PREFIX}LIVE_VIEWS", must, str(settings.live_views)))


def check_keys(settings: Settings, problems: list[Problem]) -> None:
    """Check the files of keys and rules, and that they are not combined with one token."""
    readers = (("keys_file", read_keys), ("proxy_rules_file", read_rules))
    for name, read_file in readers:
        file: Path | None = getattr(settings, name)
        try:
            if file is not None:
                read_file(file)
        except Refused as refused:
            problems += [Problem(f"{PREFIX}{name.upper()}", str(one)) for one in refused.problems]
        except OSError:
            must = "must be a file that can be read"
            problems.append(rule(f"{PREFIX}{name.upper()}", must, str(file)))
    if settings.keys_file is not None and settings.token_file is not None:
        what = "authenticates callers, and so does KEYS_FILE; drop one"
        problems.append(Problem(f"{PREFIX}TOKEN_FILE", what))
    if settings.proxy_rules_file is not None and settings.token_file is not None:
        what = "makes every caller an admin, and PROXY_RULES_FILE gives roles; drop one"
        problems.append(Problem(f"{PREFIX}TOKEN_FILE", what))
    needs = {
        "session_secret_file": settings.keys_file,
        "proxy_rules_file": settings.proxy_header,
        "proxy_group_header": settings.proxy_rules_file,
    }
    needed = ("KEYS_FILE", "PROXY_HEADER", "PROXY_RULES_FILE")
    for (name, other), variable in zip(needs.items(), needed, strict=True):
        if getattr(settings, name) is not None and other is None:
            what = f"has no effect without {PREFIX}{variable}"
            problems.append(Problem(f"{PREFIX}{name.upper()}", what))
    is_open = settings.keys_file is None and settings.proxy_rules_file is None
    if settings.tenants_file is not None and is_open:
        what = "needs KEYS_FILE or PROXY_RULES_FILE, which say who belongs to which tenant"
        problems.append(Problem(f"{PREFIX}TENANTS_FILE", what))


def tenants_of(
    settings: Settings, server: RotatingServer | None, problems: list[Problem]
) -> list[RotatingServer]:
    """List the servers of all tenants: the one of the settings, or those of the file."""
    if server is None or settings.tenants_file is None:
        return [server] if server is not None else []
    found: list[Problem] = []
    tenants = read_tenants(settings.tenants_file, server, found)
    problems += [Problem(f"{PREFIX}TENANTS_FILE", str(one)) for one in found]
    return tenants


def unknown(environ: Mapping[str, str]) -> list[Problem]:
    """Name unknown variables: a typo must not leave the gateway open."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    problems = []
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else "; see loadpilot-gateway --help"
            problems.append(Problem(name, f"is not a setting of the gateway{hint}"))
    return problems


def parsed(problems: list[Problem]) -> Settings:
    """Read the variables; an invalid one becomes a problem and takes its default."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = {str(one["loc"][0]): one for one in error.errors()}
    problems += [
        rule(f"{PREFIX}{name.upper()}", one["msg"], one["input"]) for name, one in wrong.items()
    ]
    return Settings(**{name: Settings.model_fields[name].default for name in wrong})


def fleet(
    settings: Settings, environ: Mapping[str, str], problems: list[Problem]
) -> RotatingServer | None:
    """Read the NATS server of the fleet, as the command line does."""
    found: list[Problem] = []
    if settings.nats_token_file is not None:
        secret_file("NATS_TOKEN_FILE", settings.nats_token_file, found)
    flags = ServerFlags(
        nats_url=settings.nats_url,
        nats_token_file=_text(settings.nats_token_file),
        creds=_text(settings.nats_creds),
        tenant=settings.tenant,
        nats_cacert=_text(settings.nats_cacert),
        nats_cert=_text(settings.nats_cert),
        nats_key=_text(settings.nats_key),
        nats_domain=settings.nats_domain,
        nats_api_prefix=settings.nats_api_prefix,
        nats_connections=settings.nats_connections,
        insecure_nats=settings.insecure_nats,
    )
    server = read_server(flags, environ, found)
    for one in found:
        place = f"{PREFIX}{FLAGS[one.place]}" if one.place in FLAGS else one.place
        what = one.what
        for flag, name in FLAGS.items():
            what = what.replace(flag, f"{PREFIX}{name}")
        problems.append(Problem(place, what))
    if server is None:
        return None
    is_insecure = settings.insecure_nats or environ.get(INSECURE_VARIABLE) == "1"
    named = {one.name: getattr(server, one.name) for one in fields(server)}
    limit = RequestLimit(settings.requests_per_second, settings.request_burst)
    return RotatingServer(**named, is_insecure=is_insecure, limit=limit)


def _text(file: Path | None) -> str | None:
    return None if file is None else str(file)


def bearer(name: str, file: Path | None, problems: list[Problem]) -> str | None:
    """Read the token of callers, or another secret of that form."""
    if file is None:
        return None
    token = secret_file(name, file, problems)
    if token is not None and not TOKEN.fullmatch(token):
        must = "must hold a token of 16 to 512 letters, digits and signs without spaces"
        problems.append(Problem(f"{PREFIX}{name}", f"{must} (got {len(token)} characters)"))
    return token


def secret_file(name: str, file: Path, problems: list[Problem]) -> str | None:
    """Read a file with a secret, which must be private."""
    try:
        text = file.read_text(encoding="utf-8").strip("\r\n")
        is_open = is_open_to_others(file.stat())
    except (OSError, UnicodeError):
        problems.append(rule(f"{PREFIX}{name}", "must be a file that can be read", str(file)))
        return None
    if is_open:
        must = "must be readable by its owner only (chmod 600)"
        problems.append(rule(f"{PREFIX}{name}", must, str(file)))
    return text


def certificate(settings: Settings, problems: list[Problem]) -> tuple[Path, Path] | None:
    """Read the paths of certificate and key, and check that they fit."""
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing = "TLS_CERT" if cert is None else "TLS_KEY"
        problems.append(Problem(f"{PREFIX}{missing}", "must be set too: TLS needs both"))
        return None
    secret_file("TLS_KEY", key, problems)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError):
        must = "must be a certificate in PEM of which TLS_KEY is the key, without a password"
        problems.append(rule(f"{PREFIX}TLS_CERT", must, str(cert)))
    return cert, key


def in_front(settings: Settings, problems: list[Problem], *, is_loopback: bool) -> Proxy | None:
    """Read which proxy is trusted to name callers."""
    header, wanted = settings.proxy_header, settings.proxy_from
    secret = bearer("PROXY_SECRET_FILE", settings.proxy_secret_file, problems)
    names = public_names(settings.public_names, problems)
    if header is None and wanted is None:
        for name in ("proxy_secret_file", "public_names"):
            if getattr(settings, name) is not None:
                what = f"is for a proxy; set {PREFIX}PROXY_HEADER and {PREFIX}PROXY_FROM too"
                problems.append(Problem(f"{PREFIX}{name.upper()}", what))
        return None
    if header is None or wanted is None:
        missing = "PROXY_HEADER" if header is None else "PROXY_FROM"
        what = "must be set too: the header is trusted from the proxy only"
        problems.append(Problem(f"{PREFIX}{missing}", what))
        return None
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", header):
        must = "must be the name of a header, such as X-Forwarded-User"
        problems.append(rule(f"{PREFIX}PROXY_HEADER", must, header))
    try:
        networks = tuple(ipaddress.ip_network(one.strip()) for one in wanted.split(","))
    except ValueError:
        must = "must be addresses or networks such as 10.0.0.0/8, with commas between"
        problems.append(rule(f"{PREFIX}PROXY_FROM", must, wanted))
        return None
    if is_loopback or any(is_near(network) for network in networks):
        here = {
            "PROXY_SECRET_FILE": settings.proxy_secret_file,
            "PUBLIC_NAMES": settings.public_names,
        }
        what = "must be set for a proxy on loopback: other processes and pages reach it there"
        problems += [
            Problem(f"{PREFIX}{name}", what) for name, said in here.items() if said is None
        ]
    return Proxy(header.lower(), networks, names, digest(secret) if secret is not None else None)


def is_near(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Whether a network contains loopback addresses, which any local process has."""
    return any(one.version == network.version and one.overlaps(network) for one in LOOPBACK)


def public_names(text: str | None, problems: list[Problem]) -> frozenset[str]:
    """Read the values that the header Host may have."""
    names = [one.strip().lower() for one in text.split(",")] if text is not None else []
    if not all(NAME.fullmatch(one) for one in names):
        must = "must be host names without a port, such as load.example.com, with commas between"
        problems.append(rule(f"{PREFIX}PUBLIC_NAMES", must, text))
    return frozenset(names)


def on_loopback(host: str, problems: list[Problem]) -> bool | None:
    """Whether a host has loopback addresses only; None when it cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        must = "must be an address of this machine, such as 127.0.0.1"
        problems.append(rule(f"{PREFIX}HOST", must, host))
        return None
    return all(ipaddress.ip_address(one[4][0]).is_loopback for one in found)


def default_cache(environ: Mapping[str, str]) -> Path:
    """Find the folder of caches."""
    base = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return Path(base) / "loadpilot" / "gateway"
