"""Connection settings of a scenario and its flags.

A flag replaces the scenario's setting of the same name. The plan holds the handle of a private key,
never the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...inputs.units import Wrong, duration_us
from ...problem import Problem, one_of, rule

if TYPE_CHECKING:  # settings imports this module; only the type refers back
    from ...request.headers import Secrets
    from .settings import Settings

HTTP = ("1.1", "2", "auto")
IP = ("4", "6")
PEM_BYTES_MAX = 256 << 10
"""Maximum size of a certificate or key file, in bytes."""
FLAGS = {"max": "--connections", "sources": "--source"}
"""Flags whose name differs from that of their setting."""
FIELDS = {
    "age_us_max": "age_max",
    "resolve_us": "resolve_every",
    "redirects_max": "redirects",
    "redirect_origins": "redirect_to",
}
"""Settings whose name differs from that of their field in the plan."""
LISTS = {
    "sources": '["10.0.0.7"]',
    "other_targets": '["http://other:8000"]',
    "redirect_to": '["https://login.example"]',
}
"""An example of each setting that is a list."""
PROXY_RULE = "http://host:port or socks5://host:port, without user and password"
REUSE_RULE = "must be always, never, or the share of calls that may reuse, such as 0.3"


@dataclass(frozen=True, slots=True)
class ConnectionFlags:
    """Connection flags; None for those not set."""

    http: str | None = None
    max: str | None = None
    open_first: str | None = None
    reuse: str | None = None
    connect_to: str | None = None
    sources: tuple[str, ...] = ()
    ip: str | None = None
    proxy: str | None = None
    proxy_credentials_env: str | None = None
    redirects: str | None = None
    redirect_to: tuple[str, ...] = ()
    insecure: bool = False
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None


def connections(settings: Settings, flags: ConnectionFlags, secrets: Secrets) -> dict[str, Any]:
    """Build the plan's connections; empty when all settings have their defaults."""
    reader = Reader(settings, flags)
    built = {
        "other_targets": reader.texts("other_targets", settings.overrides.other_targets),
        "http": reader.http(),
        "max": reader.whole("max"),
        "open_first": reader.whole("open_first"),
        "streams_max": reader.whole("streams_max"),
        "reuse": reader.reuse(),
        "requests_max": reader.whole("requests_max"),
        "age_us_max": reader.duration("age_max"),
        "connect_to": reader.text("connect_to"),
        "sources": reader.texts("sources"),
        "ip": reader.ip(),
        "resolve_us": reader.duration("resolve_every"),
        "proxy": reader.proxy(secrets),
        "redirects_max": reader.whole("redirects", least=0),
        "redirect_origins": reader.texts("redirect_to"),
        "tls": reader.tls(secrets),
    }
    reader.refuse_unknown()
    return {name: value for name, value in built.items() if value}


def place_of(settings: Settings, path: str) -> str:
    """Return the place of the setting behind a field of the plan, such as ``connections.max``."""
    _, field = re.split(r"[.\[]", path, maxsplit=2)[:2]
    name = FIELDS.get(field, field)
    return Reader(settings, settings.overrides.connections).find(name)[0]


class Reader:
    """Reads the settings of ``connections=`` and the flags that replace them."""

    def __init__(self, settings: Settings, flags: ConnectionFlags) -> None:
        """Take the settings of the scenario and the flags."""
        self.flags = flags
        self.problems = settings.problems
        self.scenario = settings.place("connections")
        value = settings.spec.get("connections")
        if value is not None and not isinstance(value, Mapping):
            must = 'must be a dict such as {"http": "2", "reuse": 0.3}'
            self.problems.append(rule(self.scenario, must, value))
            value = None
        self.settings: dict[Any, Any] = dict(value or {})
        self.known: list[str] = []

    def find(self, name: str) -> tuple[str, Any]:
        """Return the place and the value of a setting; a flag takes precedence."""
        self.known.append(name)
        flag = getattr(self.flags, name, None)
        if flag is not None and flag != ():
            return FLAGS.get(name, f"--{name.replace('_', '-')}"), flag
        return f"{self.scenario} {name}", self.settings.get(name)

    def refuse_unknown(self) -> None:
        """Refuse the settings that no reader has looked up."""
        for name in self.settings:
            if name not in self.known:
                self.problems.append(one_of(self.scenario, self.known, name))

    def http(self) -> str | None:
        """Read the version of HTTP."""
        place, value = self.find("http")
        if value is None or value in HTTP:
            return value if value != HTTP[0] else None
        self.problems.append(one_of(place, HTTP, value))
        return None

    def ip(self) -> str | None:
        """Read the address family."""
        place, value = self.find("ip")
        if value is None or (not isinstance(value, bool) and str(value) in IP):
            return value if value is None else str(value)
        self.problems.append(rule(place, f"must be {' or '.join(IP)}", value))
        return None

    def reuse(self) -> str | dict[str, int] | None:
        """Read the share of calls that may use an open connection."""
        place, value = self.find("reuse")
        if value in (None, "always"):
            return None
        if value == "never":
            return "never"
        try:
            share = float(value) if not isinstance(value, bool) else -1.0
        except (TypeError, ValueError):
            share = -1.0
        if 0 < share < 1:
            return {"share_ppm": max(1, round(share * 1_000_000))}
        self.problems.append(rule(place, REUSE_RULE, value))
        return None

    def whole(self, name: str, least: int = 1) -> int | None:
        """Read a count of at least ``least``; that of a flag is text."""
        place, value = self.find(name)
        if value is None:
            return None
        if place.startswith("--") and value.isascii() and value.isdigit() and len(value) <= 10:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**32:
            return value
        self.problems.append(rule(place, f"must be a whole number of at least {least}", value))
        return None

    def duration(self, name: str) -> int | None:
        """Read a duration in µs."""
        place, value = self.find(name)
        if value is None:
            return None
        try:
            us = duration_us(place, value)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
            return None
        if us == 0:
            self.problems.append(rule(place, "must be longer than 0", value))
        return us

    def text(self, name: str) -> str | None:
        """Read a text."""
        place, value = self.find(name)
        if value is None or isinstance(value, str):
            return value
        self.problems.append(rule(place, "must be text", value))
        return None

    def texts(self, name: str, flags: Sequence[str] = ()) -> list[str]:
        """Read a list of texts; ``flags`` replace it."""
        place, value = self.find(name)
        value = flags or value
        listed = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        if value is None or listed:
            return list(value or ())
        self.problems.append(rule(place, f"must be a list such as {LISTS[name]}", value))
        return []

    def proxy(self, secrets: Secrets) -> dict[str, str] | None:
        """Read the proxy, and ``user:password`` from the environment; no message quotes either."""
        place, url = self.find("proxy")
        env_place, name = self.find("proxy_credentials_env")
        if url is None:
            if name is not None:
                self.problems.append(Problem(env_place, "needs a proxy to go with it"))
            return None
        if not isinstance(url, str) or "@" in url:
            must = f"must be {PROXY_RULE}; --proxy-credentials-env names their variable"
            self.problems.append(Problem(place, must))
            return None
        proxy = {"url": url}
        if name is None:
            return proxy
        if not isinstance(name, str) or name not in os.environ:
            self.problems.append(rule(env_place, "must be a variable of the environment", name))
            return proxy
        credentials = os.environ[name]
        user, colon, password = credentials.partition(":")
        is_fit = user.isprintable() and password.isprintable() and credentials.isascii()
        if colon and user and password and is_fit:
            proxy["credentials_secret"] = secrets.handle("proxy-credentials", credentials)
        else:
            must = f"the value of {name} must be user:password in printable ASCII"
            self.problems.append(Problem(env_place, must))
        return proxy

    def tls(self, secrets: Secrets) -> dict[str, Any]:
        """Read the files of ``--cacert``, ``--cert`` and ``--key``, and ``--insecure``."""
        flags = self.flags
        tls: dict[str, Any] = {"insecure": True} if flags.insecure else {}
        if flags.cacert is not None:
            tls["roots_pem"] = self._pem("--cacert", flags.cacert, "CERTIFICATE")
        if flags.cert is not None and flags.key is not None:
            key = self._pem("--key", flags.key, "PRIVATE KEY")
            certificate = self._pem("--cert", flags.cert, "CERTIFICATE")
            self._check_pair(Path(flags.cert), Path(flags.key))
            tls["identity"] = {
                "certificate_pem": certificate,
                "key_secret": secrets.handle("client-key", key),
            }
        elif flags.cert is not None or flags.key is not None:
            present, missing = ("--cert", "--key") if flags.key is None else ("--key", "--cert")
            self.problems.append(Problem(present, f"needs {missing} to go with it"))
        return tls

    def _check_pair(self, cert: Path, key: Path) -> None:
        """Refuse a certificate and a key that do not match; a pipe can be read only once."""
        if self.problems or not (cert.is_file() and key.is_file()):
            return
        import ssl  # noqa: PLC0415  (start-up is a promise)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Agents accept short keys, too.
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        try:
            context.load_cert_chain(cert, key, password="")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                what = f"{key} of --key is not the private key of the certificate in {cert}"
            else:
                what = f"{cert} and {key} of --key must be a certificate and its key, not encrypted"
            self.problems.append(Problem("--cert", what))

    def _pem(self, flag: str, path: str, kind: str) -> str:
        """Read a PEM file; no message quotes its content."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(PEM_BYTES_MAX + 1)
            text = content.decode("ascii")
        except OSError as error:
            self.problems.append(Problem(flag, f"{path} cannot be read: {error.strerror}"))
            return ""
        except UnicodeDecodeError:
            text = ""
        if len(text) > PEM_BYTES_MAX or f"{kind}-----" not in text:
            what = f"{path} must be a PEM file with a {kind} of at most 256 KiB"
            self.problems.append(Problem(flag, what))
        return text
