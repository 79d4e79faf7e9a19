"""The file of keys: several writers at once, its owner, and the messages of its commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadpilot.cli import main
from loadpilot.local.keys.key_file import read_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMAND = Path(sys.executable).with_name("loadpilot")
WRITERS = 8
"""Number of processes that change the file at a time."""
GATEWAY = 64_321
"""User and group of a gateway, which need no entry in /etc/passwd."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to other users")


def at_once(file: Path, commands: Sequence[Sequence[str]]) -> list[str]:
    """Runs `loadpilot keys` several times at once; returns the output of each. Meanwhile the file
    is read again and again: a reader must never find a part of it."""
    begun = [
        subprocess.Popen(
            [str(COMMAND), "keys", *words, "--file", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    while any(one.poll() is None for one in begun):
        read_keys(file)
    printed = [one.communicate() for one in begun]
    assert [one.returncode for one in begun] == [0] * len(commands), printed
    return [text for text, _ in printed]


@pytest.mark.slow
def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Broken if two writers read the same keys and the later one drops the other's, or if a reader
    can find a file that is written in part.

    Costs 8 s.
    """
    file = tmp_path / "keys.json"
    at_init = ("init", "--tenant", "shop")
    subprocess.run(
        [str(COMMAND), "keys", *at_init, "--file", str(file)], check=True, capture_output=True
    )
    names = [f"ci-{number}" for number in range(WRITERS)]
    texts = at_once(file, [("create", "--name", name, "--tenant", "shop") for name in names])
    stored = {one.name: one for one in read_keys(file)}
    assert stored.keys() == {"admin", *names}
    for name, text in zip(names, texts, strict=True):
        assert stored[name].is_shown_by(text.strip()), name
    # Half of them are revoked while as many others are created.
    later = [f"later-{number}" for number in range(WRITERS // 2)]
    revoked = names[: WRITERS // 2]
    mixed = [("revoke", name) for name in revoked]
    mixed += [("create", "--name", name, "--tenant", "shop") for name in later]
    at_once(file, mixed)
    stored = {one.name: one for one in read_keys(file)}
    assert stored.keys() == {"admin", *names, *later}
    assert {name for name, one in stored.items() if one.revoked is not None} == set(revoked)
    assert len(json.loads(file.read_text(encoding="utf-8"))["keys"]) == 1 + WRITERS + len(later)
    assert file.stat().st_mode & 0o777 == 0o600


def test_only_one_writer_creates_the_file(tmp_path: Path) -> None:
    """Broken if two commands that create the file at once both succeed: the first key would be
    lost. Costs 3 s."""
    file = tmp_path / "keys.json"
    begun = [
        subprocess.Popen(
            [str(COMMAND), "keys", "init", "--tenant", "shop", "--file", str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(WRITERS // 2)
    ]
    printed = [one.communicate() for one in begun]
    codes = [one.returncode for one in begun]
    assert sorted(codes) == [0] + [2] * (len(codes) - 1), printed
    (text,) = [text for text, _ in printed if text]
    (key,) = read_keys(file)
    assert key.is_shown_by(text.strip())


def keys(*words: str, file: Path) -> int:
    """Runs `loadpilot keys` here."""
    return main(["keys", *words, "--file", str(file)])


@contextmanager
def as_member_of_its_group() -> Iterator[None]:
    """Act as another user, in the group of the gateway."""
    os.setegid(GATEWAY)
    os.seteuid(GATEWAY + 1)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@as_root
def test_a_changed_file_stays_that_of_its_gateway(tmp_path: Path) -> None:
    """Broken if a change by root takes the file, or its lock, from the user that reads it."""
    file, lock = tmp_path / "keys.json", tmp_path / "keys.json.lock"
    assert keys("init", file=file) == 0
    for number, (uid, mode) in enumerate(((0, 0o640), (GATEWAY, 0o600), (GATEWAY, 0o400))):
        os.chown(file, uid, GATEWAY)
        file.chmod(mode)
        lock.unlink()
        assert keys("create", "--name", f"ci-{number}", "--role", "viewer", file=file) == 0
        now = file.stat()
        assert (now.st_uid, now.st_gid, now.st_mode & 0o777) == (uid, GATEWAY, mode)
        assert lock.stat().st_uid == uid
        assert len(read_keys(file)) == 2 + number


@as_root
def test_a_user_who_cannot_keep_the_owner_changes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Broken if a caller who may write to the folder takes the file from its gateway, or if the
    refusal does not name the owner and what to do."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "keys.json")
        assert keys("init", file=file) == 0
        for place in (file, file.parent):
            os.chown(place, 0, GATEWAY)
        file.parent.chmod(0o770)
        file.chmod(0o640)
        before = file.read_bytes()
        # Imports what this needs now, since its folder may be closed to another user.
        assert len(read_keys(file)) == 1
        for refused in (f"{file}.lock: must be writable", f"{file}: must keep its owner"):
            with as_member_of_its_group():
                assert keys("revoke", "admin", file=file) == 2
            stderr = capsys.readouterr().err
            assert refused in stderr
            assert f"belongs to root:{GATEWAY if 'keep' in refused else 'root'}; run" in stderr
            Path(f"{file}.lock").unlink(missing_ok=True)
        assert [one.name for one in file.parent.iterdir()] == ["keys.json"]
        assert (file.read_bytes(), file.stat().st_uid) == (before, 0)


def test_a_key_that_is_revoked_again_says_since_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a user who revokes a key that is already revoked reads that there is none of that
    name."""
    file = tmp_path / "keys.json"
    assert keys("init", file=file) == 0
    assert keys("revoke", "admin", file=file) == 0
    (key,) = read_keys(file)
    stored = file.read_bytes()
    since = json.loads(stored)["keys"][0]["revoked"]
    for again in ("admin", key.id):
        capsys.readouterr()
        assert keys("revoke", again, file=file) == 0
        assert f"{key.id} (admin, tenant local) is revoked since {since}" in capsys.readouterr().err
    assert file.read_bytes() == stored


def test_a_folder_that_is_absent_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the error about a wrong path names a lock file."""
    folder = tmp_path / "absent"
    for words in (("init",), ("create", "--name", "ci", "--role", "viewer"), ("revoke", "ci")):
        assert keys(*words, file=folder / "keys.json") == 2
        stderr = capsys.readouterr().err
        assert f"--file: must be in a folder that exists (got '{folder}')" in stderr, stderr
        assert ".lock" not in stderr
