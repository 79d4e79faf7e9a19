"""A certificate authority and a certificate that it signed, made by openssl, as operators make
them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OPENSSL = shutil.which("openssl") or "openssl"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True, slots=True)
class Identity:
    """Paths of the PEM files."""

    cert: Path
    key: Path
    authority: Path


def identity(folder: Path, name: str) -> Identity:
    """Make authority, certificate and key for a name such as `IP:127.0.0.1` or `DNS:lab`."""
    folder.mkdir()
    own = Identity(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")
    authority_key, request, what = folder / "ca-key.pem", folder / "request.pem", folder / "what"
    what.write_text(f"subjectAltName={name}\nbasicConstraints=CA:FALSE\n", encoding="utf-8")
    openssl("req", "-x509", *NEW_KEY, "-subj", "/CN=authority", "-keyout", authority_key,
            "-out", own.authority, "-days", "2")  # fmt: skip
    openssl("req", *NEW_KEY, "-subj", "/CN=lab", "-keyout", own.key, "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", own.authority, "-CAkey", authority_key,
            "-extfile", what, "-out", own.cert, "-days", "2")  # fmt: skip
    own.key.chmod(0o600)
    return own


def openssl(*words: str | Path) -> None:
    subprocess.run([OPENSSL, *map(str, words)], check=True, capture_output=True)
