"""The outputs of ``--out KIND=URI``, checked before anything is started."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import SplitResult, parse_qsl, urlsplit

from ...control.coordinator_address import shown
from ...problem import Problem, nearest, rule
from ..configuration.sources import current, without_values
from ..flags.run_flags import JSON
from ..output import results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...control.signals import Interruptions

FLAG = "--out"
METRICS = "--metrics"
SCRAPED = "metrics"
"""Kind of the output that a Prometheus reads here."""
VARIABLE = "LOADPILOT_OUT"
FORMATS = {"csv": "csv", "json": "ndjson"}
"""Kinds of files, each with the name of its format in ``loadpilot dump``."""
PATHS = {"otlp": "/v1/metrics", "prometheus": "/api/v1/write"}
"""Kinds of servers, each with the path of an address that has none."""
KINDS = (*FORMATS, *PATHS)
STANDARD_OUTPUT = "-"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts to which a password may be sent unencrypted."""
PASSWORD = re.compile(
    r"p|pass(wd|word)?|pwd|.*(token|key|secret|signature)|sig|auth", re.IGNORECASE
)
"""Names of parameters of a query that are passwords, such as ``authkey`` and ``access_token``."""
PORT_MAX = 65_535
OUTS_MAX = 8
"""Maximum number of outputs: each has a thread."""


@dataclass(frozen=True, slots=True)
class Out:
    """An output of a run that goes on."""

    kind: str
    place: str
    """File or address, as it was written."""

    @property
    def path(self) -> Path | None:
        """Its file; None for standard output and for a server."""
        is_file = self.kind in FORMATS and self.place != STANDARD_OUTPUT
        return Path(self.place) if is_file else None

    @property
    def is_standard_output(self) -> bool:
        """Whether its rows are the product of the command."""
        return self.kind in FORMATS and self.place == STANDARD_OUTPUT

    @property
    def url(self) -> SplitResult:
        """Address of its server, with a path."""
        url = urlsplit(self.place)
        return url._replace(path=PATHS[self.kind]) if url.path in {"", "/"} else url

    @property
    def label(self) -> str:
        """Its name in messages, without user, password and the values of its query."""
        place = self.place
        if self.kind in PATHS:
            url = self.url
            host = url.netloc.rpartition("@")[2]
            place = url._replace(netloc=host, query=without_values(url.query)).geturl()
        return f"{self.kind}={place}"


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """Other uses of standard output and of the terminal."""

    quiet: bool
    """Whether there is no live view."""
    product: str | None
    """Form of the data that are the product of the command; None for the summary."""

    def problem(self) -> str | None:
        """Return why standard output cannot take the rows of an output; None when it can."""
        if self.product is not None:
            what = "report" if self.product == JSON else "calls"
            return f"standard output has the {what} (--output {self.product}); name a file"
        if not self.quiet and _is_same(sys.stdout, sys.stderr):
            return "would mix with the live view; name a file, redirect it, or add --quiet"
        return None


def read_outs(
    texts: Sequence[str],
    others: Mapping[str, str | None],
    stdout: StandardOutput,
    problems: list[Problem],
) -> tuple[Out, ...]:
    """Read the outputs; ``others`` are the other files of the command by their flags."""
    outs = []
    taken = {Path(text).absolute(): flag for flag, text in others.items() if text is not None}
    if len(texts) > OUTS_MAX:
        problems.append(Problem(FLAG, f"must be at most {OUTS_MAX} outputs (got {len(texts)})"))
    for text in texts:
        kind, separator, place = text.partition("=")
        # A kind that is not a plain word may hold a password, so it is not quoted.
        if not separator or not place or not kind.isalnum():
            problems.append(Problem(FLAG, "must be KIND=URI such as json=FILE"))
        elif kind not in KINDS:
            near = nearest(kind, KINDS)
            hint = f"; did you mean {near}=?" if near is not None else ""
            problems.append(rule(FLAG, f"must be one of {', '.join(KINDS)}{hint}", kind))
        elif kind in PATHS:
            problem = _of_address(kind, place)
            problems += [] if problem is None else [problem]
            if problem is None:
                outs.append(Out(kind, place))
        else:
            out = Out(kind, place)
            problems += _of_file(out, taken, stdout)
            taken[Path(place).absolute()] = f"{FLAG} {out.label}"
            outs.append(out)
    return tuple(outs)


def read_metrics(text: str | None, problems: list[Problem]) -> tuple[Out, ...]:
    """Read the address at which a Prometheus may scrape the runs of this command."""
    if text is None:
        return ()
    try:
        host, _ = split_address(text)
    except ValueError:
        problems.append(rule(METRICS, "must be HOST:PORT such as 127.0.0.1:9090", shown(text)))
        return ()
    if host not in LOOPBACK and not _is_loopback(host):
        what = (
            "must be on loopback such as 127.0.0.1:9090, since it has no password; to be read from "
            "elsewhere use --out prometheus=URL, or the gateway, which serves /metrics with a "
            "token and TLS"
        )
        problems.append(rule(METRICS, what, shown(text)))
        return ()
    return (Out(SCRAPED, text),)


def end_scrapes(outs: Sequence[Out], interruptions: Interruptions) -> None:
    """Wait for a scrape of the final figures where --metrics is set; a signal ends the wait."""
    if any(out.kind == SCRAPED for out in outs):
        from .scrape_endpoint import close_endpoints  # noqa: PLC0415  (most runs have none)

        before = interruptions.count
        close_endpoints(lambda: interruptions.count > before)


def split_address(text: str) -> tuple[str, int]:
    """Split HOST:PORT; raises ValueError."""
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdecimal():
        raise ValueError(text)
    number = int(port)
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not 0 < number <= PORT_MAX or (":" in host and not is_bracketed):
        raise ValueError(text)
    return host.strip("[]"), number


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _of_address(kind: str, text: str) -> Problem | None:
    """Check the address of a server; it is not quoted, since it may hold a password."""
    example = f"http://localhost:9090{PATHS[kind]}"
    wrong = Problem(FLAG, f"{kind} must be http://host[:port][/path] or https, such as {example}")
    try:
        url = urlsplit(text)
        is_address = url.scheme in {"http", "https"} and url.hostname and url.port != 0
        # As a request will encode them: UnicodeError is a ValueError.
        (url.hostname or "").encode("idna")
        f"{url.path}{url.query}".encode("ascii")
    except ValueError:
        return wrong
    if not is_address or url.fragment or any(not c.isprintable() or c == " " for c in text):
        return wrong
    names = [name for name, _ in parse_qsl(url.query, keep_blank_values=True)]
    has_password = url.username is not None or any(map(PASSWORD.fullmatch, names))
    if has_password and url.scheme == "http" and url.hostname not in LOOPBACK:
        return Problem(FLAG, f"{kind} must be https where it has a user or a password")
    place = current().place(FLAG)
    if has_password and place != FLAG and VARIABLE not in place:
        return Problem(FLAG, f"{kind} must have no password in a file; set {VARIABLE}")
    return None


def _of_file(out: Out, taken: Mapping[Path, str], stdout: StandardOutput) -> list[Problem]:
    where = Path(out.place).absolute()
    if where in taken:
        return [Problem(FLAG, f"{out.label} must be another file than that of {taken[where]}")]
    if out.path is not None:
        return results.problems(out.path, FLAG)
    problem = stdout.problem()
    return [] if problem is None else [Problem(FLAG, f"{out.label}: {problem}")]


def _is_same(one: TextIO, other: TextIO) -> bool:
    """Whether two streams end in the same file, pipe or terminal."""
    try:
        files = os.fstat(one.fileno()), os.fstat(other.fileno())
    except (OSError, ValueError):
        return False
    return os.path.samestat(*files) or (one.isatty() and other.isatty())
