"""The coordinator that takes a run over HTTP, from flags and environment.

Must never show a token, nor accept an address to which secrets would travel unencrypted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from ...control.coordinator_address import TOKEN_VARIABLE, Api, shown
from ...problem import Problem, rule
from .connection_flags import MACHINE_CERTIFICATES
from .declaration import FLEET, flag

if TYPE_CHECKING:
    from collections.abc import Mapping


LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


@dataclass(frozen=True, slots=True)
class ApiFlags:
    """The flags of a coordinator that is reached over HTTP, unparsed."""

    coordinator_url: Annotated[
        str | None,
        flag(
            FLEET,
            "URL",
            "Coordinator that takes the run over HTTP, https://host:port; http:// only on this "
            "machine.",
        ),
    ] = None
    coordinator_token_file: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "File of the coordinator's token. Without the flag: LOADPILOT_COORDINATOR_TOKEN.",
        ),
    ] = None
    coordinator_cacert: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Certificates to trust for the coordinator, PEM.",
            default=MACHINE_CERTIFICATES,
        ),
    ] = None


def read_api(flags: ApiFlags, environ: Mapping[str, str], problems: list[Problem]) -> Api | None:
    """Read the address and credentials; None without an address. Never quotes a token."""
    url = flags.coordinator_url
    if not url:
        others = {
            "--coordinator-token-file": flags.coordinator_token_file,
            "--coordinator-cacert": flags.coordinator_cacert,
        }
        what = "is for a coordinator; add --coordinator-url URL"
        problems += [Problem(flag, what) for flag, value in others.items() if value is not None]
        return None
    _check("--coordinator-url", url, problems)
    token = environ.get(TOKEN_VARIABLE) or None
    if flags.coordinator_token_file is not None:
        try:
            token = Path(flags.coordinator_token_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError):
            must = "must be a file that can be read"
            problems.append(rule("--coordinator-token-file", must, flags.coordinator_token_file))
    if token is not None and not re.fullmatch(r"[!-~]{1,512}", token):
        source = "--coordinator-token-file" if flags.coordinator_token_file else TOKEN_VARIABLE
        problems.append(Problem(source, "must hold a token: letters, digits, signs, no spaces"))
    cacert = Path(flags.coordinator_cacert) if flags.coordinator_cacert else None
    if cacert is not None and not cacert.is_file():
        must = "must be a file of certificates in PEM"
        problems.append(rule("--coordinator-cacert", must, str(cacert)))
    return Api(url.rstrip("/"), token, cacert)


def _check(place: str, url: str, problems: list[Problem]) -> None:
    """Add the problems of an address."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        sound = sound and not parts.query and not parts.fragment and "@" not in parts.netloc
        sound = sound and parts.path in {"", "/"}
    except ValueError:
        sound = False
    if not sound:
        problems.append(rule(place, "must be https://host[:port]", shown(url)))
    elif parts.scheme == "http" and not LOOPBACK.fullmatch(parts.hostname or ""):
        must = "must be https:// off loopback: token and secrets travel to it"
        problems.append(rule(place, must, shown(url)))
