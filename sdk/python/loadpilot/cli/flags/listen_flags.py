"""A local stack that is opened to other machines: ``loadpilot run --listen HOST:PORT``.

Must never show a token: its file shows it to the users who may read it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...problem import Problem, rule, without
from .declaration import FLEET, flag

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class ListenFlags:
    """The flags that open a local stack to other machines, unparsed."""

    listen: Annotated[
        str | None,
        flag(
            FLEET,
            "HOST:PORT",
            "Let agents of other machines join: open the NATS server of this run here, such as "
            "0.0.0.0:4222, with TLS and a token. The command for those machines is printed.",
        ),
    ] = None
    listen_cert: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Certificate of the host that --listen names, PEM.",
            default="made for the run",
        ),
    ] = None
    listen_key: Annotated[str | None, flag(FLEET, "FILE", "Private key of --listen-cert, PEM.")] = (
        None
    )
    listen_cacert: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Authority that signed --listen-cert, PEM, where other machines do not trust it "
            "anyway.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Listen:
    """Address and certificate of a stack that is open to agents of other machines."""

    place: str
    cert: Path | None
    key: Path | None
    cacert: Path | None

    def arguments(self) -> list[str]:
        """Write it as arguments of the supervisor."""
        arguments = ["--listen", self.place]
        files = {"cert": self.cert, "key": self.key, "cacert": self.cacert}
        for name, file in files.items():
            if file is not None:
                arguments += [f"--listen-{name}", str(file.absolute())]
        return arguments


def read_listen(flags: ListenFlags, problems: list[Problem]) -> Listen | None:
    """Read the address that is open to other machines; None without --listen."""
    files = {
        "--listen-cert": flags.listen_cert,
        "--listen-key": flags.listen_key,
        "--listen-cacert": flags.listen_cacert,
    }
    if flags.listen is None:
        what = "needs agents of other machines; add --listen HOST:PORT"
        problems += without(files, what)
        return None
    found = PLACE.fullmatch(flags.listen)
    if found is None or int(found[2]) > PORT_MAX:
        must = "must be HOST:PORT of this machine, such as 0.0.0.0:4222"
        problems.append(rule("--listen", must, flags.listen))
    if (flags.listen_cert is None) != (flags.listen_key is None):
        missing = "--listen-key" if flags.listen_key is None else "--listen-cert"
        problems.append(
            Problem(missing, "is missing: --listen-cert and --listen-key belong together")
        )
    if flags.listen_cacert is not None and flags.listen_cert is None:
        problems.append(
            Problem("--listen-cacert", "names the authority of --listen-cert; add that flag")
        )
    paths = {name: Path(file) if file is not None else None for name, file in files.items()}
    for name, path in paths.items():
        if path is not None and not path.is_file():
            problems.append(rule(name, "must be a PEM file", str(path)))
    return Listen(flags.listen, *paths.values())


def invitation(facts: Mapping[str, Any]) -> str:
    """Write the commands to type on another machine, as lines."""
    token, cacert = str(facts["token_file"]), facts.get("cacert")
    words = ["loadpilot", "agent", "--nats-url", str(facts["url"])]
    files = [f"  token      {token}"]
    if cacert is not None:
        words += ["--nats-cacert", Path(cacert).name]
        fingerprint = f", SHA-256 {facts['fingerprint']}" if "fingerprint" in facts else ""
        files.append(f"  authority  {cacert}{fingerprint}")
    return (
        f"listening for agents of other machines at {facts['url']}, TLS and token; "
        f"copy to them:\n" + "\n".join(files) + f"\nand there:\n"
        f"  NATS_TOKEN=$(cat {shlex.quote(Path(token).name)}) {shlex.join(words)}"
    )
