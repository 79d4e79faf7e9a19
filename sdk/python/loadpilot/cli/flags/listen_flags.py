"""A local stack that is opened to other machines: ``loadpilot run --listen HOST:PORT``.

Must never show a token: who may read its file may have it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...problem import Problem, rule, without

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class ListenFlags:
    """What was written about other machines, unread. The words below are those of ``--help``.

    Parameters
    ----------
    listen
        Let agents of other machines take part: open the server of this run at HOST:PORT, such
        as 0.0.0.0:4222, with TLS and a token. What to type there is printed.
    listen_cert
        What to show them, a PEM file, for the host that --listen names; else one is made.
    listen_key
        Its private key, a PEM file.
    listen_cacert
        Who signed it, a PEM file, where machines do not trust them anyway.
    """

    listen: str | None = None
    listen_cert: str | None = None
    listen_key: str | None = None
    listen_cacert: str | None = None


@dataclass(frozen=True, slots=True)
class Listen:
    """Where agents of other machines are let in."""

    place: str
    cert: Path | None
    key: Path | None
    cacert: Path | None

    def words(self) -> list[str]:
        """Say it to a supervisor."""
        words = ["--listen", self.place]
        files = {"cert": self.cert, "key": self.key, "cacert": self.cacert}
        for name, file in files.items():
            if file is not None:
                words += [f"--listen-{name}", str(file.absolute())]
        return words


def read_listen(flags: ListenFlags, problems: list[Problem]) -> Listen | None:
    """Read where others are let in; None when they are not."""
    files = {
        "--listen-cert": flags.listen_cert,
        "--listen-key": flags.listen_key,
        "--listen-cacert": flags.listen_cacert,
    }
    if flags.listen is None:
        what = "is for agents of other machines; add --listen HOST:PORT"
        problems += without(files, what)
        return None
    found = PLACE.fullmatch(flags.listen)
    if found is None or int(found[2]) > PORT_MAX:
        must = "must be HOST:PORT of this machine, such as 0.0.0.0:4222"
        problems.append(rule("--listen", must, flags.listen))
    if (flags.listen_cert is None) != (flags.listen_key is None):
        missing = "--listen-key" if flags.listen_key is None else "--listen-cert"
        problems.append(Problem(missing, "belongs to the other one; name both files"))
    if flags.listen_cacert is not None and flags.listen_cert is None:
        problems.append(Problem("--listen-cacert", "says who signed --listen-cert; name that, too"))
    paths = {flag: Path(file) if file is not None else None for flag, file in files.items()}
    for flag, path in paths.items():
        if path is not None and not path.is_file():
            problems.append(rule(flag, "must be a PEM file", str(path)))
    return Listen(flags.listen, *paths.values())


def invitation(facts: Mapping[str, Any]) -> str:
    """Say what to type on another machine, in whole lines."""
    token, cacert = str(facts["token_file"]), facts.get("cacert")
    words = ["loadpilot", "agent", "--nats-url", str(facts["url"])]
    bring = [f"  token      {token}"]
    if cacert is not None:
        words += ["--nats-cacert", Path(cacert).name]
        known = f", SHA-256 {facts['fingerprint']}" if "fingerprint" in facts else ""
        bring.append(f"  authority  {cacert}{known}")
    return (
        f"listening for agents of other machines at {facts['url']}, TLS and token; "
        f"copy to them:\n" + "\n".join(bring) + f"\nand there:\n"
        f"  NATS_TOKEN=$(cat {shlex.quote(Path(token).name)}) {shlex.join(words)}"
    )
