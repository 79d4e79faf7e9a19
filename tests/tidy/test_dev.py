"""./dev on a machine that lacks something: it names what is missing, and the command that installs
it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("sh", "dirname", "getconf", "head", "mkdir", "paste", "sed", "sort", "uniq", "cat")
"""Programs that ./dev requires without a check."""
PYTEST = """echo pytest "$@"
case "$*" in
    *"and not timed"*)
        for test in 1 2; do echo 'needs nft: apt-get install nftables'; done
        echo 'needs axe-core: ./dev web'
        ;;
    *) false ;;
esac >>"$SKIPPED_TESTS" || exit 0
exit "$FIRST_PASS"
"""
"""A stub of pytest: skips three tests in the first pass, and ends that with the exit code of the
test."""


class BareCheckout:
    """A checkout that contains only ./dev, and a PATH that contains only what the test puts
    there."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self._path = folder / "checkout", folder / "bin"
        self.checkout.mkdir()
        self._path.mkdir()
        shutil.copy(ROOT / "dev", self.checkout)
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, tool
            (self._path / tool).symlink_to(found)

    def program(self, name: str, text: str = "") -> None:
        """Put a shell script on PATH."""
        path = self._path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def dev(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.checkout / "dev", *words],
            env={"PATH": str(self._path), "HOME": str(self._path.parent), **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def written(self) -> set[str]:
        """Names of files that ./dev wrote, in the checkout and in the home folder."""
        return {path.name for path in (*self.checkout.iterdir(), *self._path.parent.iterdir())} - {
            "dev",
            "checkout",
            "bin",
        }


@pytest.fixture
def bare_checkout(tmp_path: Path) -> BareCheckout:
    return BareCheckout(tmp_path)


@pytest.mark.parametrize(
    ("manager", "commands"),
    [
        (
            "apt-get",
            [
                "sudo apt-get install -y python3 python3-venv",
                "sudo apt-get install -y build-essential",
            ],
        ),
        ("dnf", ["sudo dnf install -y python3", "sudo dnf install -y gcc glibc-devel"]),
        ("brew", ["brew install python", "xcode-select --install"]),
    ],
)
@pytest.mark.parametrize("command", ["demo", "test"])
def test_all_that_is_missing_is_named_with_its_command(
    bare_checkout: BareCheckout, command: str, manager: str, commands: list[str]
) -> None:
    """Broken if a newcomer learns only one by one what to install, or if ./dev writes something
    before all checks have passed."""
    bare_checkout.program(manager)
    bare_checkout.program("cargo", "echo cargo 1.70.0")
    done = bare_checkout.dev(command)
    assert done.returncode == 2
    missing = ["Python 3.11 or newer", "a C compiler and linker (cc)", "Rust 1.89 or newer"]
    named = [line.strip() for line in done.stderr.splitlines()]
    assert [line.removeprefix("- ").partition(" (found")[0] for line in named[1::2]] == missing
    assert named[2::2][:2] == commands
    assert named[6].startswith("rustup update stable")
    assert bare_checkout.written() == set()


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    ("flags", "selection"), [([], "(not (long or slow))"), (["--all"], "(not long)")]
)
def test_skipped_tests_are_in_the_last_line_with_what_brings_them(
    bare_checkout: BareCheckout, flags: list[str], selection: str, code: int
) -> None:
    """Broken if tests that this machine cannot run are left out silently, or if a failure of the
    first pass is lost after the second."""
    for name in ("uv", "cc", "python3"):
        bare_checkout.program(name)
    bare_checkout.program(
        "cargo", '[ "$1" != --version ] || echo cargo 1.95.0; [ "$1" != test ] || echo "$@"'
    )
    bare_checkout.program("pytest", PYTEST)
    done = bare_checkout.dev("test", *flags, FIRST_PASS=f"{code}")
    assert done.returncode == code, done.stderr
    tests, *passes, last = done.stdout.splitlines()
    assert tests == "test --workspace --lib --bins --tests"
    assert [line.rpartition(" -m ")[2] for line in passes] == [
        f"{selection} and not timed",
        f"{selection} and timed",
    ]
    assert last == (
        "skipped tests: 1 needs axe-core: ./dev web;2 needs nft: apt-get install nftables"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("test", "--only", "ruby"), "dev: test --only takes rust, python or e2e, not 'ruby'"),
        (("archive", "--fast"), "dev: archive takes --development, not '--fast'"),
        (("wheel", "a", "b"), "dev: wheel takes --development, not 'a b'"),
        (("coverage", "--java"), "dev: coverage takes --rust or --python, not '--java'"),
    ],
)
def test_an_unknown_argument_builds_nothing(
    bare_checkout: BareCheckout, words: tuple[str, ...], says: str
) -> None:
    """Broken if a typing error runs all tests, or other ones than were meant."""
    for name in ("uv", "cc", "python3", "pytest"):
        bare_checkout.program(name)
    bare_checkout.program("cargo", '[ "$1" = --version ] && echo cargo 1.95.0 || echo cargo "$@"')
    done = bare_checkout.dev(*words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == says
    assert "cargo" not in done.stdout


@pytest.mark.parametrize(
    ("part", "runs"),
    [
        ("rust", ["cargo test --workspace"]),
        ("python", ["pytest", "bench/tests sdk/tests services/gateway/tests"]),
        ("e2e", ["pytest", "not timed tests"]),
    ],
)
def test_the_parts_of_the_tests(bare_checkout: BareCheckout, part: str, runs: list[str]) -> None:
    """Broken if the jobs of CI together leave tests out, or if each job runs all of them."""
    for name in ("uv", "cc", "python3"):
        bare_checkout.program(name)
    bare_checkout.program("cargo", '[ "$1" = --version ] && echo cargo 1.95.0 || echo cargo "$@"')
    bare_checkout.program("pytest", 'echo pytest "$@"')
    done = bare_checkout.dev("test", "--only", part)
    assert done.returncode == 0, done.stderr
    tests = [line for line in done.stdout.splitlines() if not line.startswith("cargo build")]
    assert {line.partition(" -")[0] for line in tests} == {runs[0].partition(" -")[0]}
    assert all(tests[0].replace(")", "").endswith(end) for end in runs[1:]), tests
    assert len(tests) == (1 if part == "rust" else 2)


def test_a_skipped_test_of_a_worker_is_counted_once(tmp_path: Path) -> None:
    """Broken if the number of tests that a machine cannot run is too large. 3 s."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    test = "import pytest\n@pytest.mark.skip(reason='needs nft')\ndef test_links(): pass\n"
    (tmp_path / "test_links.py").write_text(test, encoding="utf-8")
    skipped = tmp_path / "skipped.txt"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"SKIPPED_TESTS": str(skipped)},
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert skipped.read_text(encoding="utf-8") == "needs nft\n"
