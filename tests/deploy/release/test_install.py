"""install.sh, with a made-up release on a server of this machine."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import signal
import subprocess
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("wget")),
    reason="needs curl and wget: sudo apt-get install curl wget",
)
HERE = f"linux-{'arm64' if platform.machine() == 'aarch64' else 'x86_64'}"
AGENT = "#!/bin/sh\necho loadpilot-agent 1.2.3 '(made up)'\n"
TOOLS = (
    *("awk", "cat", "chmod", "cut", "env", "gzip", "mkdir", "mktemp", "mv"),
    *("rm", "sh", "sha256sum", "tar", "uname", "wget", "curl"),
)
"""Programs that install.sh may call. Tests leave some out."""


def archive(text: str, name: str = "loadpilot-agent") -> bytes:
    """An archive with one program."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(text), 0o644
        tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@dataclass(slots=True)
class Release:
    """A server of releases; `files` has its files by path."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    cut_off: set[str] = field(default_factory=set)
    """Paths whose connection ends before their last byte."""
    silent: set[str] = field(default_factory=set)
    """Paths that get no further byte after the first."""
    asked: threading.Event = field(default_factory=threading.Event)
    """Set when a silent path was requested."""
    ended: threading.Event = field(default_factory=threading.Event)

    def publish(self, folder: str, files: dict[str, bytes], sums: str | None = None) -> None:
        """Put files beside a SHA256SUMS file, whose text is that of these files by default."""
        lines = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files.items()]
        text = "".join(lines) if sums is None else sums
        for name, body in {**files, "SHA256SUMS": text.encode()}.items():
            self.files[f"/{folder}/{name}"] = body


@pytest.fixture
def release() -> Iterator[Release]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = served.files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if self.path in served.silent:
                self.wfile.write((body or b"")[:1])
                served.asked.set()
                served.ended.wait(60)
            elif self.path in served.cut_off:
                self.wfile.write((body or b"")[:-1])
            elif body is not None:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (as its base)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    served = Release(f"http://127.0.0.1:{server.server_address[1]}")
    served.publish("latest/download", {f"loadpilot-agent-{HERE}.tar.gz": archive(AGENT)})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield served
    served.ended.set()
    server.shutdown()
    server.server_close()


@dataclass(frozen=True, slots=True)
class Machine:
    """A user's machine: a PATH with the named tools only, and a home folder."""

    folder: Path
    release: Release

    @property
    def target(self) -> Path:
        return self.folder / "home" / ".local" / "bin"

    def begin(self, *, lacks: tuple[str, ...] = (), **environ: str) -> subprocess.Popen[str]:
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        for tool in set(TOOLS) - {*lacks}:
            if (found := shutil.which(tool)) and not (tools / tool).exists():
                (tools / tool).symlink_to(found)
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        plain = {"PATH": str(tools), "HOME": str(home), "LOADPILOT_RELEASES": self.release.url}
        # Through a pipe, as users call it.
        child = subprocess.Popen(
            ["/bin/sh"],
            env={**plain, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdin is not None
        child.stdin.write((ROOT / "install.sh").read_text(encoding="utf-8"))
        child.stdin.close()
        child.stdin = None
        return child

    def run(self, *, lacks: tuple[str, ...] = (), **environ: str) -> tuple[int, str, str]:
        child = self.begin(lacks=lacks, **environ)
        out, err = child.communicate(timeout=60)
        return child.returncode, out, err

    def uname(self, system: str, machine: str) -> None:
        """Make the machine one of another kind, by a stub of `uname`."""
        (self.folder / "tools").mkdir()
        program = self.folder / "tools" / "uname"
        program.write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {machine}\n')
        program.chmod(0o755)

    def installed(self, folder: Path | None = None) -> dict[str, str]:
        """All files below the folder of programs, hidden files included."""
        folder = folder or self.target
        found = folder.rglob("*") if folder.exists() else ()
        return {path.name: path.read_text() for path in found if path.is_file()}


@pytest.fixture
def machine(tmp_path: Path, release: Release) -> Machine:
    return Machine(tmp_path, release)


@pytest.mark.parametrize("lacks", [("wget",), ("curl",)])
def test_the_latest_agent_is_installed(machine: Machine, lacks: tuple[str, ...]) -> None:
    """Broken if the one-line installation does not install the agent, leaves other files, or does
    not say what it installed and where."""
    code, out, err = machine.run(lacks=lacks)
    assert (code, err) == (0, "")
    path = machine.target / "loadpilot-agent"
    assert out.startswith(f"installed loadpilot-agent 1.2.3 (made up) as {path}\n")
    assert f"{machine.target} is not on PATH" in out
    assert machine.installed() == {"loadpilot-agent": AGENT}
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("version", ["1.0.0", "v1.0.0"])
def test_a_version_and_a_folder_can_be_chosen(machine: Machine, version: str) -> None:
    """Broken if a fleet cannot stay at one version, or if an agent in another folder is
    replaced."""
    older = AGENT.replace("1.2.3", "1.0.0")
    name = f"loadpilot-agent-{HERE}.tar.gz"
    machine.release.publish("download/v1.0.0", {name: archive(older)})
    chosen = machine.folder / "chosen with space"
    path = f"{machine.folder / 'tools'}:{chosen}"
    code, out, err = machine.run(LOADPILOT_VERSION=version, INSTALL_DIR=str(chosen), PATH=path)
    assert (code, err) == (0, "")
    assert "not on PATH" not in out
    assert machine.installed(chosen) == {"loadpilot-agent": older}
    assert machine.installed() == {}


@pytest.mark.parametrize(
    ("system", "processor", "name"),
    [
        ("Linux", "aarch64", "linux-arm64"),
        ("Linux", "x86_64", "linux-x86_64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Darwin", "x86_64", "darwin-x86_64"),
    ],
)
def test_a_machine_gets_the_agent_of_its_kind(
    machine: Machine, system: str, processor: str, name: str
) -> None:
    """Broken if a machine gets the program of another kind of machine."""
    machine.release.files.clear()
    files = {f"loadpilot-agent-{name}.tar.gz": archive(AGENT)}
    machine.release.publish("latest/download", files)
    machine.uname(system, processor)
    assert machine.run()[0] == 0
    assert machine.installed() == {"loadpilot-agent": AGENT}


@pytest.mark.parametrize(
    ("system", "processor", "says"),
    [
        ("FreeBSD", "x86_64", "no agent is built for FreeBSD: there are linux and darwin"),
        ("Linux", "riscv64", "no agent is built for linux on riscv64: there are x86_64 and arm64"),
    ],
)
def test_another_kind_of_machine_is_told_so(
    machine: Machine, system: str, processor: str, says: str
) -> None:
    """Broken if the message of an unsupported machine does not name what is missing."""
    machine.uname(system, processor)
    code, out, err = machine.run()
    assert (code, out, err) == (1, "", f"install.sh: {says}\n")
    assert machine.installed() == {}


def test_a_wrong_checksum_installs_nothing(machine: Machine) -> None:
    """Broken if a file with a wrong checksum reaches PATH, or removes the installed one."""
    machine.target.mkdir(parents=True)
    (machine.target / "loadpilot-agent").write_text("the earlier one")
    name = f"loadpilot-agent-{HERE}.tar.gz"
    machine.release.files[f"/latest/download/{name}"] = archive(AGENT + "# changed\n")
    code, _, err = machine.run()
    assert code == 1
    assert f"{name} is not the file of the release: SHA-256 " in err
    assert machine.installed() == {"loadpilot-agent": "the earlier one"}


@pytest.mark.slow
@pytest.mark.parametrize("lacks", [("wget",), ("curl",)])
@pytest.mark.parametrize("name", ["SHA256SUMS", f"loadpilot-agent-{HERE}.tar.gz"])
def test_a_download_that_breaks_off_installs_nothing(
    machine: Machine, name: str, lacks: tuple[str, ...]
) -> None:
    """Broken if half of a file is installed."""
    path = f"/latest/download/{name}"
    machine.release.cut_off.add(path)
    code, out, err = machine.run(lacks=lacks)
    assert (code, out) == (1, "")
    assert f"cannot download {machine.release.url}{path}" in err
    assert machine.installed() == {}


def test_an_end_during_a_download_leaves_nothing(machine: Machine) -> None:
    """Broken if Ctrl-C leaves a half-written program or a folder behind."""
    machine.release.silent.add(f"/latest/download/loadpilot-agent-{HERE}.tar.gz")
    child = machine.begin()
    assert machine.release.asked.wait(60)
    os.killpg(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert list(machine.target.iterdir()) == []


def test_a_release_without_this_machine_says_so(machine: Machine) -> None:
    """Broken if the message for an absent platform or an absent release is obscure."""
    machine.release.publish("latest/download", {"loadpilot-agent-linux-mips.tar.gz": b"x"}, "")
    code, _, err = machine.run()
    assert code == 1
    assert f"this release has no loadpilot-agent-{HERE}.tar.gz" in err
    code, _, err = machine.run(LOADPILOT_VERSION="9.9.9")
    assert code == 1
    assert f"cannot download {machine.release.url}/download/v9.9.9/SHA256SUMS" in err
    assert machine.installed() == {}


def test_a_program_that_does_not_start_is_not_installed(machine: Machine) -> None:
    """Broken if an agent for another C library replaces one that works."""
    name = f"loadpilot-agent-{HERE}.tar.gz"
    broken = "#!/bin/sh\necho GLIBC_9.99 not found >&2\nexit 1\n"
    machine.release.publish("latest/download", {name: archive(broken)})
    code, _, err = machine.run()
    assert code == 1
    assert "does not start on this machine: GLIBC_9.99 not found" in err
    machine.release.publish("latest/download", {name: archive(AGENT, "another")})
    code, _, err = machine.run()
    assert code == 1
    assert f"{name} holds no loadpilot-agent" in err
    assert machine.installed() == {}


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"LOADPILOT_VERSION": "newest"}, "LOADPILOT_VERSION=newest is no version"),
        ({"LOADPILOT_RELEASES": ""}, "LOADPILOT_RELEASES is not set"),
        ({"INSTALL_DIR": "/proc/here"}, "cannot write to /proc/here"),
        ({"INSTALL_DIR": "/dev/null"}, "cannot write to /dev/null"),
    ],
)
def test_mistakes_are_told_before_anything_is_downloaded(
    machine: Machine, environ: dict[str, str], says: str
) -> None:
    """Broken if the script replaces a wrong setting by a guess."""
    machine.release.files.clear()
    code, _, err = machine.run(**environ)
    assert code == 1
    assert says in err


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_folder_of_somebody_else_is_named(machine: Machine, tmp_path: Path) -> None:
    """Broken if the script asks for a password, or fails with the message of mkdir."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    become = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    ran = subprocess.run(
        [*become, "/bin/sh"],
        input=(ROOT / "install.sh").read_text(encoding="utf-8"),
        env={**os.environ, "INSTALL_DIR": str(closed), "LOADPILOT_RELEASES": machine.release.url},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    says = f"install.sh: cannot write to {closed}\n"
    assert ran.stderr == f"{says}            set INSTALL_DIR to a folder of yours\n"
    assert list(closed.iterdir()) == []


def test_a_script_that_is_cut_off_does_nothing(machine: Machine, tmp_path: Path) -> None:
    """Broken if a script of which only a part arrived runs that part."""
    text = (ROOT / "install.sh").read_text(encoding="utf-8")
    assert text.rstrip().splitlines()[-1] == "install"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environ["LOADPILOT_RELEASES"] = machine.release.url
    lines = text.splitlines(keepends=True)
    for count in range(len(lines)):
        part = "".join(lines[:count])
        if part.rstrip().endswith("\ninstall"):
            continue
        ran = subprocess.run(
            ["/bin/sh"], input=part, env=environ, capture_output=True, text=True, check=False
        )
        assert ran.stdout == ""
    assert list(tmp_path.iterdir()) == []
